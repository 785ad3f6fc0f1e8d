// Products of rows with packed weights.
//
// A tile of rows x panels keeps its sums in registers over all inputs; nothing is written in between, and no sum is
// split, so that a row's result does not depend on how many rows there are. A panel stays in the first-level cache while
// all rows pass it.
#pragma once

#include <utility>

#include "kernels/dots.h"
#include "kernels/kernels.h"

namespace nmt {
namespace {

template <class F, size_t... I>
NMT_INLINE void unrolled_(F f, std::index_sequence<I...>) {
  (f(std::integral_constant<int, (int)I>{}), ...);
}
// f(0), f(1), ..., f(N - 1), with constants: compilers keep arrays in registers only if all indices are constants.
template <int N, class F>
NMT_INLINE void unrolled(F f) {
  unrolled_(f, std::make_index_sequence<N>{});
}

constexpr int kAhead = 1024;  // bytes between the weights that are used and those that are fetched

struct Tile {
  const Linear& weights;
  const Inputs& inputs;
  const Outputs& outputs;
  size_t panel_bytes, row_bytes;
};

template <class Dot>
NMT_INLINE typename Dot::Sum start(const Linear& weights, int channel, bool shifted) {
  typename Dot::Sum sum{};
  if constexpr (std::is_same_v<Dot, FloatDot>) sum = load(weights.bias + channel);
  if constexpr (std::is_same_v<Dot, ByteDot>)
    if (shifted) std::memcpy(&sum, weights.offset + channel, sizeof sum);
  return sum;
}

template <class Dot>
NMT_INLINE Floats finish(const typename Dot::Sum& sum, const Linear& weights, int channel, float row_scale) {
  if constexpr (std::is_same_v<Dot, FloatDot>)
    return sum;
  else
    return fma(converted(sum), all(row_scale) * load(weights.scale + channel), load(weights.bias + channel));
}

template <class Dot, Into into, int kRows, int kPanels>
__attribute__((noinline)) void tile(const Tile& t, int row, int panel) {
  typename Dot::Sum sums[kRows * kPanels];
  unrolled<kRows * kPanels>(
      [&](auto i) NMT_LAMBDA { sums[i] = start<Dot>(t.weights, (panel + i % kPanels) * kPanel, t.inputs.shifted); });
  const char* rows = t.inputs.rows + row * t.row_bytes;
  const char* panels = t.weights.panels + panel * t.panel_bytes;
  const char* const end = rows + t.row_bytes;
  const size_t row_bytes = t.row_bytes, panel_bytes = t.panel_bytes;
  for (; rows < end; rows += 4 * Dot::kGroups, panels += 64 * Dot::kGroups) {
    if constexpr (kRows == 1)  // weights that are used once come from far away
      unrolled<kPanels * Dot::kGroups>([&](auto i) NMT_LAMBDA {
        __builtin_prefetch(panels + (i / Dot::kGroups) * panel_bytes + (i % Dot::kGroups) * 64 + kAhead);
      });
    unrolled<kRows>([&](auto r) NMT_LAMBDA {
      unrolled<kPanels>([&](auto p) NMT_LAMBDA {
        Dot::step(sums[r * kPanels + p], rows + r * row_bytes, panels + p * panel_bytes);
      });
    });
  }
  unrolled<kRows>([&](auto r) NMT_LAMBDA {
    const float row_scale = std::is_same_v<Dot, FloatDot> ? 1.0f : t.inputs.scale[row + r];
    float* to = t.outputs.rows + (size_t)(row + r) * t.outputs.stride + panel * kPanel;
    Floats most = all(0.0f);
    unrolled<kPanels>([&](auto p) NMT_LAMBDA {
      Floats result = finish<Dot>(sums[r * kPanels + p], t.weights, (panel + p) * kPanel, row_scale);
      if constexpr (into == Into::relu) {
        result = max(result, all(0.0f));
        most = max(most, result);
      }
      if constexpr (into == Into::add) result = result + load(to + p * kPanel);
      store(to + p * kPanel, result);
    });
    if constexpr (into == Into::relu) {
      float* maximum = t.outputs.maxima + row + r;
      const float here = largest(most);
      if (*maximum < here) *maximum = here;
    }
  });
}

// Rows of a tile, and panels of a tile of one row: as many sums as there are registers, by instruction set.
template <class Dot>
struct Sizes {
#if defined(__AVX512F__)
  static constexpr int kRows = 12, kPanels = 2, kFewRows = 4, kFewPanels = 4, kSinglePanels = 4;
#elif defined(__AVX2__)
  static constexpr int kRows = std::is_same_v<Dot, ByteDot> ? 5 : 6, kPanels = 1;
  static constexpr int kFewRows = 2, kFewPanels = 2, kSinglePanels = 4;
#else
  static constexpr int kRows = 2, kPanels = 1, kFewRows = 2, kFewPanels = 1, kSinglePanels = 1;
#endif
};

template <class Dot, Into into, int kRows, int kPanels>
void columns(const Tile& t, int rows, int& row, int panel) {
  if constexpr (kRows > 0) {
    for (; row + kRows <= rows; row += kRows) tile<Dot, into, kRows, kPanels>(t, row, panel);
    columns<Dot, into, kRows - 1, kPanels>(t, rows, row, panel);
  }
}

// All rows, with tiles of at most kRows x kPanels; panels that are left over one by one.
template <class Dot, Into into, int kRows, int kPanels>
void all_tiles(const Tile& t, int rows, int panel, int last) {
  for (; panel + kPanels <= last; panel += kPanels) {
    int row = 0;
    columns<Dot, into, kRows, kPanels>(t, rows, row, panel);
  }
  if constexpr (kPanels > 1)
    if (panel < last) all_tiles<Dot, into, kRows, 1>(t, rows, panel, last);
}

template <class Dot, Into into>
void multiplied(const Linear& weights, const Inputs& inputs, int rows, int first, int last, const Outputs& outputs) {
  const int element = weights.type == Type::float32 ? 4 : weights.type == Type::int16 ? 2 : 1;
  const size_t row_bytes = (size_t)weights.inputs * element;
  const Tile t{weights, inputs, outputs, row_bytes * kPanel, row_bytes};
  using S = Sizes<Dot>;
  if constexpr (into == Into::relu)
    for (int row = 0; row < rows && first == 0; ++row) outputs.maxima[row] = 0;
  if (rows == 1)
    all_tiles<Dot, into, 1, S::kSinglePanels>(t, rows, first, last);
  else if (rows <= S::kFewRows)
    all_tiles<Dot, into, S::kFewRows, S::kFewPanels>(t, rows, first, last);
  else
    all_tiles<Dot, into, S::kRows, S::kPanels>(t, rows, first, last);
}

template <class Dot>
void multiply(const Linear& weights, const Inputs& inputs, int rows, int first, int last, const Outputs& outputs) {
  switch (outputs.into) {
    case Into::store: return multiplied<Dot, Into::store>(weights, inputs, rows, first, last, outputs);
    case Into::relu: return multiplied<Dot, Into::relu>(weights, inputs, rows, first, last, outputs);
    case Into::add: return multiplied<Dot, Into::add>(weights, inputs, rows, first, last, outputs);
  }
}

void product(const Linear& weights, const Inputs& inputs, int rows, int first, int last, const Outputs& outputs) {
  switch (weights.type) {
    case Type::float32: return multiply<FloatDot>(weights, inputs, rows, first, last, outputs);
    case Type::int16: return multiply<ShortDot>(weights, inputs, rows, first, last, outputs);
    case Type::int8: return multiply<ByteDot>(weights, inputs, rows, first, last, outputs);
  }
}

}  // namespace
}  // namespace nmt
