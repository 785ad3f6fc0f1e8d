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

float log_sum(const float* scores, int columns) {
  Floats most = all(kNever), total = all(0.f);
  for (int i = 0; i < columns; i += kLanes) most = max(most, load(scores + i));
  const float largest_score = largest(most);
  for (int i = 0; i < columns; i += kLanes) total = total + exponential(load(scores + i) - all(largest_score));
  return largest_score + std::log(sum(total));
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
