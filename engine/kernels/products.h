// Products of rows with packed weights.
//
// A tile of rows x panels keeps its sums in registers over all inputs and writes once at the end. No sum is split, so
// that a row's result does not depend on the number of rows. A panel stays in the first-level cache while all rows pass
// it.
#pragma once

#include "kernels/dots.h"
#include "kernels/kernels.h"
#if defined(NMT_TILES)
#include "kernels/tiles.h"
#endif

namespace nmt {
namespace {

constexpr int kLine = 64;     // bytes per prefetch: a cache line
constexpr int kAhead = 1024;  // distance in bytes of prefetches of weights
// Whether every tile prefetches the next panels. The slower instruction sets wait less for weights; prefetching would
// cost them 2 % if the weights are in a near cache.
#if defined(__AVX512F__)
constexpr bool kFetchesNext = true;
#else
constexpr bool kFetchesNext = false;
#endif

struct Operands {
  const Linear& weights;
  const Inputs& inputs;
  const Outputs& outputs;
  size_t panel_bytes, row_bytes;
  int height;  // rows of a tile, except for the last tile
};

template <class Dot, int kRows>
NMT_INLINE void step(typename Dot::Sum& sum, const char* row, const typename Dot::Weights& weights) {
  if constexpr (kRows > 2 && std::is_same_v<Dot, ByteDot>)
    Dot::step_of_many(sum, row, weights);
  else if constexpr (kRows == 1 && std::is_same_v<Dot, ByteDot>)
    Dot::step_of_one(sum, row, weights);
  else
    Dot::step(sum, row, weights);
}

template <class Dot>
NMT_INLINE typename Dot::Sum start(const Linear& weights, int channel, bool shifted) {
  typename Dot::Sum sum{};
  if constexpr (std::is_same_v<Dot, FloatDot>) sum = *(const StoredFloats*)(weights.bias + channel);
  if constexpr (std::is_same_v<Dot, ByteDot> || std::is_same_v<Dot, NibbleDot>)
    if (shifted != Dot::kSubtracts) {
      const IntPart offset = *(const StoredInts*)(weights.offset + channel);
      sum = Dot::kSubtracts ? -offset : offset;
    }
  return sum;
}

template <class Dot>
NMT_INLINE Floats finish(const typename Dot::Vector& sum, const Linear& weights, int channel, float row_scale) {
  if constexpr (std::is_same_v<Dot, FloatDot>)
    return sum;
  else
    return fma(converted(sum), all(row_scale) * load(weights.scale + channel), load(weights.bias + channel));
}

template <class Dot, int kRows, int kPanels>
NMT_INLINE void add_products(const Operands& t, int row, int panel, typename Dot::Sum* sums) {
  constexpr int kColumns = kPanels * kParts;
  const char* rows = t.inputs.rows + row * t.row_bytes;
  const char* panels = t.weights.panels + panel * t.panel_bytes;
  const char* const end = rows + t.row_bytes;
  const size_t row_bytes = t.row_bytes, panel_bytes = t.panel_bytes;
  constexpr int kLines = kPanels * Dot::kGroups;  // cache lines of weights per step
  const int line = row / t.height;
  const char* next = panels + kPanels * panel_bytes + line * kLine;
  for (; rows < end; rows += 4 * Dot::kGroups, panels += kLine * Dot::kGroups, next += kLine * kLines) {
    if (row == 0)  // only the first rows wait for weights from a far cache
      unrolled<kLines>([&](auto i) NMT_LAMBDA {
        __builtin_prefetch(panels + (i / Dot::kGroups) * panel_bytes + (i % Dot::kGroups) * kLine + kAhead);
      });
    if (kFetchesNext && line < kLines) __builtin_prefetch(next);  // each tile prefetches one line in kLines
    // Columns in the outer loop: weights take few registers, and inputs are broadcast from the first-level cache.
    unrolled<kColumns>([&](auto c) NMT_LAMBDA {
      const auto weights = Dot::load(panels + (c / kParts) * panel_bytes + (c % kParts) * kPartBytes);
      unrolled<kRows>([&](auto r)
                          NMT_LAMBDA { step<Dot, kRows>(sums[r * kColumns + c], rows + r * row_bytes, weights); });
    });
  }
}

// The same in 4 bits: the sum over the inputs that share a step is multiplied by it, and added to a channel's sum.
template <int kRows, int kPanels>
NMT_INLINE void add_multiples(const Operands& t, int row, int panel, NibbleDot::Sum* sums) {
  constexpr int kColumns = kPanels * kParts;
  constexpr int kStepBytes = kStepInputs * kPanel / 2;  // of a panel
  const char* rows = t.inputs.rows + row * t.row_bytes;
  const char* panels = t.weights.panels + panel * t.panel_bytes;
  const char* const end = rows + t.row_bytes;
  const size_t row_bytes = t.row_bytes, panel_bytes = t.panel_bytes;
  const size_t panel_steps = row_bytes / kStepInputs * kPanel;
  const int8_t* steps = t.weights.steps + panel * panel_steps;
  for (; rows < end; rows += kStepInputs, panels += kStepBytes, steps += kPanel)
    unrolled<kColumns>([&](auto c) NMT_LAMBDA {
      const char* const weights = panels + (c / kParts) * panel_bytes + (c % kParts) * kPartBytes;
      NibbleDot::Part parts[kRows] = {};
      unrolled<kStepBytes / kLine>([&](auto line) NMT_LAMBDA {
        if (row == 0 && c % kParts == 0) __builtin_prefetch(weights + line * kLine + kAhead);
        const auto loaded = NibbleDot::load(weights + line * kLine);
        unrolled<kRows>([&](auto r) NMT_LAMBDA { NibbleDot::step(parts[r], rows + r * row_bytes + 8 * line, loaded); });
      });
      const Ints multiples = load(steps + (c / kParts) * panel_steps);
      unrolled<kRows>([&](auto r)
                          NMT_LAMBDA { NibbleDot::add(sums[r * kColumns + c], parts[r], multiples.part[c % kParts]); });
    });
}

template <class Dot, int kRows, int kPanels>
__attribute__((noinline)) void tile(const Operands& t, int row, int panel) {
  constexpr int kColumns = kPanels * kParts;
  typename Dot::Sum sums[kRows * kColumns];
  unrolled<kRows * kColumns>([&](auto i) NMT_LAMBDA {
    sums[i] = start<Dot>(t.weights, panel * kPanel + i % kColumns * kPartLanes, t.inputs.shifted);
  });
  if constexpr (std::is_same_v<Dot, NibbleDot>)
    add_multiples<kRows, kPanels>(t, row, panel, sums);
  else
    add_products<Dot, kRows, kPanels>(t, row, panel, sums);
  const Epilogue epilogue = t.outputs.epilogue;
  unrolled<kRows>([&](auto r) NMT_LAMBDA {
    const float row_scale = std::is_same_v<Dot, FloatDot> ? 1.0f : t.inputs.scale[row + r];
    float* to = t.outputs.rows + (size_t)(row + r) * t.outputs.stride + panel * kPanel;
    Floats most = all(0.0f);
    unrolled<kPanels>([&](auto p) NMT_LAMBDA {
      typename Dot::Vector sum;
      unrolled<kParts>([&](auto part) NMT_LAMBDA { sum.part[part] = sums[r * kColumns + p * kParts + part]; });
      Floats result = finish<Dot>(sum, t.weights, (panel + p) * kPanel, row_scale);
      if (epilogue == Epilogue::relu) {
        result = max(result, all(0.0f));
        most = max(most, result);
      }
      if (epilogue == Epilogue::add) result = result + load(to + p * kPanel);
      store(to + p * kPanel, result);
    });
    if (epilogue == Epilogue::relu) {
      float* const maxima = t.outputs.maxima + (size_t)(row + r) * kLanes;
      store(maxima, max(load(maxima), most));
    }
  });
}

// Tiles for many rows (tall), few rows (square) and one row, by instruction set: as many sums as there are registers.
// With kSquare the tile of few rows also serves many, unless Linear::tile overrides it: in int8 on AVX2 it takes fewer
// instructions per multiplication than the tall one, though it reads weights more often. A single row reads weights in
// order, since they come from a far cache, unless it needs more sums to keep the multipliers busy.
template <class Dot>
struct Sizes {
#if defined(__AVX512F__)
  // Larger tiles have registers for their sums, but none for inputs that are multiplied with several panels.
  static constexpr bool kFloats = std::is_same_v<Dot, FloatDot>;
  static constexpr int kRows = 8, kPanels = kFloats ? 3 : 2, kFewRows = 4, kFewPanels = 4, kSinglePanels = 4;
  static constexpr bool kSquare = std::is_same_v<Dot, NibbleDot>;  // needs registers beside its sums
#elif defined(__AVX2__)
  static constexpr bool kBytes = std::is_same_v<Dot, ByteDot>;
#if defined(NMT_AVXVNNI)
  static constexpr int kRows = 3, kPanels = 2;
#else
  static constexpr int kRows = kBytes ? 5 : 3, kPanels = kBytes ? 1 : 2;
#endif
  static constexpr int kFewRows = 2, kFewPanels = 2, kSinglePanels = kBytes ? 1 : 4;
  static constexpr bool kSquare = kBytes;
#elif defined(NMT_NEON)
  static constexpr int kRows = 4, kPanels = 1, kFewRows = 2, kFewPanels = 2, kSinglePanels = 4;  // 16 of 32 registers
  static constexpr bool kSquare = false;
#else
  static constexpr int kRows = 2, kPanels = 1, kFewRows = 2, kFewPanels = 1, kSinglePanels = 1;
  static constexpr bool kSquare = false;
#endif
};

// Kernels::block_rows: a multiple of the rows of all tiles of AVX2, and of AMX; AVX512's were not tuned.
#if defined(NMT_TILES)
constexpr int kBlockRows = 64;
#else
constexpr int kBlockRows = 60;
#endif

template <class Dot, int kRows, int kPanels>
void columns(const Operands& t, int rows, int& row, int panel) {
  if constexpr (kRows > 0) {
    for (; row + kRows <= rows; row += kRows) tile<Dot, kRows, kPanels>(t, row, panel);
    columns<Dot, kRows - 1, kPanels>(t, rows, row, panel);
  }
}

// All rows, in tiles of at most kRows x kPanels; remaining panels one by one.
template <class Dot, int kRows, int kPanels>
void all_tiles(const Operands& t, int rows, int panel, int last) {
  for (; panel + kPanels <= last; panel += kPanels) {
    int row = 0;
    columns<Dot, kRows, kPanels>(t, rows, row, panel);
  }
  if constexpr (kPanels > 1)
    if (panel < last) all_tiles<Dot, kRows, 1>(t, rows, panel, last);
}

template <class Dot>
void multiply(const Linear& weights, const Inputs& inputs, int rows, int first, int last, const Outputs& outputs) {
#if defined(NMT_TILES)
  if constexpr (std::is_same_v<Dot, ByteDot>)
    if (rows >= (weights.tiled_rows ? weights.tiled_rows : kFewestTiled) && weights.inputs >= kTileBytes &&
        (weights.tile == Tile::usual || weights.tile == Tile::amx))
      return tiled_product(weights, inputs, rows, first, last, outputs);
#endif
  using S = Sizes<Dot>;
  const bool given = weights.tile == Tile::tall || weights.tile == Tile::square;
  const bool square = given ? weights.tile == Tile::square : S::kSquare;
  const bool few = rows <= S::kFewRows || square;
  const Operands t{weights, inputs, outputs, panel_bytes(weights), row_bytes(weights), few ? S::kFewRows : S::kRows};
  if (outputs.epilogue == Epilogue::relu) std::memset(outputs.maxima, 0, (size_t)rows * kLanes * sizeof(float));
  if (rows == 1)
    all_tiles<Dot, 1, S::kSinglePanels>(t, rows, first, last);
  else if (few)
    all_tiles<Dot, S::kFewRows, S::kFewPanels>(t, rows, first, last);
  else
    all_tiles<Dot, S::kRows, S::kPanels>(t, rows, first, last);
}

void product(const Linear& weights, const Inputs& inputs, int rows, int first, int last, const Outputs& outputs) {
  switch (weights.type) {
    case Type::float32: return multiply<FloatDot>(weights, inputs, rows, first, last, outputs);
    case Type::int16: return multiply<ShortDot>(weights, inputs, rows, first, last, outputs);
    case Type::int8: return multiply<ByteDot>(weights, inputs, rows, first, last, outputs);
    case Type::int4: return multiply<NibbleDot>(weights, inputs, rows, first, last, outputs);
  }
}

void release() {
#if defined(NMT_TILES)
  release_tiles();
#endif
}

}  // namespace
}  // namespace nmt
