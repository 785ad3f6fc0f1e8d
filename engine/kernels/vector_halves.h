// Sums and maxima over the lanes, from two halves of 256 bits: the same order on AVX2 and AVX512.
#pragma once

namespace nmt {
namespace {

NMT_INLINE float sum(Floats v) {
  __m256 a = _mm256_add_ps(lower_half(v), upper_half(v));
  __m128 b = _mm_add_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  b = _mm_add_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_add_ss(b, _mm_movehdup_ps(b)));
}
NMT_INLINE float largest(Floats v) {
  __m256 a = _mm256_max_ps(lower_half(v), upper_half(v));
  __m128 b = _mm_max_ps(_mm256_castps256_ps128(a), _mm256_extractf128_ps(a, 1));
  b = _mm_max_ps(b, _mm_movehl_ps(b, b));
  return _mm_cvtss_f32(_mm_max_ss(b, _mm_movehdup_ps(b)));
}

}  // namespace
}  // namespace nmt
