// Vectors of NEON, which every AArch64 has: four registers.
#pragma once

#include <arm_neon.h>

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

NMT_INLINE FloatPart fma(FloatPart a, FloatPart b, FloatPart c) { return vfmaq_f32(c, a, b); }
// Not vmaxq_f32 and vmaxnmq_f32, which treat NaN in two other ways.
NMT_INLINE FloatPart max(FloatPart a, FloatPart b) { return vbslq_f32(vcgtq_f32(a, b), a, b); }
NMT_INLINE FloatPart min(FloatPart a, FloatPart b) { return vbslq_f32(vcltq_f32(a, b), a, b); }
NMT_INLINE uint32_t above(Floats a, Floats b) {
  const int32x4_t places = {0, 1, 2, 3};
  uint32_t lanes = 0;
  NMT_EACH_PART(p) {
    const uint32x4_t ones = vshrq_n_u32(vcgtq_f32(a.part[p], b.part[p]), 31);
    lanes |= vaddvq_u32(vshlq_u32(ones, vaddq_s32(places, vdupq_n_s32(p * kPartLanes))));
  }
  return lanes;
}

// By halving, in the order of the other sets.
NMT_INLINE float sum(Floats v) {
  const float32x4_t a = vaddq_f32(vaddq_f32(v.part[0], v.part[2]), vaddq_f32(v.part[1], v.part[3]));
  const float32x2_t b = vadd_f32(vget_low_f32(a), vget_high_f32(a));
  return vget_lane_f32(b, 0) + vget_lane_f32(b, 1);
}
NMT_INLINE float largest(Floats v) {
  const FloatPart a = max(max(v.part[0], v.part[2]), max(v.part[1], v.part[3]));
  const FloatPart b = max(a, (FloatPart)vextq_f32(a, a, 2));
  return max(b, (FloatPart)vextq_f32(b, b, 1))[0];
}

NMT_INLINE Floats load(const Half* from) {
  Floats v;
  NMT_EACH_PART(p) v.part[p] = vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16((const uint16_t*)from + p * kPartLanes)));
  return v;
}
NMT_INLINE void store(Half* to, Floats v) {
  NMT_EACH_PART(p) vst1_u16((uint16_t*)to + p * kPartLanes, vreinterpret_u16_f16(vcvt_f16_f32(v.part[p])));
}

NMT_INLINE uint16x8_t narrow(IntPart a, IntPart b) {
  return vcombine_u16(vmovn_u32(vreinterpretq_u32_s32(a)), vmovn_u32(vreinterpretq_u32_s32(b)));
}
NMT_INLINE void store(uint8_t* to, Ints v) {
  vst1q_u8(to, vcombine_u8(vmovn_u16(narrow(v.part[0], v.part[1])), vmovn_u16(narrow(v.part[2], v.part[3]))));
}
NMT_INLINE void store(int16_t* to, Ints v) {
  vst1q_u16((uint16_t*)to, narrow(v.part[0], v.part[1]));
  vst1q_u16((uint16_t*)to + 8, narrow(v.part[2], v.part[3]));
}
NMT_INLINE Ints widened(int16x8_t low, int16x8_t high) {
  return {{vmovl_s16(vget_low_s16(low)), vmovl_s16(vget_high_s16(low)), vmovl_s16(vget_low_s16(high)),
           vmovl_s16(vget_high_s16(high))}};
}
NMT_INLINE Ints load(const int8_t* from) {
  const int8x16_t bytes = vld1q_s8(from);
  return widened(vmovl_s8(vget_low_s8(bytes)), vmovl_s8(vget_high_s8(bytes)));
}
NMT_INLINE Ints load(const int16_t* from) { return widened(vld1q_s16(from), vld1q_s16(from + 8)); }

}  // namespace
}  // namespace nmt
