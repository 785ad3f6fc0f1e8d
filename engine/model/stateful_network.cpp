#include "model/stateful_network.h"

#include <algorithm>
#include <numeric>

namespace nmt {

void StatefulNetwork::encode(const std::vector<std::vector<int32_t>>& sentences) {
  for (PageTable& table : memory_) table.clear(memory_pages_);
  const size_t count = sentences.size();
  memory_.resize(count);
  lengths_.resize(count);
  for (size_t s = 0; s < count; ++s) lengths_[s] = (int)sentences[s].size();
  std::vector<int> order(count);
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) { return lengths_[a] > lengths_[b]; });
  for (size_t first = 0; first < count; first += group_.sentences.size()) {
    group_.sentences.assign(order.begin() + first, order.begin() + std::min(first + group_size_, count));
    group_.offsets.assign(1, 0);
    group_.pieces.clear();
    for (const int sentence : group_.sentences) {
      group_.pieces.insert(group_.pieces.end(), sentences[sentence].begin(), sentences[sentence].end());
      group_.offsets.push_back((int)group_.pieces.size());
    }
    encode_group();
  }
}

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
                                      Component products, Component other, Epilogue epilogue) {
  for (int start = 0; start < count; start += kernels_.block_rows) {
    const int block = std::min(kernels_.block_rows, count - start);
    const Inputs inputs = quantised(rows + (size_t)start * weights.inputs, block, weights.inputs, weights.inputs,
                                    nullptr, weights.input_scale, other);
    float* const maxima = epilogue == Epilogue::relu ? maxima_.get((size_t)block * kPanel) : nullptr;
    multiply(weights, inputs, block, {to + (size_t)start * weights.outputs, weights.outputs, epilogue, maxima},
             products);
  }
}

void StatefulNetwork::embed(const Rows& embeddings, int units, int piece, float factor, float* to) {
  nothing_.resize((size_t)units);
  kernels_.embed(type_, embeddings.rows + (size_t)piece * embeddings.row_bytes(type_, units),
                 embeddings.scale ? embeddings.scale[piece] : 1.f, factor, nothing_.data(), units, to);
}

}  // namespace nmt
