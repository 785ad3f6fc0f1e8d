#include "model/stateful_network.h"

#include <algorithm>

namespace nmt {

void StatefulNetwork::enter(const PieceProducts& table, const int32_t* pieces, int count, Buffer<float>& computed,
                            std::vector<const float*>& to, Component products, Component other) {
  const Linear& weights = table.weights;
  // Calibration must see the inputs of every piece.
  const bool looked_up = on_.piece_products && !product.calibration.on;
  missing_.clear();
  to.resize((size_t)count);
  for (int r = 0; r < count; ++r) {
    to[r] = pieces[r] == kNothing ? weights.bias : looked_up ? table.find(pieces[r]) : nullptr;
    if (!to[r]) missing_.push_back(pieces[r]);
  }
  if (missing_.empty()) return;
  const size_t units = (size_t)weights.inputs;
  float* const embedded = embedded_.get(missing_.size() * units);
  {
    Timed timed(clock, Component::embeddings);
    for (size_t r = 0; r < missing_.size(); ++r)
      embed(table.embeddings, weights.inputs, missing_[r], table.factor, embedded + r * units);
  }
  const float* row = computed.get(missing_.size() * weights.outputs);
  multiply_blocks(weights, embedded, (int)missing_.size(), computed.data(), products, other);
  for (int r = 0; r < count; ++r) {
    if (to[r]) continue;
    to[r] = row;
    if (looked_up) table.keep(pieces[r], row);
    row += weights.outputs;
  }
}

void StatefulNetwork::multiply_blocks(const Linear& weights, const float* rows, int count, float* to,
                                      Component products, Component other, Into into) {
  for (int start = 0; start < count; start += kBlock) {
    const int block = std::min(kBlock, count - start);
    const Inputs inputs = quantised(rows + (size_t)start * weights.inputs, block, weights.inputs, weights.inputs,
                                    nullptr, weights.input_scale, other);
    float* const maxima = into == Into::relu ? maxima_.get((size_t)block * kPanel) : nullptr;
    multiply(weights, inputs, block, {to + (size_t)start * weights.outputs, weights.outputs, into, maxima}, products);
  }
}

void StatefulNetwork::embed(const Rows& embeddings, int units, int piece, float factor, float* to) {
  nothing_.resize((size_t)units);
  kernels_.embed(type_, embeddings.rows + (size_t)piece * embeddings.row_bytes(type_, units),
                 embeddings.scale ? embeddings.scale[piece] : 1.f, factor, nothing_.data(), units, to);
}

}  // namespace nmt
