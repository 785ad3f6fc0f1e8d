// Products of the embeddings of the commonest pieces with the matrix of a first layer (Devlin et al. 2014; Devlin 2017).
#pragma once

#include <mutex>

#include "model/buffer.h"

namespace nmt {

class PieceProducts {
 public:
  // [pieces][outputs]. fill: makes them, when a worker first needs them; for all workers of the model.
  template <class Fill>
  const float* rows(size_t floats, const Fill& fill) const {
    std::call_once(filled_, [&] { fill(rows_.get(floats)); });
    return rows_.data();
  }

 private:
  mutable std::once_flag filled_;
  mutable Buffer<float> rows_;
};

}  // namespace nmt
