// Half precision without instructions for it: the same bits as those of F16C and of AArch64. Compilers vectorise it.
#pragma once

#include "kernels/vector_types.h"

namespace nmt {
namespace {

NMT_INLINE float as_float(uint32_t bits) {
  float value;
  std::memcpy(&value, &bits, 4);
  return value;
}
NMT_INLINE uint32_t as_bits(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, 4);
  return bits;
}

constexpr uint32_t kRebias = (127 - 15) << 23;  // from the exponent of a half to that of a float

NMT_INLINE float widened(Half half) {
  const uint32_t sign = (uint32_t)(half.bits & 0x8000) << 16, rest = (uint32_t)(half.bits & 0x7FFF) << 13;
  const uint32_t exponent = rest & 0x0F800000;
  // Without an exponent, a half is a multiple of 2^-24: a float with the exponent of 2^-14, less that.
  const uint32_t small = as_bits(as_float(rest + (113u << 23)) - as_float(113u << 23));
  const uint32_t large = (rest + 2 * kRebias) | (rest & 0x007FFFFF ? 0x00400000 : 0);  // infinity, or a quiet NaN
  return as_float(sign | (exponent == 0 ? small : exponent == 0x0F800000 ? large : rest + kRebias));
}

// Rounds to nearest, ties to even.
NMT_INLINE Half narrowed(float value) {
  constexpr uint32_t kInfinity = 0x7F800000, kOverflow = 0x477FF000, kSmall = 113u << 23;  // 65,520 rounds to infinity
  const uint32_t bits = as_bits(value), sign = bits >> 16 & 0x8000, rest = bits & 0x7FFFFFFF;
  const uint32_t usual = (rest - kRebias + 0x0FFF + (rest >> 13 & 1)) >> 13;
  const uint32_t small = as_bits(as_float(rest) + 0.5f) - as_bits(0.5f);  // the last bit of 0.5 is 2^-24
  const uint32_t large = rest > kInfinity ? 0x7E00 | (rest >> 13 & 0x03FF) : 0x7C00;
  return {(uint16_t)(sign | (rest >= kOverflow ? large : rest < kSmall ? small : usual))};
}

}  // namespace
}  // namespace nmt
