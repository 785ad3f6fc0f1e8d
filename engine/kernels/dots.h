// The inner step of every product: inputs of one row times weights of one panel of 16 channels.
//
// A *group* is what 32 bits hold of a row: one float, two int16 or four 8-bit integers. A panel holds its weights group
// by group, 64 bytes each: [group][channel][element], the same bytes for every instruction set. A step takes `kGroups`
// groups of a row, each broadcast to all channels.
//
// A Dot with kSubtracts takes bytes as signed values, of which 128 was subtracted; others take them as they are.
//
// No sum can overflow, by the bounds of nmt_frontier.model.native_quantization:
//   int8   inputs are 0..255 (signed values plus 128), weights -127..127. Where instructions add two products in 16 bits
//          with saturation (vpmaddubsw), two such sums are added in 16 bits before they are widened: in each 16-bit lane
//          the positive weights of the 2 x 2 inputs sum to at most 128, and so do the negative: 255 * 128 < 2^15.
//   int4   weights are -8..7 times the step of 32 inputs, -127..127: 32 x 255 x 8 = 65,280 times a step, and the magnitudes
//          of a channel's steps sum to less than 2^31 / 65,280. In 16 bits, 16 products fit: 16 x 255 x 8 < 2^15.
//   int16  inputs are at most 4,095 in magnitude, and the magnitudes of a channel's weights sum to less than 2^31 / 4,095.
#pragma once

#include "kernels/vector.h"
#if defined(NMT_NEON)
#include "kernels/dots_neon.h"
#elif defined(__wasm_simd128__)
#include "kernels/dots_simd128.h"
#endif
#if defined(NMT_EMULATED) && defined(NMT_AVXVNNI)
#include "tests/vnni_emulation.h"
#endif

namespace nmt {
namespace {

NMT_INLINE int32_t group(const char* row) {
  int32_t bytes;
  std::memcpy(&bytes, row, 4);
  return bytes;
}

// Each Dot multiplies one part of a panel's channels: one register of weights per group of a step.
#if defined(__AVX512F__)
typedef __m512i Register;
NMT_INLINE Register fetched(const char* from) { return _mm512_load_si512(from); }
NMT_INLINE Register repeated(const char* row) { return _mm512_set1_epi32(group(row)); }
#elif defined(__AVX2__)
typedef __m256i Register;
NMT_INLINE Register fetched(const char* from) { return _mm256_load_si256((const __m256i*)from); }
NMT_INLINE Register repeated(const char* row) { return _mm256_set1_epi32(group(row)); }
#endif

struct FloatDot {
  using Sum = FloatPart;
  using Vector = Floats;
  static constexpr int kGroups = 1;
  struct Weights {
    FloatPart groups;
  };
  static NMT_INLINE Weights load(const char* panel) { return {*(const StoredFloats*)panel}; }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    float input;
    std::memcpy(&input, row, 4);
    sum = fma(input - FloatPart{}, weights.groups, sum);
  }
};

#if defined(NMT_NEON) || defined(__wasm_simd128__)
// kernels/dots_neon.h, kernels/dots_simd128.h
#elif defined(__AVX2__) || defined(__AVX512F__)

struct ShortDot {
  using Sum = IntPart;
  using Vector = Ints;
  static constexpr int kGroups = 1;
  struct Weights {
    Register groups;
  };
  static NMT_INLINE Weights load(const char* panel) { return {fetched(panel)}; }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
#if defined(__AVX512VNNI__)
    sum = (Sum)_mm512_dpwssd_epi32((Register)sum, repeated(row), weights.groups);
#elif defined(__AVX512F__)
    sum = (Sum)_mm512_add_epi32((Register)sum, _mm512_madd_epi16(repeated(row), weights.groups));
#elif defined(NMT_AVXVNNI)
    sum = (Sum)_mm256_dpwssd_avx_epi32((Register)sum, repeated(row), weights.groups);
#else
    sum = (Sum)_mm256_add_epi32((Register)sum, _mm256_madd_epi16(repeated(row), weights.groups));
#endif
  }
};

