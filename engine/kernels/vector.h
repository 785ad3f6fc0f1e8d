// Vectors of 16 lanes, on every instruction set: one register of AVX512, two of AVX2, four of SSE2.
//
// Everything except products is written once, with these. Operations work lane by lane and sums over lanes have one
// fixed order, so that AVX2 and AVX512 give the same bytes. The portable path lacks a fused multiply-add: it rounds
// product and sum separately.
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>

#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace nmt {
namespace {  // one copy per instruction set

#if defined(__AVX512F__)
constexpr int kParts = 1;
#elif defined(__AVX2__)
constexpr int kParts = 2;
#else
constexpr int kParts = 4;
#endif
constexpr int kLanes = 16;
constexpr int kPartBytes = 64 / kParts;

typedef float FloatPart __attribute__((vector_size(kPartBytes)));
typedef int32_t IntPart __attribute__((vector_size(kPartBytes)));

// The same in memory, aligned or not.
typedef FloatPart StoredFloats __attribute__((aligned(4), may_alias));
typedef IntPart StoredInts __attribute__((aligned(4), may_alias));

struct Floats {
  FloatPart part[kParts];
};
struct Ints {
  IntPart part[kParts];
};

#define NMT_INLINE inline __attribute__((always_inline))
#define NMT_LAMBDA __attribute__((always_inline))
#define NMT_EACH_PART for (int p = 0; p < kParts; ++p)

NMT_INLINE Floats load(const float* from) {
  Floats v;
  NMT_EACH_PART v.part[p] = *((const StoredFloats*)from + p);
  return v;
}
NMT_INLINE void store(float* to, Floats v) { NMT_EACH_PART *((StoredFloats*)to + p) = v.part[p]; }
NMT_INLINE Floats all(float x) {
  Floats v;
  NMT_EACH_PART v.part[p] = x - FloatPart{};
  return v;
}
NMT_INLINE Ints all_int(int32_t x) {
  Ints v;
  NMT_EACH_PART v.part[p] = x - IntPart{};
  return v;
}

#define NMT_OPERATOR(op)                                \
  NMT_INLINE Floats operator op(Floats a, Floats b) {   \
    NMT_EACH_PART a.part[p] = a.part[p] op b.part[p];   \
    return a;                                           \
  }
NMT_OPERATOR(+)
NMT_OPERATOR(-)
NMT_OPERATOR(*)
#undef NMT_OPERATOR

NMT_INLINE Floats fma(Floats a, Floats b, Floats c) {  // a * b + c
  NMT_EACH_PART {
#if defined(__AVX512F__)
    c.part[p] = _mm512_fmadd_ps(a.part[p], b.part[p], c.part[p]);
#elif defined(__AVX2__)
    c.part[p] = _mm256_fmadd_ps(a.part[p], b.part[p], c.part[p]);
#else
    c.part[p] = a.part[p] * b.part[p] + c.part[p];
#endif
  }
  return c;
}
NMT_INLINE Floats max(Floats a, Floats b) {
  NMT_EACH_PART {
#if defined(__AVX512F__)
    a.part[p] = _mm512_max_ps(a.part[p], b.part[p]);
#elif defined(__AVX2__)
    a.part[p] = _mm256_max_ps(a.part[p], b.part[p]);
#else
    a.part[p] = a.part[p] > b.part[p] ? a.part[p] : b.part[p];
#endif
  }
  return a;
}
NMT_INLINE Floats min(Floats a, Floats b) {
  NMT_EACH_PART {
#if defined(__AVX512F__)
    a.part[p] = _mm512_min_ps(a.part[p], b.part[p]);
#elif defined(__AVX2__)
    a.part[p] = _mm256_min_ps(a.part[p], b.part[p]);
#else
    a.part[p] = a.part[p] < b.part[p] ? a.part[p] : b.part[p];
#endif
  }
  return a;
}
NMT_INLINE Floats magnitude(Floats a) {
  NMT_EACH_PART a.part[p] = (FloatPart)((IntPart)a.part[p] & 0x7FFFFFFF);
  return a;
}
// Selects a where the mask is -1, else b.
NMT_INLINE Floats choose(Ints mask, Floats a, Floats b) {
  NMT_EACH_PART {
    a.part[p] = (FloatPart)((mask.part[p] & (IntPart)a.part[p]) | (~mask.part[p] & (IntPart)b.part[p]));
  }
  return a;
}
// A mask from the 16 bits of a word: lane i is -1 where bit i is set.
NMT_INLINE Ints bits(uint32_t word) {
  Ints v;
  NMT_EACH_PART {
    IntPart place;
    for (int i = 0; i < kLanes / kParts; ++i) place[i] = 1 << (p * (kLanes / kParts) + i);
    v.part[p] = ((place & (int32_t)word) == place);
  }
  return v;
}
// -1 in the lanes below count.
NMT_INLINE Ints below(int count) { return bits(count >= kLanes ? 0xFFFFu : (1u << count) - 1); }

// The lanes of a vector as an array, for rare operations.
struct Lanes {
  alignas(64) float at[kLanes];
  explicit NMT_INLINE Lanes(Floats v) { std::memcpy(at, &v, sizeof v); }
};

// Sums and maxima over the lanes, by halving, in the same order on every instruction set.
#if defined(__AVX2__) || defined(__AVX512F__)
NMT_INLINE __m256 upper_half(Floats v) {
#if defined(__AVX512F__)
  return _mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(v.part[0]), 1));
