// Vectors of WebAssembly's SIMD: four registers. There is no fused multiply-add, so they compute what the portable ones
// do, and give the same bytes.
#pragma once

#include <wasm_simd128.h>

#include <cstdint>
#include <cstring>

namespace nmt {
namespace {

constexpr int kParts = 4;
constexpr bool kStoresLowBits = true;

}  // namespace
}  // namespace nmt

#include "kernels/vector_types.h"

namespace nmt {
namespace {

NMT_INLINE FloatPart fma(FloatPart a, FloatPart b, FloatPart c) { return a * b + c; }  // rounds twice
// Pseudo-maximum and -minimum are one comparison of the second operand with the first, unlike f32x4.max and min.
NMT_INLINE FloatPart max(FloatPart a, FloatPart b) { return (FloatPart)wasm_f32x4_pmax((v128_t)b, (v128_t)a); }
NMT_INLINE FloatPart min(FloatPart a, FloatPart b) { return (FloatPart)wasm_f32x4_pmin((v128_t)b, (v128_t)a); }
NMT_INLINE uint32_t above(Floats a, Floats b) {
  uint32_t lanes = 0;
  NMT_EACH_PART(p) lanes |= wasm_i32x4_bitmask(wasm_f32x4_gt((v128_t)a.part[p], (v128_t)b.part[p])) << (p * kPartLanes);
  return lanes;
}

// By halving, in the order of the other sets.
NMT_INLINE float sum(Floats v) {
  const FloatPart a = (v.part[0] + v.part[2]) + (v.part[1] + v.part[3]);
  return (a[0] + a[2]) + (a[1] + a[3]);
}
NMT_INLINE float largest(Floats v) {
  const FloatPart a = max(max(v.part[0], v.part[2]), max(v.part[1], v.part[3]));
  const FloatPart b = max(a, __builtin_shufflevector(a, a, 2, 3, 0, 1));
  return max(b, __builtin_shufflevector(b, b, 1, 0, 3, 2))[0];
}

// Half precision is kept as floats that are rounded to it: reading takes no time.
NMT_INLINE Floats load(const Half* from) {
  Floats v;
  NMT_EACH_PART(p) v.part[p] = *((const StoredFloats*)from + p);
  return v;
}
NMT_INLINE void store(Half* to, Floats v) {
  NMT_EACH_PART(p) {
    const IntPart bits = (IntPart)v.part[p], size = bits & 0x7FFFFFFF;
    const IntPart usual = (size + 0x0FFF + (size >> 13 & 1)) & ~0x1FFF;  // to nearest, ties to even
    const IntPart small = (IntPart)((FloatPart)size + 0.5f - 0.5f);      // the last bit of 0.5 is 2^-24
    const IntPart large = size > 0x7F800000 ? size : 0x7F800000 - IntPart{};
    const IntPart rounded = size >= 0x477FF000 ? large : size < (113 << 23) ? small : usual;  // 65,520 is infinity
    *((StoredInts*)to + p) = rounded | (bits & (int32_t)0x80000000);
  }
}

// The lower 16 bits of two parts.
NMT_INLINE v128_t narrow(IntPart a, IntPart b) {
  return wasm_i16x8_shuffle((v128_t)a, (v128_t)b, 0, 2, 4, 6, 8, 10, 12, 14);
}
NMT_INLINE void store(uint8_t* to, Ints v) {
  const v128_t low = narrow(v.part[0], v.part[1]), high = narrow(v.part[2], v.part[3]);
  wasm_v128_store(to, wasm_i8x16_shuffle(low, high, 0, 2, 4, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 26, 28, 30));
}
NMT_INLINE void store(int16_t* to, Ints v) {
  wasm_v128_store(to, narrow(v.part[0], v.part[1]));
  wasm_v128_store(to + 8, narrow(v.part[2], v.part[3]));
}
NMT_INLINE Ints load(const int16_t* from) {
  Ints v;
  NMT_EACH_PART(p) v.part[p] = (IntPart)wasm_i32x4_load16x4(from + p * kPartLanes);
  return v;
}
NMT_INLINE Ints load(const int8_t* from) {
  const v128_t low = wasm_i16x8_load8x8(from), high = wasm_i16x8_load8x8(from + 8);
  return {{(IntPart)wasm_i32x4_extend_low_i16x8(low), (IntPart)wasm_i32x4_extend_high_i16x8(low),
           (IntPart)wasm_i32x4_extend_low_i16x8(high), (IntPart)wasm_i32x4_extend_high_i16x8(high)}};
}

}  // namespace
}  // namespace nmt
