// The bounds on stored weights that keep every sum of a product exact (kernels/dots.h, formats.native_model).
#pragma once

#include <cstdlib>

#include "kernels/kernels.h"

namespace nmt {

constexpr int kLaneBound = 128;  // largest sum of int8 weights of one sign in a 16-bit lane: 255 x 128 < 2^15
constexpr int kShortBound = (int)((1u << 31) / kShortInput);  // sum of the magnitudes of a channel's int16 weights

// Whether the sums of this panel stay exact for all inputs; true for float32.
bool bounded(Type type, const char* panel, int inputs);

// The largest magnitude of a right offset: a step of 8 inputs has two lanes of each sign.
inline bool bounded_offset(int offset, int inputs) {
  return std::abs((long)offset) <= 128L * 2 * kLaneBound * inputs / 8;
}

}  // namespace nmt