#else
  return v.part[1];
#endif
}
NMT_INLINE __m256 lower_half(Floats v) {
#if defined(__AVX512F__)
  return _mm512_castps512_ps256(v.part[0]);
#else
  return v.part[0];
#endif
}
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
#else
NMT_INLINE float sum(Floats v) {
  Lanes lanes(v);
  for (int half = kLanes / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) lanes.at[i] += lanes.at[i + half];
  return lanes.at[0];
}
NMT_INLINE float largest(Floats v) {
  Lanes lanes(v);
  for (int i = 1; i < kLanes; ++i) lanes.at[0] = lanes.at[0] < lanes.at[i] ? lanes.at[i] : lanes.at[0];
  return lanes.at[0];
}
#endif

// Rounds to nearest, ties to even, below 2^22 in magnitude: adding 1.5 * 2^23 leaves the integer in the mantissa.
constexpr float kRounder = 12582912.0f;
constexpr int32_t kRounderBits = 0x4B400000;
NMT_INLINE Ints rounded(Floats v) {
  Ints result;
  NMT_EACH_PART result.part[p] = (IntPart)(v.part[p] + kRounder) - kRounderBits;
  return result;
}

// e^x with a relative error below 3e-7; 0 to within 1e-38 for x below -87.
NMT_INLINE Floats exponential(Floats x) {
  x = max(x, all(-87.0f));
  const Floats scaled = x * all(1.44269504f);
  Floats whole, result;
  NMT_EACH_PART whole.part[p] = (scaled.part[p] + kRounder) - kRounder;
  Floats rest = fma(whole, all(-0.693145752f), x);  // ln 2 in two parts against cancellation (Cody and Waite)
  rest = fma(whole, all(-1.42860677e-6f), rest);
  Floats power = all(1.0f / 720);
  for (float factor : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) power = fma(power, rest, all(factor));
  const Ints exponent = rounded(scaled);
  NMT_EACH_PART result.part[p] = (FloatPart)((IntPart)power.part[p] + (exponent.part[p] << 23));
  return result;
}

// Half precision, for keys and values of integer models. Rounds to nearest even.
NMT_INLINE Floats load(const _Float16* from) {
#if defined(__AVX512F__)
  return {{_mm512_cvtph_ps(_mm256_loadu_si256((const __m256i*)from))}};
#elif defined(__AVX2__)
  return {{_mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from)),
           _mm256_cvtph_ps(_mm_loadu_si128((const __m128i*)from + 1))}};
