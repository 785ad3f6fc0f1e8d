// Attention of many queries over many positions. Blocks of keys and of values stay in a near cache while all queries
// pass them; each sum has the order that it has in kernels/attention.h, so the results are the same.
#pragma once

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace nmt {
namespace {

constexpr int kLong = 512;            // positions from which attention is computed in blocks
constexpr int kBlockedQueries = 12;   // queries that pass a block, whose scores fit into scratch
constexpr int kBlockPositions = 256;  // keys or values of a block: 64 KiB of a head of 64 channels in float32
constexpr int kSkewed = 16;           // floats between rows of scores, which would share sets of the cache

// Weighted sums over the positions [from, to) are added to those in `contexts`.
template <class Element, int kQueries, int kVectors>
NMT_INLINE void summed_on(const Cache& cache, size_t head_offset, int channels, const float* weights, int padded,
                          int from, int to, float* contexts, int stride) {
  Floats total[kQueries * kVectors];
  unrolled<kQueries>([&](auto q) NMT_LAMBDA {
    unrolled<kVectors>([&](auto v) NMT_LAMBDA {
      total[q * kVectors + v] = from ? load(contexts + q * stride + v * kLanes) : all(0.f);
    });
  });
  add_values<Element, kQueries, kVectors>(cache, head_offset, channels, weights, padded, from, to, total);
  unrolled<kQueries>([&](auto q) NMT_LAMBDA {
    unrolled<kVectors>([&](auto v) NMT_LAMBDA { store(contexts + q * stride + v * kLanes, total[q * kVectors + v]); });
  });
}

// Computes whole blocks of queries, head by head, and returns how many queries these are. Score: as for `attended`.
template <class Element, int kQueries, class Score>
int attended_in_blocks(const HeadShape& heads, const Score& score, const float* queries, int count, int stride,
                       const Cache& cache, float* contexts, int context_stride, float* scratch) {
  const int padded = (cache.length + kPagePositions - 1) / kPagePositions * kPagePositions;
  const int row_stride = padded + kSkewed;
  const int channels = value_channels(heads), whole = count / kBlockedQueries * kBlockedQueries;
  const size_t width = (size_t)heads.count * heads.channels;
  const auto blocks = [&](auto compute) NMT_LAMBDA {
    for (int from = 0; from < cache.length; from += kBlockPositions)
      for (int q = 0; q < kBlockedQueries; q += kQueries)
        compute(from, from + kBlockPositions < cache.length ? from + kBlockPositions : cache.length, q);
  };
  for (int h = 0; h < heads.count; ++h)
    for (int first = 0; first < whole; first += kBlockedQueries) {
      const float* const rows = queries + (size_t)first * stride + h * heads.channels;
      float* const to = contexts + (size_t)first * context_stride + h * channels;
      Floats most[kBlockedQueries];
      for (Floats& one : most) one = all(-1e30f);
      blocks([&](int from, int last, int q) NMT_LAMBDA {
        for (int start = from; start < last; start += kPagePositions) {
          const int page = start / kPagePositions, left = last - start;
          const Element* const keys =
              (const Element*)(cache.pages[page] + cache.offset) + (size_t)h * heads.channels * kPagePositions;
          Floats scores[kQueries];
          score.template scored<kQueries>(keys, rows + (size_t)q * stride, stride, heads.channels, scores);
          add_biases<kQueries>(score, h, page, first + q, scores);
          unrolled<kQueries>([&](auto i) NMT_LAMBDA {
            if (left < kPagePositions) scores[i] = choose(below(left), scores[i], all(-1e30f));
            most[q + i] = max(most[q + i], scores[i]);
            store(scratch + (size_t)(q + i) * row_stride + start, scores[i]);
          });
        }
      });
      Floats inverse[kBlockedQueries];
      for (int q = 0; q < kBlockedQueries; ++q)
        inverse[q] = powers(scratch + (size_t)q * row_stride, cache.length, padded, most[q]);
      blocks([&](int from, int last, int q) NMT_LAMBDA {
        const float* const weights = scratch + (size_t)q * row_stride;
        float* const sums = to + (size_t)q * context_stride;
        const size_t values = (width + (size_t)h * channels) * kPagePositions;
        int c = 0;
        for (; c + 2 * kLanes <= channels; c += 2 * kLanes)
          summed_on<Element, kQueries, 2>(cache, values + c, channels, weights, row_stride, from, last, sums + c,
                                          context_stride);
        for (; c < channels; c += kLanes)
          summed_on<Element, kQueries, 1>(cache, values + c, channels, weights, row_stride, from, last, sums + c,
                                          context_stride);
      });
      for (int q = 0; q < kBlockedQueries; ++q)
        for (int c = 0; c < channels; c += kLanes) {
          float* const sums = to + (size_t)q * context_stride + c;
          store(sums, load(sums) * inverse[q]);
        }
    }
  return whole;
}

}  // namespace
}  // namespace nmt
