// Reading of memory alone, to measure what a core gets from its caches.
#pragma once

#include "kernels/vector.h"

namespace nmt {
namespace {

int32_t read(const char* from, size_t bytes) {
  constexpr int kSums = 8;  // so that no addition waits for the one before
  IntPart sums[kSums] = {};
  for (size_t i = 0; i < bytes; i += kSums * kPartBytes) {
#pragma GCC unroll 8
    for (int s = 0; s < kSums; ++s) sums[s] += *(const StoredInts*)(from + i + s * kPartBytes);
  }
  for (int s = 1; s < kSums; ++s) sums[0] += sums[s];
  return sums[0][0];
}

}  // namespace
}  // namespace nmt
