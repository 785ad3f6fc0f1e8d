// Base of networks whose steps need the previous state: input products of their cells.
#pragma once

#include <vector>

#include "model/network.h"
#include "model/piece_products.h"

namespace nmt {

class StatefulNetwork : public Network {
 public:
  bool takes_rows() const override { return false; }

 protected:
  using Network::Network;

  static constexpr int32_t kNothing = -1;  // stands for a piece whose embedding is zero

  // Products of pieces with an input matrix, [outputs] each: looked up in the table, or computed into `computed`. Both
  // are equal to the last bit.
  void enter(const PieceProducts& table, const int32_t* pieces, int count, Buffer<float>& computed,
             std::vector<const float*>& to, Component products, Component other);
  // [count][outputs], in blocks of rows.
  void multiply_blocks(const Linear& weights, const float* rows, int count, float* to, Component products,
                       Component other, Into into = Into::store);
  void embed(const Rows& embeddings, int units, int piece, float factor, float* to);

 private:
  std::vector<int32_t> missing_;  // pieces that the table lacks
  std::vector<float> nothing_;    // zeros, passed as position encodings
  Buffer<float> embedded_, maxima_;
};

}  // namespace nmt
