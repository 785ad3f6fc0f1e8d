// Scores of the output layer: the best column, the softmax's sum, the best few columns.
#pragma once

#include <cmath>

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace nmt {
namespace {

// Gathers the scores of some columns, padded with kNever to a multiple of 16.
void pick(const float* scores, const int32_t* columns, int count, float* to) {
  int i = 0;
  for (; i < count; ++i) to[i] = scores[columns[i]];
  for (; i % kLanes; ++i) to[i] = kNever;
}

int best(const float* scores, int columns) {
  Floats most = all(kNever);
  for (int i = 0; i < columns; i += kLanes) most = max(most, load(scores + i));
  const float wanted = largest(most);
  for (int i = 0; i < columns; i += kLanes) {
    const Floats block = load(scores + i);
    if (largest(block) < wanted) continue;
    for (int lane = 0; lane < kLanes; ++lane)
      if (scores[i + lane] == wanted) return i + lane;
  }
  return 0;
}

void maxima(const float* scores, int columns, float* to) {
  for (int i = 0; i < columns; i += kLanes) to[i / kLanes] = largest(load(scores + i));
}

int at_least(const float* scores, int columns, float least, int32_t* places) {
  int found = 0;
  for (int i = 0; i < columns; i += kLanes)
    for (uint32_t lanes = ~above(all(least), load(scores + i)) & 0xFFFF; lanes; lanes &= lanes - 1)
      places[found++] = i + __builtin_ctz(lanes);
  return found;
}

void weigh(const float* scores, int columns, float most, float factor, float* weights, float* sums) {
  constexpr float kLeast = -85;
  for (int i = 0; i < columns; i += kLanes) {
    const Floats power = (load(scores + i) - all(most)) * all(factor);
    const Floats weight = choose(bits(above(power, all(kLeast))), exponential(power), all(0.f));
    store(weights + i, weight);
    sums[i / kLanes] = sum(weight);
  }
}

float log_sum(const float* scores, int columns) {
  Floats most = all(kNever), total = all(0.f);
  for (int i = 0; i < columns; i += kLanes) most = max(most, load(scores + i));
  const float largest_score = largest(most);
  for (int i = 0; i < columns; i += kLanes) total = total + exponential(load(scores + i) - all(largest_score));
  return largest_score + (float)std::log((double)sum(total));  // float's differs between C libraries
}

// log x for x above 0, with an error below 1e-7 for x from 0.01 to 1: 2 artanh((f - 1) / (f + 1)) + e log 2, where
// x = f 2^e and f is between the roots of 1/2 and 2.
NMT_INLINE Floats logarithm(Floats x) {
  constexpr int32_t kRootOfHalf = 0x3F3504F3;
  Ints exponent;
  Floats part;
  NMT_EACH_PART(p) {
    exponent.part[p] = ((IntPart)x.part[p] - kRootOfHalf) >> 23;
    part.part[p] = (FloatPart)((IntPart)x.part[p] - (exponent.part[p] << 23));
  }
  const Floats ratio = quotient(part - all(1.f), part + all(1.f)), square = ratio * ratio;
  Floats series = all(1.f / 9);
  for (float factor : {1.f / 7, 1.f / 5, 1.f / 3}) series = fma(series, square, all(factor));
  const Floats twice = ratio + ratio;
  return fma(converted(exponent), all(0.693147181f), fma(twice * square, series, twice));
}

// The largest probability is factored out, so that small ones keep their order and kNever stays.
void mean_log(const float* const* scores, const float* log_sums, int models, int columns, float* to) {
  const Floats share = all(1.f / (float)models);
  for (int i = 0; i < columns; i += kLanes) {
    Floats most = load(scores[0] + i) - all(log_sums[0]);
    for (int m = 1; m < models; ++m) most = max(most, load(scores[m] + i) - all(log_sums[m]));
    Floats total = all(0.f);
    for (int m = 0; m < models; ++m) total = total + exponential(load(scores[m] + i) - all(log_sums[m]) - most);
    store(to + i, most + logarithm(total * share));
  }
}

int top(const float* scores, int columns, int most, float* values, int32_t* places) {
  int found = 0;
  float threshold = kNever;  // scores must exceed it
  for (int i = 0; i < columns; i += kLanes) {
    for (uint32_t lanes = above(load(scores + i), all(threshold)); lanes; lanes &= lanes - 1) {
      const int lane = __builtin_ctz(lanes);
      const float value = scores[i + lane];
      if (!(value > threshold)) continue;  // an earlier lane has raised it
      int place = found < most ? found++ : most - 1;
      for (; place > 0 && values[place - 1] < value; --place) {
        values[place] = values[place - 1];
        places[place] = places[place - 1];
      }
      values[place] = value;
      places[place] = i + lane;
      if (found == most) threshold = values[most - 1];
    }
  }
  return found;
}

uint32_t repeats(const int32_t* pieces, const int32_t* ending, int size) {
  Ints equal = all_int(-1);
  for (int i = 0; i < size; ++i)
    NMT_EACH_PART(p) equal.part[p] &= *((const StoredInts*)(pieces + i) + p) == ending[i] - IntPart{};
  uint32_t places = 0;
  NMT_EACH_PART(p)
    for (int i = 0; i < kPartLanes; ++i) places |= (uint32_t)(equal.part[p][i] & 1) << (p * kPartLanes + i);
  return places;
}

}  // namespace
}  // namespace nmt
