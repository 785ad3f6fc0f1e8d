// Relative positions (Raffel et al. 2020): attention scores have a bias for the distance between query and key. Near
// distances have a bucket each, farther ones share buckets that grow with them.
#pragma once

#include <cstddef>

#include "runtime/buffer.h"

namespace nmt {

class RelativePositions {
 public:
  // buckets: [heads][count]. far: the distance from which all share the last bucket. both_directions: half of the
  // buckets are for keys after the query; otherwise there are no such keys.
  void set(const float* buckets, int heads, int count, int far, int positions, bool both_directions);
  // The biases of a query in the first head, of the key at position 0 and of those after it; null without any.
  const float* of(int query) const { return table_.data() ? table_.data() + positions_ - 1 - query : nullptr; }
  size_t stride() const { return stride_; }  // floats from head to head

 private:
  int positions_ = 0;
  size_t stride_ = 0;
  mutable Buffer<float> table_;  // [heads][distance, from 1 - positions], with room for a page after the last key
};

}  // namespace nmt
