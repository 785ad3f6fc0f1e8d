#include "transformer/relative_positions.h"

#include <algorithm>
#include <cmath>

#include "kernels/kernels.h"

namespace nmt {
namespace {

// The bucket of a key `distance` positions after its query, in float32 like the models were trained.
int bucket(int distance, int count, int far, bool both_directions) {
  int first = 0;
  if (both_directions) {
    count /= 2;
    if (distance > 0) first = count;
    distance = std::abs(distance);
  } else {
    distance = std::max(-distance, 0);
  }
  const int exact = count / 2;
  if (distance < exact) return first + distance;
  const float share = (float)std::log((double)((float)distance / (float)exact)) / (float)std::log((double)far / exact);
  return first + std::min(exact + (int)(share * (float)(count - exact)), count - 1);
}

}  // namespace

void RelativePositions::set(const float* buckets, int heads, int count, int far, int positions, bool both_directions) {
  positions_ = positions;
  const int last = (both_directions ? positions - 1 : 0) + kPagePositions;
  stride_ = (size_t)(positions - 1 + last);
  float* const to = table_.get((size_t)heads * stride_);
  for (int distance = 1 - positions; distance < last; ++distance) {
    const int from = bucket(distance, count, far, both_directions);
    for (int h = 0; h < heads; ++h) to[h * stride_ + (size_t)(distance + positions - 1)] = buckets[h * count + from];
  }
}

}  // namespace nmt
