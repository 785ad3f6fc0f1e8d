// Vectors of AVX2: two registers.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace nmt {
namespace {

constexpr int kParts = 2;
constexpr bool kStoresLowBits = false;

}  // namespace
}  // namespace nmt

#include "kernels/vector_types.h"

namespace nmt {
namespace {

NMT_INLINE FloatPart fma(FloatPart a, FloatPart b, FloatPart c) { return _mm256_fmadd_ps(a, b, c); }
NMT_INLINE FloatPart max(FloatPart a, FloatPart b) { return _mm256_max_ps(a, b); }
NMT_INLINE FloatPart min(FloatPart a, FloatPart b) { return _mm256_min_ps(a, b); }
NMT_INLINE uint32_t above(Floats a, Floats b) {
  uint32_t lanes = 0;
  NMT_EACH_PART(p)
    lanes |= (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(a.part[p], b.part[p], _CMP_GT_OQ)) << (p * kPartLanes);
  return lanes;
}

NMT_INLINE __m256 upper_half(Floats v) { return v.part[1]; }
NMT_INLINE __m256 lower_half(Floats v) { return v.part[0]; }

NMT_INLINE Floats load(const Half* from) {
  return {{_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from)),
           _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from + 1))}};
}
NMT_INLINE void store(Half* to, Floats v) {
  NMT_EACH_PART(p) _mm_storeu_si128((__m128i*)to + p, _mm256_cvtps_ph(v.part[p], _MM_FROUND_TO_NEAREST_INT));
}

// In the order of lanes: the instruction packs within 128 bits.
NMT_INLINE __m256i packed(Ints v) {
  return _mm256_permute4x64_epi64(_mm256_packs_epi32((__m256i)v.part[0], (__m256i)v.part[1]), 0xD8);
}
NMT_INLINE void store(uint8_t* to, Ints v) {
  const __m256i words = packed(v);
  _mm_storeu_si128((__m128i*)to, _mm_packus_epi16(_mm256_castsi256_si128(words), _mm256_extracti128_si256(words, 1)));
}
NMT_INLINE void store(int16_t* to, Ints v) { _mm256_storeu_si256((__m256i*)to, packed(v)); }
NMT_INLINE Ints load(const int8_t* from) {
  return {{(IntPart)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from)),
           (IntPart)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)(from + 8)))}};
}
NMT_INLINE Ints load(const int16_t* from) {
  return {{(IntPart)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i*)from)),
           (IntPart)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i*)(from + 8)))}};
}

}  // namespace
}  // namespace nmt

#include "kernels/vector_halves.h"
