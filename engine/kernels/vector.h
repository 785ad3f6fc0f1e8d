// Vectors of 16 lanes, on every instruction set: one register of AVX512, two of AVX2, four of NEON or SSE2.
//
// Everything except products is written once, with these. Operations work lane by lane and sums over lanes have one
// fixed order, so that AVX2, AVX512 and NEON give the same bytes. The portable path lacks a fused multiply-add: it
// rounds product and sum separately. Each set has a header of its own (vector_SET.h) with:
//   kParts                        registers of a vector
//   fma, max, min                 of two parts; max and min return the second operand if one is NaN
//   sum, largest                  over the lanes, by halving, in the same order on every instruction set
//   load, store of Half           rounds to nearest even; keys and values of integer models
//   store of uint8_t and int16_t  narrows integers that fit
//   kStoresLowBits                whether these stores also narrow others, to their lower bits
//   above                         a bit for each lane whose first operand is the larger one
//   load of int8_t and int16_t    16 stored integers without conversion
#pragma once

#include <cstdint>
#include <cstring>
#include <initializer_list>
#include <utility>

#if defined(__AVX512F__)
#include "kernels/vector_avx512.h"
#elif defined(__AVX2__)
#include "kernels/vector_avx2.h"
#elif defined(NMT_NEON)
#include "kernels/vector_neon.h"
#elif defined(__wasm_simd128__)
#include "kernels/vector_simd128.h"
#else
#include "kernels/vector_portable.h"
#endif

