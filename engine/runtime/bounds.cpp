#include "runtime/bounds.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

namespace nmt {
namespace {

constexpr int kGroupBytes = 4 * kPanel;  // of all channels

// Two groups of four inputs are one step. Of its eight inputs, 0, 1, 4 and 5 share a lane, and 2, 3, 6 and 7.
bool lanes_bounded(const char* panel, int inputs) {
  constexpr int kPairs = kGroupBytes / 2;
  int16_t most[kPairs] = {}, least[kPairs] = {};
  for (int input = 0; input < inputs; input += 8, panel += 2 * kGroupBytes) {
    int16_t first[kPairs], second[kPairs];
    std::memcpy(first, panel, sizeof first);
    std::memcpy(second, panel + kGroupBytes, sizeof second);
    for (int i = 0; i < kPairs; ++i) {  // unsigned: a negative number cannot be shifted left; compilers vectorise it
      const int16_t a = (int16_t)((uint16_t)first[i] << 8) >> 8, b = first[i] >> 8;
      const int16_t c = (int16_t)((uint16_t)second[i] << 8) >> 8, d = second[i] >> 8;
      const int16_t zero = 0;
      const int16_t above = std::max(a, zero) + std::max(b, zero) + std::max(c, zero) + std::max(d, zero);
      most[i] = std::max(most[i], above);
      least[i] = std::min(least[i], (int16_t)(a + b + c + d - above));
    }
  }
  return *std::max_element(most, most + kPairs) <= kLaneBound &&
         *std::min_element(least, least + kPairs) >= -kLaneBound;
}

bool channels_bounded(const char* panel, int inputs) {
  int32_t sums[2 * kPanel] = {};  // below 2^31 for the widest products: 32,768 inputs of at most 2^15
  for (int input = 0; input < inputs; input += 2, panel += kGroupBytes) {
    int16_t weights[2 * kPanel];
    std::memcpy(weights, panel, sizeof weights);
    for (int i = 0; i < 2 * kPanel; ++i) sums[i] += std::abs((int)weights[i]);
  }
  for (int channel = 0; channel < kPanel; ++channel)
    if ((int64_t)sums[2 * channel] + sums[2 * channel + 1] > kShortBound) return false;
  return true;
}

// panel: its steps; all weights of a step are -8..7 times it.
bool steps_bounded(const char* panel, int inputs) {
  int32_t sums[kPanel] = {};
  for (int step = 0; step < inputs / kStepInputs; ++step, panel += kPanel)
    for (int channel = 0; channel < kPanel; ++channel) sums[channel] += std::abs((int)(int8_t)panel[channel]);
  return *std::max_element(sums, sums + kPanel) <= kStepBound;
}

}  // namespace

bool bounded(Type type, const char* panel, int inputs) {
  if (type == Type::float32) return true;
  if (type == Type::int4) return steps_bounded(panel, inputs);
  return type == Type::int8 ? lanes_bounded(panel, inputs) : channels_bounded(panel, inputs);
}

}  // namespace nmt