#else
  Floats v;
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = (float)from[i];
  std::memcpy(&v, lanes, sizeof v);
  return v;
#endif
}
NMT_INLINE void store(_Float16* to, Floats v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256((__m256i*)to, _mm512_cvtps_ph(v.part[0], _MM_FROUND_TO_NEAREST_INT));
#elif defined(__AVX2__)
  for (int p = 0; p < 2; ++p)
    _mm_storeu_si128((__m128i*)to + p, _mm256_cvtps_ph(v.part[p], _MM_FROUND_TO_NEAREST_INT));
#else
  Lanes lanes(v);
  for (int i = 0; i < kLanes; ++i) to[i] = (_Float16)lanes.at[i];
#endif
}

// Narrows integers that fit.
NMT_INLINE void store(uint8_t* to, Ints v) {
#if defined(__AVX512F__)
  _mm_storeu_si128((__m128i*)to, _mm512_cvtepi32_epi8((__m512i)v.part[0]));
#elif defined(__AVX2__)
  const __m256i words = _mm256_packs_epi32((__m256i)v.part[0], (__m256i)v.part[1]);  // within lanes of 128 bits
  const __m256i order = _mm256_permute4x64_epi64(words, 0xD8);
  _mm_storeu_si128((__m128i*)to,
                   _mm_packus_epi16(_mm256_castsi256_si128(order), _mm256_extracti128_si256(order, 1)));
#else
  for (int p = 0; p < kParts; ++p)
    for (int i = 0; i < kLanes / kParts; ++i) *to++ = (uint8_t)v.part[p][i];
#endif
}
NMT_INLINE void store(int16_t* to, Ints v) {
#if defined(__AVX512F__)
  _mm256_storeu_si256((__m256i*)to, _mm512_cvtepi32_epi16((__m512i)v.part[0]));
#elif defined(__AVX2__)
  const __m256i words = _mm256_packs_epi32((__m256i)v.part[0], (__m256i)v.part[1]);
  _mm256_storeu_si256((__m256i*)to, _mm256_permute4x64_epi64(words, 0xD8));
#else
  for (int p = 0; p < kParts; ++p)
    for (int i = 0; i < kLanes / kParts; ++i) *to++ = (int16_t)v.part[p][i];
#endif
}
NMT_INLINE Ints operator+(Ints a, Ints b) {
  NMT_EACH_PART a.part[p] = a.part[p] + b.part[p];
  return a;
}
// Loads 16 stored integers without conversion.
NMT_INLINE Ints load(const int8_t* from) {
#if defined(__AVX512F__)
  return {{(IntPart)_mm512_cvtepi8_epi32(_mm_loadu_si128((const __m128i*)from))}};
#elif defined(__AVX2__)
  return {{(IntPart)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)from)),
           (IntPart)_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i*)(from + 8)))}};
#else
  Ints v;
  for (int i = 0; i < kLanes; ++i) v.part[i / 4][i % 4] = from[i];
  return v;
#endif
}
NMT_INLINE Ints load(const int16_t* from) {
#if defined(__AVX512F__)
  return {{(IntPart)_mm512_cvtepi16_epi32(_mm256_loadu_si256((const __m256i*)from))}};
#elif defined(__AVX2__)
  return {{(IntPart)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i*)from)),
           (IntPart)_mm256_cvtepi16_epi32(_mm_loadu_si128((const __m128i*)(from + 8)))}};
#else
  Ints v;
  for (int i = 0; i < kLanes; ++i) v.part[i / 4][i % 4] = from[i];
  return v;
#endif
}
NMT_INLINE Floats converted(Ints v) {
  Floats result;
  NMT_EACH_PART result.part[p] = __builtin_convertvector(v.part[p], FloatPart);
  return result;
}

}  // namespace
}  // namespace nmt