struct ByteDot {
  using Sum = IntPart;
  using Vector = Ints;
  static constexpr int kGroups = 2;
  static constexpr bool kSubtracts = false;
  struct Weights {
    Register first, second;
  };
  static NMT_INLINE Weights load(const char* panel) { return {fetched(panel), fetched(panel + 64)}; }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
#if defined(__AVX512VNNI__)
    sum = (Sum)_mm512_dpbusd_epi32((Register)sum, repeated(row), weights.first);
    sum = (Sum)_mm512_dpbusd_epi32((Register)sum, repeated(row + 4), weights.second);
#elif defined(__AVX512F__)
    const Register words = _mm512_add_epi16(_mm512_maddubs_epi16(repeated(row), weights.first),
                                            _mm512_maddubs_epi16(repeated(row + 4), weights.second));
    sum = (Sum)_mm512_add_epi32((Register)sum, _mm512_madd_epi16(words, _mm512_set1_epi16(1)));
#elif defined(NMT_AVXVNNI)
    sum = (Sum)_mm256_dpbusd_avx_epi32((Register)sum, repeated(row), weights.first);
    sum = (Sum)_mm256_dpbusd_avx_epi32((Register)sum, repeated(row + 4), weights.second);
#else
    const Register words = _mm256_add_epi16(_mm256_maddubs_epi16(repeated(row), weights.first),
                                            _mm256_maddubs_epi16(repeated(row + 4), weights.second));
    sum = (Sum)_mm256_add_epi32((Register)sum, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
#endif
  }
  // The same for one row: its few sums would wait for each other, so that products are added up before.
  static NMT_INLINE void step_of_one(Sum& sum, const char* row, const Weights& weights) {
#if defined(NMT_AVXVNNI)
    Sum both{};
    step(both, row, weights);
    sum += both;
#else
    step(sum, row, weights);
#endif
  }
#if defined(__AVX512F__) || defined(NMT_AVXVNNI)
  static NMT_INLINE void step_of_many(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
#else
  // The same in assembly, for many rows: compilers would keep the inputs of all rows for the next column and run out of
  // registers for the sums. This needs three registers beside the sums; broadcasting an input again costs nothing.
  static NMT_INLINE void step_of_many(Sum& sum, const char* row, const Weights& weights) {
    Register words, more;
    __asm__(
        "vpbroadcastd %5, %1\n\t"
        "vpbroadcastd %6, %2\n\t"
        "vpmaddubsw %3, %1, %1\n\t"
        "vpmaddubsw %4, %2, %2\n\t"
        "vpaddw %2, %1, %1\n\t"
        "vpmaddwd %7, %1, %1\n\t"
        "vpaddd %1, %0, %0"
        : "+x"(sum), "=&x"(words), "=&x"(more)
        : "x"(weights.first), "x"(weights.second), "m"(*(const int32_t*)row), "m"(*(const int32_t*)(row + 4)),
          "x"(_mm256_set1_epi16(1)));
  }
#endif
};

// A byte of int4 has a weight of one group in its lower half, and that of the next group in its upper half. With VNNI,
// weights count 16 times, so that a mask is enough; without it, products of all inputs of a step are added in 16 bits.
struct NibbleDot {
  using Sum = IntPart;
  using Part = IntPart;  // the sum of a step
  using Vector = Ints;
  static constexpr bool kSubtracts = false;
  using Weights = ByteDot::Weights;
  typedef uint16_t Words __attribute__((vector_size(kPartBytes)));
#if defined(__AVX512VNNI__) || defined(NMT_AVXVNNI)
  static NMT_INLINE Weights load(const char* panel) {
    const Words both = (Words)fetched(panel);
    return {(Register)(both << 4 & 0xF0F0), (Register)(both & 0xF0F0)};
  }
  static NMT_INLINE void step(IntPart& part, const char* row, const Weights& weights) {
    ByteDot::step(part, row, weights);
  }
  static NMT_INLINE void add(Sum& sum, IntPart part, IntPart multiple) { sum += (part >> 4) * multiple; }
#else
  static NMT_INLINE Weights load(const char* panel) {
    const Words both = (Words)fetched(panel);
    return {with_sign((Register)(both & 0x0F0F)), with_sign((Register)(both >> 4 & 0x0F0F))};
  }
  static NMT_INLINE Register with_sign(Register nibbles) {
    const __m128i values = _mm_setr_epi8(0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1);
#if defined(__AVX512F__)
    return _mm512_shuffle_epi8(_mm512_broadcast_i32x4(values), nibbles);
#else
    return _mm256_shuffle_epi8(_mm256_broadcastsi128_si256(values), nibbles);
#endif
  }
  static NMT_INLINE void step(IntPart& part, const char* row, const Weights& weights) {
#if defined(__AVX512F__)
    part = (IntPart)((Words)part + (Words)_mm512_maddubs_epi16(repeated(row), weights.first));
    part = (IntPart)((Words)part + (Words)_mm512_maddubs_epi16(repeated(row + 4), weights.second));
#else
    part = (IntPart)((Words)part + (Words)_mm256_maddubs_epi16(repeated(row), weights.first));
    part = (IntPart)((Words)part + (Words)_mm256_maddubs_epi16(repeated(row + 4), weights.second));
#endif
  }
  static NMT_INLINE void add(Sum& sum, IntPart part, IntPart multiple) {
    const IntPart pairs = (multiple & 0xFFFF) | multiple << 16;
#if defined(__AVX512F__)
    sum += (IntPart)_mm512_madd_epi16((Register)part, (Register)pairs);
#else
    sum += (IntPart)_mm256_madd_epi16((Register)part, (Register)pairs);
#endif
  }
#endif
};

#else

// The portable sums, element by element; compilers vectorise them.
template <class Input, class Weight, int kElements, int kStepGroups>
struct IntegerDot {
  using Sum = IntPart;
  using Vector = Ints;
  static constexpr int kGroups = kStepGroups;
  static constexpr bool kSubtracts = false;
  struct Weights {
    Weight groups[kGroups][kPartLanes][kElements];
  };
  static NMT_INLINE Weights load(const char* panel) {
    Weights weights;
    for (int g = 0; g < kGroups; ++g) std::memcpy(weights.groups[g], panel + 64 * g, sizeof weights.groups[g]);
    return weights;
  }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    Input inputs[kGroups][kElements];
    std::memcpy(inputs, row, sizeof inputs);
    for (int g = 0; g < kGroups; ++g)
      for (int channel = 0; channel < kPartLanes; ++channel)
        for (int e = 0; e < kElements; ++e)  // unsigned: with damaged weights a sum may wrap, as in the other sets
          sum[channel] = (int32_t)((uint32_t)sum[channel] + (uint32_t)(inputs[g][e] * weights.groups[g][channel][e]));
  }
  static NMT_INLINE void step_of_one(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
  static NMT_INLINE void step_of_many(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
};
using ShortDot = IntegerDot<int16_t, int16_t, 2, 1>;
using ByteDot = IntegerDot<uint8_t, int8_t, 4, 2>;

struct NibbleDot {
  using Sum = IntPart;
  using Part = IntPart;  // the sum of a step
  using Vector = Ints;
  static constexpr bool kSubtracts = false;
  using Weights = ByteDot::Weights;
  static NMT_INLINE Weights load(const char* panel) {
    uint8_t both[kPartLanes][4];
    std::memcpy(both, panel, sizeof both);
    Weights weights;
    for (int channel = 0; channel < kPartLanes; ++channel)
      for (int e = 0; e < 4; ++e) {
        weights.groups[0][channel][e] = (int8_t)(((both[channel][e] & 15) ^ 8) - 8);
        weights.groups[1][channel][e] = (int8_t)((both[channel][e] >> 4 ^ 8) - 8);
      }
    return weights;
  }
  static NMT_INLINE void step(IntPart& part, const char* row, const Weights& weights) {
    ByteDot::step(part, row, weights);
  }
  static NMT_INLINE void add(Sum& sum, IntPart part, IntPart multiple) {
    for (int channel = 0; channel < kPartLanes; ++channel)
      sum[channel] = (int32_t)((uint32_t)sum[channel] + (uint32_t)(part[channel] * multiple[channel]));
  }
};

#endif

}  // namespace
}  // namespace nmt
