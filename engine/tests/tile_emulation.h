// The tiles of AMX in plain C++, for tests on CPUs without them. What raises an exception of the CPU ends the process.
#pragma once

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbusd

namespace nmt {
namespace {

struct EmulatedTiles {
  static constexpr int kTiles = 8;
  struct Tile {
    int rows = 0, bytes = 0;
    unsigned char data[16][64] = {};
  };
  bool configured = false;
  Tile tiles[kTiles];

  static void require(bool sound, const char* what) {
    if (sound) return;
    std::fprintf(stderr, "tiles: %s\n", what);
    std::abort();
  }
  Tile& at(int number) {
    require(configured, "used before they are configured");
    require(number >= 0 && number < kTiles && tiles[number].rows && tiles[number].bytes, "not configured");
    return tiles[number];
  }

  void configure(const unsigned char* from) {  // palette, start row, 14 reserved, 16 x 2 bytes per row, 16 x rows
    require(from[0] == 1 && from[1] == 0, "another palette, or a start row");
    for (int i = 2; i < 16; ++i) require(from[i] == 0, "reserved bytes of the configuration");
    for (int t = 0; t < 16; ++t) {
      const int rows = from[48 + t], bytes = from[16 + 2 * t] | from[17 + 2 * t] << 8;
      require(t < kTiles ? rows <= 16 && bytes <= 64 && !rows == !bytes : !rows && !bytes, "too large, or too many");
      if (t >= kTiles) continue;
      tiles[t] = Tile();
      tiles[t].rows = rows, tiles[t].bytes = bytes;
    }
    configured = true;
  }
  void release() { *this = EmulatedTiles(); }
  void zero(int number) { std::memset(at(number).data, 0, sizeof at(number).data); }
  void load(int number, const void* from, long stride) {
    Tile& tile = at(number);
    std::memset(tile.data, 0, sizeof tile.data);
    for (int r = 0; r < tile.rows; ++r) std::memcpy(tile.data[r], (const char*)from + r * stride, (size_t)tile.bytes);
  }
  void store(int number, void* to, long stride) {
    const Tile& tile = at(number);
    for (int r = 0; r < tile.rows; ++r) std::memcpy((char*)to + r * stride, tile.data[r], (size_t)tile.bytes);
  }
  void multiply(int to, int first, int second) {
    Tile &sums = at(to), &inputs = at(first), &weights = at(second);
    require(to != first && to != second && first != second, "a tile multiplied with itself");
    require(sums.rows == inputs.rows && sums.bytes == weights.bytes && inputs.bytes == 4 * weights.rows &&
                inputs.bytes % 4 == 0 && sums.bytes % 4 == 0,
            "shapes that do not fit");
    for (int r = 0; r < sums.rows; ++r)
      for (int column = 0; column < sums.bytes; column += 4) {
        int32_t sum;
        std::memcpy(&sum, sums.data[r] + column, 4);
        for (int k = 0; k < inputs.bytes; ++k)
          sum += inputs.data[r][k] * (int)(signed char)weights.data[k / 4][column + k % 4];
        std::memcpy(sums.data[r] + column, &sum, 4);
      }
  }
};
thread_local EmulatedTiles emulated_tiles;

}  // namespace
}  // namespace nmt

#define _tile_loadconfig(from) nmt::emulated_tiles.configure((const unsigned char*)(from))
#define _tile_release() nmt::emulated_tiles.release()
#define _tile_zero(tile) nmt::emulated_tiles.zero(tile)
#define _tile_loadd(tile, from, stride) nmt::emulated_tiles.load(tile, from, (long)(stride))
#define _tile_stored(tile, to, stride) nmt::emulated_tiles.store(tile, to, (long)(stride))
#define _tile_dpbusd(to, first, second) nmt::emulated_tiles.multiply(to, first, second)
