// Vectors of AVX512: one register.
#pragma once

#include <immintrin.h>

#include <cstdint>

namespace nmt {
namespace {

constexpr int kParts = 1;
constexpr bool kStoresLowBits = true;

}  // namespace
}  // namespace nmt

#include "kernels/vector_types.h"

namespace nmt {
namespace {

NMT_INLINE FloatPart fma(FloatPart a, FloatPart b, FloatPart c) { return _mm512_fmadd_ps(a, b, c); }
NMT_INLINE FloatPart max(FloatPart a, FloatPart b) { return _mm512_max_ps(a, b); }
NMT_INLINE FloatPart min(FloatPart a, FloatPart b) { return _mm512_min_ps(a, b); }
NMT_INLINE uint32_t above(Floats a, Floats b) { return _mm512_cmp_ps_mask(a.part[0], b.part[0], _CMP_GT_OQ); }

NMT_INLINE __m256 upper_half(Floats v) {
  return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v.part[0]), 1));
}
NMT_INLINE __m256 lower_half(Floats v) { return _mm512_castps512_ps256(v.part[0]); }

NMT_INLINE Floats load(const Half* from) { return {{_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)from))}}; }
NMT_INLINE void store(Half* to, Floats v) {
  _mm256_storeu_si256((__m256i*)to, _mm512_cvtps_ph(v.part[0], _MM_FROUND_TO_NEAREST_INT));
}

NMT_INLINE void store(uint8_t* to, Ints v) { _mm_storeu_si128((__m128i*)to, _mm512_cvtepi32_epi8((__m512i)v.part[0])); }
NMT_INLINE void store(int16_t* to, Ints v) {
  _mm256_storeu_si256((__m256i*)to, _mm512_cvtepi32_epi16((__m512i)v.part[0]));
}
NMT_INLINE Ints load(const int8_t* from) {
  return {{(IntPart)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)from))}};
}
NMT_INLINE Ints load(const int16_t* from) {
  return {{(IntPart)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i*)from))}};
}

}  // namespace
}  // namespace nmt

#include "kernels/vector_halves.h"
