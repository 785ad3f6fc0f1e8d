// What networks share whose steps need the state before: products of the pieces that enter their cells.
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

  static constexpr int32_t kNothing = -1;  // zeros in place of a piece's embedding

  // The products of pieces with the matrix that they enter, [outputs] each: looked up where the table has them, else in
  // `computed`. Both are the same to the last bit.
  void enter(const PieceProducts& table, const int32_t* pieces, int count, Buffer<float>& computed,
             std::vector<const float*>& to, Component products, Component other);
  // [count][outputs] of any number of rows.
  void multiply_blocks(const Linear& weights, const float* rows, int count, float* to, Component products,
                       Component other, Into into = Into::store);
  void embed(const Rows& embeddings, int units, int piece, float factor, float* to);

 private:
  std::vector<int32_t> missing_;  // pieces whose products are in no table
  std::vector<float> nothing_;    // in place of positions, which there are none of
  Buffer<float> embedded_, maxima_;
};

}  // namespace nmt
