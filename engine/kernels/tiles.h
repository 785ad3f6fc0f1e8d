// Products of bytes on the tiles of AMX: registers of 16 rows x 64 bytes, and an instruction that multiplies two of them
// and adds to a third (TDPBUSD).
//
// A tile of weights is 16 groups of a panel, as they lie in memory (kernels/dots.h): no packing of its own. A tile of
// inputs is 16 rows x 64 bytes; a row whose bytes are no multiple of 64 ends in a copy that zeros fill up. A tile of sums
// is 16 rows x 16 channels. A block of sums is 2 x 2 tiles, or 1 x 4: four chains of additions hide their latency.
//
// The sums of a block pass through the first-level cache to become floats, at once: doing this in slices between the
// multiplications of the next block was 5 to 10 % slower on a Xeon.
#pragma once

#include <algorithm>

#include "kernels/dots.h"
#include "kernels/kernels.h"
#include "kernels/vector.h"

#if defined(NMT_EMULATED)
#include "tests/tile_emulation.h"
#endif

namespace nmt {
namespace {

constexpr int kTileRows = 16, kTileBytes = 64;
constexpr int kTileWeights = kTileRows * kTileBytes;  // bytes of a panel that meet a tile of inputs
constexpr int kPassTiles = 8;  // tiles of rows that pass a panel together, while it stays in a near cache

// Fewest rows for which tiles are used, unless measure.tune has found another number for a product. On a Xeon with AMX (family 6, model 207) they were faster than vectors from 8 rows
// on with 1,024 inputs, and from 12 on with 256 inputs or weights from the third-level cache; 8 rows were 0.9 to 1.5 times
// as fast there, 4 rows 0.5 to 0.9.
constexpr int kFewestTiled = 8;

// What _tile_loadconfig reads: the rows and bytes of tiles 0 to 3 (sums), 4 (inputs), 5 (inputs, or weights if there is
// one tile of rows), 6 and 7 (weights).
struct alignas(64) TileShapes {
  uint8_t palette = 1, start = 0, reserved[14] = {};
  uint16_t bytes[16] = {};
  uint8_t rows[16] = {};
};
struct AllTileShapes {
  TileShapes of[kTileRows];
  constexpr AllTileShapes() : of() {
    for (int rows = 1; rows <= kTileRows; ++rows)
      for (int tile = 0; tile < 8; ++tile) {
        of[rows - 1].bytes[tile] = kTileBytes;
        of[rows - 1].rows[tile] = (uint8_t)(tile < 5 ? rows : kTileRows);
      }
  }
};
constexpr AllTileShapes kTileShapes;  // by rows; constant, because compilers do not see that _tile_loadconfig reads it

// Rows of this thread's tiles of sums; 0: the tiles are not configured. A configuration is slow, so it is kept from
// product to product, and released when the call of the engine ends or the thread goes to sleep.
thread_local int tile_rows = 0;

void configure_tiles(int rows) {
  if (tile_rows == rows) return;
  _tile_loadconfig(&kTileShapes.of[rows - 1]);
  tile_rows = rows;
}

void release_tiles() {
  if (tile_rows) _tile_release();
  tile_rows = 0;
}

template <Epilogue epilogue>
class TiledProduct {
 public:
  TiledProduct(const Linear& weights, const Inputs& inputs, int rows, const Outputs& outputs)
      : weights_(weights),
        inputs_(inputs),
        outputs_(outputs),
        rows_(rows),
        height_(std::min(rows, kTileRows)),
        row_bytes_(row_bytes(weights)),
        whole_(row_bytes_ / kTileBytes * kTileBytes),
        panel_bytes_(row_bytes_ * kPanel) {}

  // Panels [first, last) of all rows.
  void compute(int first, int last) {
    configure_tiles(height_);
    if constexpr (epilogue == Epilogue::relu) std::memset(outputs_.maxima, 0, (size_t)rows_ * kLanes * sizeof(float));
    copy_last_weights();
    const int tiles = (rows_ + kTileRows - 1) / kTileRows;
    for (first_tile_ = 0; first_tile_ < tiles; first_tile_ += kPassTiles) {
      const int end = std::min(first_tile_ + kPassTiles, tiles);
      copy_last_inputs(end);
      int panel = first;
      for (; panel + 4 <= last; panel += 4) pass<4>(end, panel);
      if (panel + 2 <= last) pass<2>(end, panel), panel += 2;
      if (panel < last) pass<1>(end, panel);
    }
  }

