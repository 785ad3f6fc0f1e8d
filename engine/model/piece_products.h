// Products of embeddings with the input matrix of a first layer, computed once per piece (Devlin et al. 2014; Devlin
// 2017).
#pragma once

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>

#include "model/model.h"
#include "runtime/buffer.h"

namespace nmt {

// A table shared by a model's workers. It holds the first pieces that they meet, as frequent ones come early. Unused
// rows take no memory.
class PieceProducts {
 public:
  PieceProducts(const Linear& weights, const Rows& embeddings, float factor)
      : weights(weights), embeddings(embeddings), factor(factor), places_(new std::atomic<int>[embeddings.entries]()) {}

  // [outputs], or null.
  const float* find(int piece) const {
    const int place = places_[piece].load(std::memory_order_acquire);
    return place ? rows_.data() + (size_t)(place - 1) * weights.outputs : nullptr;
  }

  // Stores a copy if there is room.
  void keep(int piece, const float* product) const {
    if (full_.load(std::memory_order_relaxed)) return;
    const std::lock_guard<std::mutex> alone(writing_);
    if (kept_ == kMost || places_[piece].load(std::memory_order_relaxed)) return;
    if (!kept_) rows_.get((size_t)std::min(kMost, embeddings.entries) * weights.outputs);
    std::copy_n(product, weights.outputs, rows_.data() + (size_t)kept_ * weights.outputs);
    places_[piece].store(++kept_, std::memory_order_release);
    full_.store(kept_ == kMost, std::memory_order_relaxed);
  }

  const Linear& weights;
  const Rows& embeddings;
  const float factor;  // of embeddings

 private:
  static constexpr int kMost = 8000;  // as in Devlin (2017); covers over 95 % of running text

  const std::unique_ptr<std::atomic<int>[]> places_;  // slot of each piece, from 1; 0: none
  mutable std::mutex writing_;
  mutable std::atomic<bool> full_{false};
  mutable Buffer<float> rows_;
  mutable int kept_ = 0;
};

}  // namespace nmt
