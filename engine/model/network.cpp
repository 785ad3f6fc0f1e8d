#include "model/network.h"

#include <algorithm>

#include "runtime/dispatch.h"

namespace nmt {

Network::Network(const Model& model, size_t past_bytes, size_t memory_bytes)
    : product(kernels()),
      kernels_(kernels()),
      type_(model.shape.type),
      pages_(past_bytes),
      memory_pages_(memory_bytes) {}

void Network::use(const Switches& on) {
  on_ = on;
  kernels_ = kernels(on.polynomials);
}

void Network::reset() {
  pages_.reset();
  memory_pages_.reset();
  memory_.clear();
}

void Network::multiply(const Linear& weights, const Inputs& inputs, int count, const Outputs& to, Component component) {
  Timed timed(clock, component);
  product(weights, inputs, count, to);
}

Inputs Network::quantised(const float* rows, int count, int units, int stride, const float* maxima, float scale,
                          Component component) {
  Timed timed(clock, component);
  if (type_ == Type::float32 && stride == units) return {(const char*)rows, nullptr, false};
  const Quantized to = {integers_.get((size_t)count * units * element_bytes(type_)), scales_.get((size_t)count), scale};
  kernels_.quantise(rows, count, units, stride, type_, to, maxima);
  return {to.rows, to.scale, maxima == nullptr};
}

int Network::sharing(const Step* steps, int row, int count) const {
  const State& first = *steps[row].state;
  int same = 1;
  while (first.memory.empty() && row + same < count && steps[row + same].state->sentence == first.sentence) ++same;
  return same;
}

void Network::watch_rows(const Step* steps, int count) {
  watched_stride_ = 0;
  for (int r = 0; r < count; ++r)
    watched_stride_ = std::max(watched_stride_, (size_t)lengths_[steps[r].state->sentence]);
  watched_.resize(watched_stride_ * (size_t)count);
}

void Network::keep_attention(const float* weights, int heads, int row, int length) {
  float* const to = watched_.data() + (size_t)row * watched_stride_;
  std::fill(to, to + length, 0.f);
  for (int h = 0; h < heads; ++h)
    if (watched_head_ < 0 || watched_head_ == h)
      for (int t = 0; t < length; ++t)
        to[t] += weights[(size_t)h * in_pages(length) + t] / (watched_head_ < 0 ? (float)heads : 1.f);
}

float* Network::scratch(int length) { return scratch_.get(scratch_size(length)); }

}  // namespace nmt