 private:
  // All tiles of a pass times kPanels panels: two tiles of rows at a time, and the odd one alone.
  template <int kPanels>
  void pass(int end, int panel) {
    const int pairs = (end - first_tile_) / 2;
    if constexpr (kPanels == 1) {
      for (int pair = 0; pair < pairs; ++pair) block<2, 1>(first_tile_ + 2 * pair, panel);
    } else {
      for (int p = 0; p < kPanels; p += 2)
        for (int pair = 0; pair < pairs; ++pair) block<2, 2>(first_tile_ + 2 * pair, panel + p);
    }
    if ((end - first_tile_) % 2) block<1, kPanels>(end - 1, panel);
  }

  // The first row of a tile. Tiles have 16 rows, so that one configuration serves all: the last one begins early, and
  // computes rows again that the previous one has.
  int first_row(int tile) const { return std::min(tile * kTileRows, rows_ - height_); }

  template <int kRowTiles, int kPanels>
  void block(int tile, int panel) {
    const char* const upper = inputs_.rows + first_row(tile) * row_bytes_;
    const char* const lower = inputs_.rows + first_row(tile + kRowTiles - 1) * row_bytes_;
    const char* weights[kPanels];
    for (int p = 0; p < kPanels; ++p) weights[p] = weights_.panels + (size_t)(panel + p) * panel_bytes_;
    const bool fetches = tile == first_tile_;  // the first rows of a pass wait for weights from a far cache
    zero<kRowTiles * kPanels>();
    for (size_t k = 0; k < whole_; k += kTileBytes) {
      multiply<kRowTiles, kPanels>(upper + k, lower + k, row_bytes_, weights);
      for (int p = 0; p < kPanels; ++p) {
        if (fetches)
          for (int line = 0; line < kTileWeights; line += 64)
            __builtin_prefetch(weights[p] + kPanels * panel_bytes_ + line, 0, 2);
        weights[p] += kTileWeights;
      }
    }
    if (whole_ < row_bytes_) {
      if (panel + kPanels == weights_.outputs / kPanel) weights[kPanels - 1] = last_weights_;
      multiply<kRowTiles, kPanels>(last_inputs_[tile - first_tile_], last_inputs_[tile - first_tile_ + kRowTiles - 1],
                                   kTileBytes, weights);
    }
    store_sums<kRowTiles * kPanels>();
    for (int t = 0; t < kRowTiles; ++t)
      for (int p = 0; p < kPanels; ++p) finish(sums_[t * kPanels + p], tile + t, panel + p);
  }

  // Tiles are named by literals in these: compilers write them into the instructions.

  template <int kTiles>
  static NMT_INLINE void zero() {
    _tile_zero(0);
    if constexpr (kTiles > 1) _tile_zero(1);
    if constexpr (kTiles > 2) _tile_zero(2);
    if constexpr (kTiles > 3) _tile_zero(3);
  }

  // Adds to the sums: tile i x kPanels + p of the i-th tile of rows and the p-th panel.
  template <int kRowTiles, int kPanels>
  static NMT_INLINE void multiply(const char* upper, const char* lower, size_t stride, const char* const* weights) {
    _tile_loadd(4, upper, stride);
    _tile_loadd(6, weights[0], kTileBytes);
    _tile_dpbusd(0, 4, 6);
    if constexpr (kPanels > 1) {
      _tile_loadd(7, weights[1], kTileBytes);
      _tile_dpbusd(1, 4, 7);
    }
    if constexpr (kRowTiles > 1) {
      _tile_loadd(5, lower, stride);
      if constexpr (kPanels == 1) _tile_dpbusd(1, 5, 6);
      if constexpr (kPanels > 1) {
        _tile_dpbusd(2, 5, 6);
        _tile_dpbusd(3, 5, 7);
      }
    }
    if constexpr (kPanels > 2) {
      _tile_loadd(5, weights[2], kTileBytes);
      _tile_dpbusd(2, 4, 5);
      _tile_loadd(6, weights[3], kTileBytes);
      _tile_dpbusd(3, 4, 6);
    }
  }

