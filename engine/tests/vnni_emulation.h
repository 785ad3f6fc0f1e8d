// The instructions of AVX-VNNI with those of AVX2, for tests on CPUs without them.
#pragma once

#include <immintrin.h>

namespace nmt {
namespace {

// The sums of the two 32-bit integers of each half of two vectors' pairs: of four products each, in order.
inline __m256i added_pairs(__m256i low, __m256i high) {
  const __m256 a = _mm256_castsi256_ps(low), b = _mm256_castsi256_ps(high);
  return _mm256_add_epi32(_mm256_castps_si256(_mm256_shuffle_ps(a, b, 0x88)),
                          _mm256_castps_si256(_mm256_shuffle_ps(a, b, 0xDD)));
}

inline __m256i emulated_dpbusd(__m256i sum, __m256i inputs, __m256i weights) {
  const __m256i zero = _mm256_setzero_si256(), sign = _mm256_cmpgt_epi8(zero, weights);
  const __m256i low = _mm256_madd_epi16(_mm256_unpacklo_epi8(inputs, zero), _mm256_unpacklo_epi8(weights, sign));
  const __m256i high = _mm256_madd_epi16(_mm256_unpackhi_epi8(inputs, zero), _mm256_unpackhi_epi8(weights, sign));
  return _mm256_add_epi32(sum, added_pairs(low, high));
}

inline __m256i emulated_dpwssd(__m256i sum, __m256i inputs, __m256i weights) {
  return _mm256_add_epi32(sum, _mm256_madd_epi16(inputs, weights));
}

}  // namespace
}  // namespace nmt

#define _mm256_dpbusd_avx_epi32 nmt::emulated_dpbusd
#define _mm256_dpwssd_avx_epi32 nmt::emulated_dpwssd