namespace nmt {
namespace {  // one copy per instruction set

template <class F, size_t... I>
NMT_INLINE void unrolled_(F f, std::index_sequence<I...>) {
  (f(std::integral_constant<int, (int)I>{}), ...);
}
// f(0), f(1), ..., f(N - 1), unrolled: compilers keep arrays in registers only if all indices are constants.
template <int N, class F>
NMT_INLINE void unrolled(F f) {
  unrolled_(f, std::make_index_sequence<N>{});
}

NMT_INLINE Floats load(const float* from) {
  Floats v;
  NMT_EACH_PART(p) v.part[p] = *((const StoredFloats*)from + p);
  return v;
}
NMT_INLINE void store(float* to, Floats v) {
  NMT_EACH_PART(p) *((StoredFloats*)to + p) = v.part[p];
}
NMT_INLINE Floats all(float x) {
  Floats v;
  NMT_EACH_PART(p) v.part[p] = x - FloatPart{};
  return v;
}
NMT_INLINE Ints all_int(int32_t x) {
  Ints v;
  NMT_EACH_PART(p) v.part[p] = x - IntPart{};
  return v;
}

#define NMT_OPERATOR(op)                                 \
  NMT_INLINE Floats operator op(Floats a, Floats b) {    \
    NMT_EACH_PART(p) a.part[p] = a.part[p] op b.part[p]; \
    return a;                                            \
  }
NMT_OPERATOR(+)
NMT_OPERATOR(-)
NMT_OPERATOR(*)
#undef NMT_OPERATOR

NMT_INLINE Floats fma(Floats a, Floats b, Floats c) {  // a * b + c
  NMT_EACH_PART(p) c.part[p] = fma(a.part[p], b.part[p], c.part[p]);
  return c;
}
NMT_INLINE Floats max(Floats a, Floats b) {
  NMT_EACH_PART(p) a.part[p] = max(a.part[p], b.part[p]);
  return a;
}
NMT_INLINE Floats min(Floats a, Floats b) {
  NMT_EACH_PART(p) a.part[p] = min(a.part[p], b.part[p]);
  return a;
}
NMT_INLINE Floats magnitude(Floats a) {
  NMT_EACH_PART(p) a.part[p] = (FloatPart)((IntPart)a.part[p] & 0x7FFFFFFF);
  return a;
}
// Selects a where the mask is -1, else b.
NMT_INLINE Floats choose(Ints mask, Floats a, Floats b) {
  NMT_EACH_PART(p) {
    a.part[p] = (FloatPart)((mask.part[p] & (IntPart)a.part[p]) | (~mask.part[p] & (IntPart)b.part[p]));
  }
  return a;
}
// A mask from the 16 bits of a word: lane i is -1 where bit i is set.
NMT_INLINE Ints bits(uint32_t word) {
  Ints v;
  NMT_EACH_PART(p) {
    IntPart place;
    for (int i = 0; i < kPartLanes; ++i) place[i] = 1 << (p * kPartLanes + i);
    v.part[p] = ((place & (int32_t)word) == place);
  }
  return v;
}
// -1 in the lanes below count.
NMT_INLINE Ints below(int count) { return bits(count >= kLanes ? 0xFFFFu : (1u << count) - 1); }

template <size_t... I>
NMT_INLINE void interleave_pairs_(Floats& a, Floats& b, std::index_sequence<I...>) {
  NMT_EACH_PART(p) {
    const FloatPart x = a.part[p], y = b.part[p];
    a.part[p] = __builtin_shufflevector(x, y, (I / 4 * 4 + I % 4 / 2 + I % 2 * kPartLanes)...);
    b.part[p] = __builtin_shufflevector(x, y, (I / 4 * 4 + 2 + I % 4 / 2 + I % 2 * kPartLanes)...);
  }
}
// In each four lanes, a becomes a0 b0 a1 b1, and b becomes a2 b2 a3 b3.
NMT_INLINE void interleave_pairs(Floats& a, Floats& b) {
  interleave_pairs_(a, b, std::make_index_sequence<kPartLanes>{});
}
// Transposes four vectors as four matrices of 4 x 4 lanes beside each other.
NMT_INLINE void transpose(Floats (&rows)[4]) {
  interleave_pairs(rows[0], rows[2]);
  interleave_pairs(rows[1], rows[3]);
  interleave_pairs(rows[0], rows[1]);
  interleave_pairs(rows[2], rows[3]);
}

// The lanes of a vector as an array, for rare operations.
struct Lanes {
  alignas(64) float at[kLanes];
  explicit NMT_INLINE Lanes(Floats v) { std::memcpy(at, &v, sizeof v); }
};

NMT_INLINE Ints operator+(Ints a, Ints b) {
  NMT_EACH_PART(p) a.part[p] = a.part[p] + b.part[p];
  return a;
}

// Rounds to nearest, ties to even, below 2^22 in magnitude: adding 1.5 * 2^23 leaves the integer in the mantissa.
constexpr float kRounder = 12582912.0f;
constexpr int32_t kRounderBits = 0x4B400000;
NMT_INLINE Ints rounded(Floats v) {
  Ints result;
  NMT_EACH_PART(p) result.part[p] = (IntPart)(v.part[p] + kRounder) - kRounderBits;
  return result;
}

// Stores the rounded sums of values and an even shift, which the type of the integers can hold.
template <class Integer>
NMT_INLINE void store_rounded(Integer* to, Floats v, int shift) {
  Ints result;
  NMT_EACH_PART(p) result.part[p] = (IntPart)(v.part[p] + (kRounder + (float)shift));
  if constexpr (!kStoresLowBits) result = result + all_int(-kRounderBits);
  store(to, result);
}

// e^x with a relative error below 3e-7; 0 to within 1e-38 for x below -87.
NMT_INLINE Floats exponential(Floats x) {
  x = max(x, all(-87.0f));
  const Floats scaled = x * all(1.44269504f);
  Floats whole, result;
  NMT_EACH_PART(p) whole.part[p] = (scaled.part[p] + kRounder) - kRounder;
  Floats rest = fma(whole, all(-0.693145752f), x);  // ln 2 in two parts against cancellation (Cody and Waite)
  rest = fma(whole, all(-1.42860677e-6f), rest);
  Floats power = all(1.0f / 720);
  for (float factor : {1.0f / 120, 1.0f / 24, 1.0f / 6, 0.5f, 1.0f, 1.0f}) power = fma(power, rest, all(factor));
  const Ints exponent = rounded(scaled);
  NMT_EACH_PART(p) result.part[p] = (FloatPart)((IntPart)power.part[p] + (exponent.part[p] << 23));
  return result;
}

NMT_INLINE Floats converted(Ints v) {
  Floats result;
  NMT_EACH_PART(p) result.part[p] = __builtin_convertvector(v.part[p], FloatPart);
  return result;
}

}  // namespace
}  // namespace nmt
