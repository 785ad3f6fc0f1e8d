// The integer products of NEON: for any AArch64, with dot products (FEAT_DotProd), and with those of unsigned by signed
// bytes (FEAT_I8MM). The first two multiply signed bytes by signed ones, so they subtract 128 from all inputs.
#pragma once

#include <arm_neon.h>

#include "kernels/vector.h"

namespace nmt {
namespace {

struct ShortDot {
  using Sum = IntPart;
  using Vector = Ints;
  static constexpr int kGroups = 2;
  struct Weights {
    int16x8_t even, odd;  // of the inputs of two groups
  };
  static NMT_INLINE Weights load(const char* panel) {
    const int16x8_t first = vld1q_s16((const int16_t*)panel), second = vld1q_s16((const int16_t*)(panel + 64));
    return {vuzp1q_s16(first, second), vuzp2q_s16(first, second)};
  }
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    const int16x4_t inputs = vld1_s16((const int16_t*)row);
    int32x4_t total = vmlal_lane_s16(sum, vget_low_s16(weights.even), inputs, 0);
    total = vmlal_lane_s16(total, vget_low_s16(weights.odd), inputs, 1);
    total = vmlal_high_lane_s16(total, weights.even, inputs, 2);
    sum = vmlal_high_lane_s16(total, weights.odd, inputs, 3);
  }
};

struct ByteDot {
  using Sum = IntPart;
  using Vector = Ints;
  static constexpr int kGroups = 2;
  struct Weights {
    int8x16_t first, second;
  };
  static NMT_INLINE Weights load(const char* panel) {
    return {vld1q_s8((const int8_t*)panel), vld1q_s8((const int8_t*)panel + 64)};
  }
#if defined(__ARM_FEATURE_MATMUL_INT8)
  static constexpr bool kSubtracts = false;
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    const uint8x8_t inputs = vld1_u8((const uint8_t*)row);
    sum = vsudotq_lane_s32(vsudotq_lane_s32(sum, weights.first, inputs, 0), weights.second, inputs, 1);
  }
#else
  static constexpr bool kSubtracts = true;
  static NMT_INLINE int8x8_t signed_inputs(const char* row) {
    return vreinterpret_s8_u8(veor_u8(vld1_u8((const uint8_t*)row), vdup_n_u8(0x80)));
  }
#if defined(__ARM_FEATURE_DOTPROD)
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    const int8x8_t inputs = signed_inputs(row);
    sum = vdotq_lane_s32(vdotq_lane_s32(sum, weights.first, inputs, 0), weights.second, inputs, 1);
  }
#else
  // Four products in 16 bits, as on AVX2: inputs have -128..127 here, and the weights of one sign sum to at most 128.
  static NMT_INLINE void step(Sum& sum, const char* row, const Weights& weights) {
    const int32x2_t inputs = vreinterpret_s32_s8(signed_inputs(row));
    const int8x16_t first = vreinterpretq_s8_s32(vdupq_lane_s32(inputs, 0));
    const int8x16_t second = vreinterpretq_s8_s32(vdupq_lane_s32(inputs, 1));
    const int16x8_t low = vmlal_s8(vmull_s8(vget_low_s8(weights.first), vget_low_s8(first)),
                                   vget_low_s8(weights.second), vget_low_s8(second));
    const int16x8_t high = vmlal_high_s8(vmull_high_s8(weights.first, first), weights.second, second);
    sum = vpadalq_s16(sum, vpaddq_s16(low, high));
  }
#endif
#endif
  static NMT_INLINE void step_of_one(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
  static NMT_INLINE void step_of_many(Sum& sum, const char* row, const Weights& weights) { step(sum, row, weights); }
};

struct NibbleDot {
  using Sum = IntPart;
  using Part = IntPart;
  using Vector = Ints;
  using Weights = ByteDot::Weights;
  static constexpr bool kSubtracts = ByteDot::kSubtracts;
  static NMT_INLINE Weights load(const char* panel) {
    const int8x16_t both = vld1q_s8((const int8_t*)panel);
    return {vshrq_n_s8(vshlq_n_s8(both, 4), 4), vshrq_n_s8(both, 4)};
  }
  static NMT_INLINE void step(IntPart& part, const char* row, const Weights& weights) {
    ByteDot::step(part, row, weights);
  }
  static NMT_INLINE void add(Sum& sum, IntPart part, IntPart multiple) { sum = vmlaq_s32(sum, part, multiple); }
};

}  // namespace
}  // namespace nmt
