// The bounds on stored weights that keep every sum of a product exact (kernels/dots.h, nmt_frontier.model.native_quantization).
#pragma once

#include <cstdlib>

#include "kernels/kernels.h"

namespace nmt {

constexpr int kLaneBound = 128;  // largest sum of int8 weights of one sign in a 16-bit lane: 255 x 128 < 2^15
constexpr int kShortBound = (int)((1u << 31) / kShortInput);  // sum of the magnitudes of a channel's int16 weights

constexpr int kStepBound = (int)((1u << 31) / (255 * 8 * kStepInputs));  // sum of the magnitudes of a channel's steps

// Whether the sums of this panel stay exact for all inputs; true for float32. Of int4, a panel of steps.
bool bounded(Type type, const char* panel, int inputs);

// The largest magnitude of a right offset: 8 inputs of int8 have two lanes of each sign.
inline bool bounded_offset(Type type, int offset, int inputs) {
  constexpr int64_t kNibbles = 128 * 8 * 127, kBytes = 128 * 2 * kLaneBound / 8;
  return std::abs((int64_t)offset) <= (type == Type::int4 ? kNibbles : kBytes) * inputs;
}

}  // namespace nmt