  template <int kTiles>
  NMT_INLINE void store_sums() {
    _tile_stored(0, sums_[0], kTileBytes);
    if constexpr (kTiles > 1) _tile_stored(1, sums_[1], kTileBytes);
    if constexpr (kTiles > 2) _tile_stored(2, sums_[2], kTileBytes);
    if constexpr (kTiles > 3) _tile_stored(3, sums_[3], kTileBytes);
  }

  // Turns the sums of a tile into floats, as kernels/products.h does.
  NMT_INLINE void finish(const int32_t* sums, int tile, int panel) {
    const int channel = panel * kPanel, first = first_row(tile);
    const int from = tile * kTileRows - first;  // the previous tile has the rows before
    const Floats scale = load(weights_.scale + channel), bias = load(weights_.bias + channel);
    const Ints offset = inputs_.shifted ? load_sums(weights_.offset + channel) : all_int(0);
    float* to = outputs_.rows + (size_t)(first + from) * outputs_.stride + channel;
    for (int r = from; r < height_; ++r, to += outputs_.stride) {
      const Floats sum = converted(load_sums(sums + r * kPanel) + offset);
      Floats result = fma(sum, all(inputs_.scale[first + r]) * scale, bias);
      if constexpr (epilogue == Epilogue::relu) {
        result = max(result, all(0.0f));
        float* const maxima = outputs_.maxima + (size_t)(first + r) * kLanes;
        store(maxima, max(load(maxima), result));
      }
      if constexpr (epilogue == Epilogue::add) result = result + load(to);
      store(to, result);
    }
  }

  static NMT_INLINE Ints load_sums(const int32_t* from) {
    Ints v;
    NMT_EACH_PART(p) v.part[p] = *((const StoredInts*)from + p);
    return v;
  }

  // The last inputs of the rows of a pass, if they do not fill a tile.
  void copy_last_inputs(int end) {
    if (whole_ == row_bytes_) return;
    for (int tile = first_tile_; tile < end; ++tile) {
      const char* from = inputs_.rows + first_row(tile) * row_bytes_ + whole_;
      char* to = last_inputs_[tile - first_tile_];
      for (int r = 0; r < height_; ++r, from += row_bytes_, to += kTileBytes)
        for (size_t i = 0; i < kTileBytes; i += 16)
          if (i < row_bytes_ - whole_)
            std::memcpy(to + i, from + i, 16);
          else
            std::memset(to + i, 0, 16);
    }
    written();
  }

  // The last weights of the last panel, if they do not fill a tile. Those of other panels are read together with the
  // beginning of the next panel, which meets zeros and is long enough: a panel has at least 64 inputs.
  void copy_last_weights() {
    if (whole_ == row_bytes_) return;
    const size_t bytes = (row_bytes_ - whole_) * kPanel;
    std::memcpy(last_weights_, weights_.panels + (size_t)(weights_.outputs / kPanel) * panel_bytes_ - bytes, bytes);
    std::memset(last_weights_ + bytes, 0, sizeof last_weights_ - bytes);
  }

  // Keeps stores before the tiles' loads: compilers do not see that these read memory.
  static NMT_INLINE void written() { __asm__ volatile("" ::: "memory"); }

  const Linear& weights_;
  const Inputs& inputs_;
  const Outputs& outputs_;
  const int rows_, height_;                       // height_: rows of a tile
  const size_t row_bytes_, whole_, panel_bytes_;  // whole_: bytes of a row in whole tiles
  int first_tile_ = 0;                            // of the pass
  alignas(64) int32_t sums_[4][kTileRows * kPanel];
  alignas(64) char last_inputs_[kPassTiles][kTileWeights];
  alignas(64) char last_weights_[kTileWeights];
};

void tiled_product(const Linear& weights, const Inputs& inputs, int rows, int first, int last, const Outputs& outputs) {
  switch (outputs.epilogue) {
    case Epilogue::store: return TiledProduct<Epilogue::store>(weights, inputs, rows, outputs).compute(first, last);
    case Epilogue::relu: return TiledProduct<Epilogue::relu>(weights, inputs, rows, outputs).compute(first, last);
    case Epilogue::add: return TiledProduct<Epilogue::add>(weights, inputs, rows, outputs).compute(first, last);
  }
}

}  // namespace
}  // namespace nmt
