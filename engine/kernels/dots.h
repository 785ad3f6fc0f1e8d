// The inner step of every product: inputs of one row times weights of one panel of 16 channels.
//
// A *group* is what 32 bits hold of a row: one float, two int16 or four 8-bit integers. A panel holds its weights group
// by group, 64 bytes each: [group][channel][element], the same bytes for every instruction set. A step takes `kGroups`
// groups of a row, each broadcast to all channels.
//
// No sum can overflow, by the bounds of formats.native_model:
//   int8   inputs are 0..255 (signed values plus 128), weights -127..127. Where instructions add two products in 16 bits
//          with saturation (vpmaddubsw), two such sums are added in 16 bits before they are widened: in each 16-bit lane
//          the positive weights of the 2 x 2 inputs sum to at most 128, and so do the negative: 255 * 128 < 2^15.
//   int16  inputs are at most 4,095 in magnitude, and the magnitudes of a channel's weights sum to less than 2^31 / 4,095.
#pragma once

#include "kernels/vector.h"

namespace nmt {
namespace {

struct FloatDot {
  using Sum = Floats;
  static constexpr int kGroups = 1, kGroupInputs = 1;
  static NMT_INLINE void step(Sum& sum, const char* row, const char* panel) {
    float input;
    std::memcpy(&input, row, 4);
    sum = fma(all(input), load((const float*)panel), sum);
  }
};

NMT_INLINE int32_t group(const char* row) {
  int32_t bytes;
  std::memcpy(&bytes, row, 4);
  return bytes;
}

struct ShortDot {
  using Sum = Ints;
  static constexpr int kGroups = 1, kGroupInputs = 2;
  static NMT_INLINE void step(Sum& sum, const char* row, const char* panel) {
#if defined(__AVX512BW__)
    const __m512i products = _mm512_madd_epi16(_mm512_set1_epi32(group(row)), _mm512_load_si512(panel));
    sum.part[0] = (IntPart)_mm512_add_epi32((__m512i)sum.part[0], products);
#elif defined(__AVX2__)
    const __m256i inputs = _mm256_set1_epi32(group(row));
    NMT_EACH_PART {
      const __m256i products = _mm256_madd_epi16(inputs, _mm256_load_si256((const __m256i*)panel + p));
      sum.part[p] = (IntPart)_mm256_add_epi32((__m256i)sum.part[p], products);
    }
#else
    int16_t inputs[2], weights[2 * kLanes];
    std::memcpy(inputs, row, sizeof inputs);
    std::memcpy(weights, panel, sizeof weights);
    for (int i = 0; i < kLanes; ++i)
      sum.part[i / 4][i % 4] += inputs[0] * weights[2 * i] + inputs[1] * weights[2 * i + 1];
#endif
  }
};

struct ByteDot {
  using Sum = Ints;
  static constexpr int kGroups = 2, kGroupInputs = 4;
  static NMT_INLINE void step(Sum& sum, const char* row, const char* panel) {
#if defined(__AVX512VNNI__)
    for (int g = 0; g < 2; ++g)
      sum.part[0] = (IntPart)_mm512_dpbusd_epi32((__m512i)sum.part[0], _mm512_set1_epi32(group(row + 4 * g)),
                                                 _mm512_load_si512(panel + 64 * g));
#elif defined(__AVX512BW__)
    const __m512i words =
        _mm512_add_epi16(_mm512_maddubs_epi16(_mm512_set1_epi32(group(row)), _mm512_load_si512(panel)),
                         _mm512_maddubs_epi16(_mm512_set1_epi32(group(row + 4)), _mm512_load_si512(panel + 64)));
    sum.part[0] = (IntPart)_mm512_add_epi32((__m512i)sum.part[0], _mm512_madd_epi16(words, _mm512_set1_epi16(1)));
#elif defined(__AVX2__)
    const __m256i first = _mm256_set1_epi32(group(row)), second = _mm256_set1_epi32(group(row + 4));
    NMT_EACH_PART {
      const __m256i* weights = (const __m256i*)panel + p;
      const __m256i words = _mm256_add_epi16(_mm256_maddubs_epi16(first, _mm256_load_si256(weights)),
                                             _mm256_maddubs_epi16(second, _mm256_load_si256(weights + 2)));
      sum.part[p] = (IntPart)_mm256_add_epi32((__m256i)sum.part[p], _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
    }
#else
    for (int g = 0; g < 2; ++g)
      for (int i = 0; i < kLanes; ++i)
        for (int e = 0; e < 4; ++e)
          sum.part[i / 4][i % 4] += (uint8_t)row[4 * g + e] * (int8_t)panel[64 * g + 4 * i + e];
#endif
  }
};

}  // namespace
}  // namespace nmt
