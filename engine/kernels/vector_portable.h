// Vectors without intrinsics, in four parts of 16 bytes, which compilers map to SSE2 or what else a CPU has.
#pragma once

#include <cstdint>
#include <cstring>

namespace nmt {
namespace {

constexpr int kParts = 4;
constexpr bool kStoresLowBits = true;

}  // namespace
}  // namespace nmt

#include "kernels/half.h"
#include "kernels/vector_types.h"

namespace nmt {
namespace {

NMT_INLINE FloatPart fma(FloatPart a, FloatPart b, FloatPart c) { return a * b + c; }  // rounds twice
NMT_INLINE FloatPart max(FloatPart a, FloatPart b) { return a > b ? a : b; }
NMT_INLINE FloatPart min(FloatPart a, FloatPart b) { return a < b ? a : b; }
NMT_INLINE uint32_t above(Floats a, Floats b) {
  uint32_t lanes = 0;
  NMT_EACH_PART(p)
    for (int i = 0; i < kPartLanes; ++i) lanes |= (uint32_t)(a.part[p][i] > b.part[p][i]) << (p * kPartLanes + i);
  return lanes;
}

// By halving, in the order of the other sets.
NMT_INLINE float sum(Floats v) {
  float lanes[kLanes];
  std::memcpy(lanes, &v, sizeof v);
  for (int half = kLanes / 2; half; half /= 2)
    for (int i = 0; i < half; ++i) lanes[i] += lanes[i + half];
  return lanes[0];
}
NMT_INLINE float largest(Floats v) {
  float lanes[kLanes];
  std::memcpy(lanes, &v, sizeof v);
  for (int i = 1; i < kLanes; ++i) lanes[0] = lanes[0] < lanes[i] ? lanes[i] : lanes[0];
  return lanes[0];
}

NMT_INLINE Floats load(const Half* from) {
  Floats v;
  float lanes[kLanes];
  for (int i = 0; i < kLanes; ++i) lanes[i] = widened(from[i]);
  std::memcpy(&v, lanes, sizeof v);
  return v;
}
NMT_INLINE void store(Half* to, Floats v) {
  float lanes[kLanes];
  std::memcpy(lanes, &v, sizeof v);
  for (int i = 0; i < kLanes; ++i) to[i] = narrowed(lanes[i]);
}

template <class Integer>
NMT_INLINE void store_integers(Integer* to, Ints v) {
  NMT_EACH_PART(p)
    for (int i = 0; i < kPartLanes; ++i) *to++ = (Integer)v.part[p][i];
}
NMT_INLINE void store(uint8_t* to, Ints v) { store_integers(to, v); }
NMT_INLINE void store(int16_t* to, Ints v) { store_integers(to, v); }

template <class Integer>
NMT_INLINE Ints load_integers(const Integer* from) {
  Ints v;
  NMT_EACH_PART(p)
    for (int i = 0; i < kPartLanes; ++i) v.part[p][i] = *from++;
  return v;
}
NMT_INLINE Ints load(const int8_t* from) { return load_integers(from); }
NMT_INLINE Ints load(const int16_t* from) { return load_integers(from); }

}  // namespace
}  // namespace nmt
