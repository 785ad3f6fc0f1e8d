// Attention of queries over pages of keys and values.
//
// Keys lie transposed, 16 positions beside each other, so that scores need no sums over lanes; values lie row by row.
// The order of sums is the same for one query and for several.
#pragma once

#include "kernels/gates.h"
#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace nmt {
namespace {

// A vector is a page's positions in attention, and a panel's channels in products.
static_assert(kLanes == kPagePositions && kLanes == kPanel);

template <class Element>
void write_elements(const HeadShape& heads, const float* keys, const float* values, int place, char* page) {
  const int width = heads.count * heads.channels, channels = value_channels(heads);
  Element* const key_page = (Element*)page;
  Element* const value_page = key_page + (size_t)width * kPagePositions;
  for (int i = 0; i < width; i += kLanes) {
    Element column[kLanes];
    store(column, load(keys + i));
    for (int c = 0; c < kLanes; ++c)
      std::memcpy(key_page + (size_t)(i + c) * kPagePositions + place, column + c, sizeof(Element));
  }
  for (int h = 0; h < heads.count; ++h)
    for (int c = 0; c < channels; c += kLanes)
      store(value_page + ((size_t)h * kPagePositions + place) * channels + c, load(values + h * channels + c));
}

void write_cache(const HeadShape& heads, const float* keys, const float* values, int place, char* page) {
  if (heads.half)
    write_elements<Half>(heads, keys, values, place, page);
  else
    write_elements<float>(heads, keys, values, place, page);
}

// The same for the first positions of a page. Keys are transposed in registers, four positions of 16 channels at a time.
template <class Element>
void write_first(const HeadShape& heads, const float* keys, const float* values, int stride, int count, char* page) {
  const int width = heads.count * heads.channels, channels = value_channels(heads);
  Element* const key_page = (Element*)page;
  Element* const value_page = key_page + (size_t)width * kPagePositions;
  constexpr int kSide = 4;
  for (int i = 0; i < width; i += kLanes)
    for (int first = 0; first < count; first += kSide) {
      alignas(64) Element block[kSide][kLanes];  // of channel i: 4 positions of channels i, i + 4, i + 8 and i + 12
      Floats rows[kSide];
      unrolled<kSide>([&](auto r) NMT_LAMBDA {
        rows[r] = first + r < count ? load(keys + (size_t)(first + r) * stride + i) : all(0.f);
      });
      transpose(rows);
      unrolled<kSide>([&](auto c) NMT_LAMBDA { store(block[c], rows[c]); });
      for (int c = 0; c < kLanes; ++c)
        std::memcpy(key_page + (size_t)(i + c) * kPagePositions + first, block[c % kSide] + c / kSide * kSide,
                    kSide * sizeof(Element));
    }
  for (int h = 0; h < heads.count; ++h)
    for (int t = 0; t < count; ++t)
      for (int c = 0; c < channels; c += kLanes)
        store(value_page + ((size_t)h * kPagePositions + t) * channels + c,
              load(values + (size_t)t * stride + h * channels + c));
}

void write_positions(const HeadShape& heads, const float* keys, const float* values, int stride, int place, int count,
                     char* page) {
  if (place == 0)
    return heads.half ? write_first<Half>(heads, keys, values, stride, count, page)
                      : write_first<float>(heads, keys, values, stride, count, page);
  for (int i = 0; i < count; ++i, keys += stride, values += stride) write_cache(heads, keys, values, place + i, page);
}

// Scores of kQueries queries against the 16 keys of a page, for one head: scaled dot products.
struct Multiplicative {
  Floats scale;
  template <int kQueries, class Element>
  NMT_INLINE void scored(const Element* keys, const float* queries, int stride, int channels, Floats* scores) const {
    Floats even[kQueries], odd[kQueries];  // two chains of sums, so that an addition need not wait for the previous one
    unrolled<kQueries>([&](auto q) NMT_LAMBDA { even[q] = odd[q] = all(0.f); });
    for (int c = 0; c < channels; c += 2) {
      const Floats first = load(keys + c * kPagePositions), second = load(keys + (c + 1) * kPagePositions);
      unrolled<kQueries>([&](auto q) NMT_LAMBDA {
        even[q] = fma(all(queries[q * stride + c]), first, even[q]);
        odd[q] = fma(all(queries[q * stride + c + 1]), second, odd[q]);
      });
    }
    unrolled<kQueries>([&](auto q) NMT_LAMBDA { scores[q] = (even[q] + odd[q]) * scale; });
  }
};

// The same, and biases of the distance between query and key (Cache::biases).
struct Relative : Multiplicative {
  const float* biases;
  size_t stride;
};
template <int kQueries, class Score>
NMT_INLINE void add_biases(const Score& score, int head, int page, int first_query, Floats* scores) {
  if constexpr (std::is_same_v<Score, Relative>) {
    const float* const from = score.biases + head * score.stride + page * kPagePositions - first_query;
    unrolled<kQueries>([&](auto q) NMT_LAMBDA { scores[q] = scores[q] + load(from - q); });
  }
}

// Additive scores: the sum over channels of combination * tanh(query + key).
template <class Functions>
struct Additive {
  const float* combination;
  template <int kQueries, class Element>
  NMT_INLINE void scored(const Element* keys, const float* queries, int stride, int channels, Floats* scores) const {
    Floats total[kQueries];
    unrolled<kQueries>([&](auto q) NMT_LAMBDA { total[q] = all(0.f); });
    for (int c = 0; c < channels; ++c) {
      const Floats key = load(keys + c * kPagePositions), weight = all(combination[c]);
      unrolled<kQueries>([&](auto q) NMT_LAMBDA {
        total[q] = fma(weight, Functions::tangent(key + all(queries[q * stride + c])), total[q]);
      });
    }
    unrolled<kQueries>([&](auto q) NMT_LAMBDA { scores[q] = total[q]; });
  }
};

// Adds the weighted values of the positions [from, to) to the sums of kQueries queries, over kVectors x 16 channels of a
// head. head_offset: elements from the start of a page's layer to the first of them. weights: `padded` floats per query.
template <class Element, int kQueries, int kVectors>
NMT_INLINE void add_values(const Cache& cache, size_t head_offset, int channels, const float* weights, int padded,
                           int from, int to, Floats* total) {
  for (int start = from; start < to; start += kPagePositions) {
    const Element* values = (const Element*)(cache.pages[start / kPagePositions] + cache.offset) + head_offset;
    const int count = to - start < kPagePositions ? to - start : kPagePositions;
    for (int t = 0; t < count; ++t, values += channels) {
      Floats value[kVectors];
      unrolled<kVectors>([&](auto v) NMT_LAMBDA { value[v] = load(values + v * kLanes); });
      unrolled<kQueries>([&](auto q) NMT_LAMBDA {
        const Floats weight = all(weights[q * padded + start + t]);
        unrolled<kVectors>(
            [&](auto v) NMT_LAMBDA { total[q * kVectors + v] = fma(weight, value[v], total[q * kVectors + v]); });
      });
    }
  }
}

// Weighted sums of values for kQueries queries. contexts: `stride` floats per query; the rest as for `add_values`.
template <class Element, int kQueries, int kVectors>
NMT_INLINE void summed(const Cache& cache, size_t head_offset, int channels, const float* weights, int padded,
                       const Floats* scale, float* contexts, int stride) {
  Floats total[kQueries * kVectors];
  unrolled<kQueries * kVectors>([&](auto i) NMT_LAMBDA { total[i] = all(0.f); });
  add_values<Element, kQueries, kVectors>(cache, head_offset, channels, weights, padded, 0, cache.length, total);
  unrolled<kQueries>([&](auto q) NMT_LAMBDA {
    unrolled<kVectors>(
        [&](auto v) NMT_LAMBDA { store(contexts + q * stride + v * kLanes, total[q * kVectors + v] * scale[q]); });
  });
}

// The scores of a head, [queries][padded], and their maxima by position in a page.
template <class Element, int kQueries, class Score>
NMT_INLINE void scored_head(const HeadShape& heads, int h, const Score& score, int first_query, const float* queries,
                            int stride, const Cache& cache, int padded, float* scores, Floats* most) {
  const Floats lowest = all(-1e30f);
  Floats high[kQueries];
  unrolled<kQueries>([&](auto q) NMT_LAMBDA { high[q] = lowest; });
  for (int start = 0; start < padded; start += kPagePositions) {
    const Element* keys = (const Element*)(cache.pages[start / kPagePositions] + cache.offset) +
                          (size_t)h * heads.channels * kPagePositions;
    Floats found[kQueries];
    score.template scored<kQueries>(keys, queries + h * heads.channels, stride, heads.channels, found);
    add_biases<kQueries>(score, h, start / kPagePositions, first_query, found);
    const int left = cache.length - start;
    unrolled<kQueries>([&](auto q) NMT_LAMBDA {
      if (left < kPagePositions) found[q] = choose(below(left), found[q], lowest);
      high[q] = max(high[q], found[q]);
      store(scores + q * padded + start, found[q]);
    });
  }
  unrolled<kQueries>([&](auto q) NMT_LAMBDA { most[q] = high[q]; });
}

// Powers of a row of scores, in their place. Returns what makes them weights: one over their sum.
NMT_INLINE Floats powers(float* row, int length, int padded, Floats most) {
  const Floats top = all(largest(most));
  Floats total = all(0.f);
  for (int t = 0; t < padded; t += kLanes) {
    Floats power = exponential(load(row + t) - top);
    if (length - t < kLanes) power = choose(below(length - t), power, all(0.f));
    store(row + t, power);
    total = total + power;
  }
  return all(1.0f / sum(total));
}

// The contexts of a head.
template <class Element, int kQueries>
NMT_INLINE void summed_head(const HeadShape& heads, int h, const Cache& cache, const float* weights, int padded,
                            const Floats* scale, float* contexts, int stride) {
  const int channels = value_channels(heads);
  const size_t values = ((size_t)heads.count * heads.channels + (size_t)h * channels) * kPagePositions;
  float* const to = contexts + h * channels;
  int c = 0;
  if constexpr (kQueries == 1)
    for (; c + 4 * kLanes <= channels; c += 4 * kLanes)
      summed<Element, kQueries, 4>(cache, values + c, channels, weights, padded, scale, to + c, stride);
  for (; c + 2 * kLanes <= channels; c += 2 * kLanes)
    summed<Element, kQueries, 2>(cache, values + c, channels, weights, padded, scale, to + c, stride);
  for (; c < channels; c += kLanes)
    summed<Element, kQueries, 1>(cache, values + c, channels, weights, padded, scale, to + c, stride);
}

// Scores, powers and contexts of several heads are computed in turn: with one head alone each would wait for the other.
template <int kQueries>
constexpr int kHeadsTogether = kQueries == 1 ? 8 : 4;

template <class Element, int kQueries, class Score>
void attended(const HeadShape& heads, const Score& score, int first_query, const float* queries, int stride,
              const Cache& cache, float* contexts, int context_stride, float* weights, float* scratch) {
  constexpr int kHeads = kHeadsTogether<kQueries>;
  const int padded = (cache.length + kPagePositions - 1) / kPagePositions * kPagePositions, rows = kQueries * padded;
  for (int first = 0; first < heads.count; first += kHeads) {
    const int count = first + kHeads < heads.count ? kHeads : heads.count - first;
    Floats most[kHeads * kQueries], scale[kHeads * kQueries];
    for (int h = 0; h < count; ++h)
      scored_head<Element, kQueries>(heads, first + h, score, first_query, queries, stride, cache, padded,
                                     scratch + h * rows, most + h * kQueries);
    for (int i = 0; i < count * kQueries; ++i) {
      float* const row = scratch + i * padded;
      scale[i] = powers(row, cache.length, padded, most[i]);
      float* const to =
          weights ? weights + ((size_t)i % kQueries * heads.count + first + i / kQueries) * padded : nullptr;
      for (int t = 0; to && t < padded; t += kLanes) store(to + t, load(row + t) * scale[i]);
    }
    for (int h = 0; h < count; ++h)
      summed_head<Element, kQueries>(heads, first + h, cache, scratch + h * rows, padded, scale + h * kQueries,
                                     contexts, context_stride);
  }
}

}  // namespace
}  // namespace nmt

#include "kernels/long_attention.h"

namespace nmt {
namespace {

template <class Element, class Score>
void attended_all(const HeadShape& heads, const Score& score, const float* queries, int count, int stride,
                  const Cache& cache, float* contexts, int context_stride, float* weights, float* scratch) {
  const size_t row_weights =
      (size_t)heads.count * ((cache.length + kPagePositions - 1) / kPagePositions * kPagePositions);
  int q = 0;
  const auto some = [&](auto together) {
    for (; q + together <= count; q += together)
      attended<Element, together>(heads, score, q, queries + (size_t)q * stride, stride, cache,
                                  contexts + (size_t)q * context_stride, context_stride,
                                  weights ? weights + q * row_weights : nullptr, scratch);
  };
  constexpr int kMost = kParts == 1 ? 4 : 2;
  if (cache.length >= kLong && !weights)
    q = attended_in_blocks<Element, kMost>(heads, score, queries, count, stride, cache, contexts, context_stride,
                                           scratch);
  if constexpr (kParts == 1) some(std::integral_constant<int, 4>());  // AVX512 has registers for them
  some(std::integral_constant<int, 2>());
  some(std::integral_constant<int, 1>());
}

template <class Score>
void attended_of(const HeadShape& heads, const Score& score, const float* queries, int count, int stride,
                 const Cache& cache, float* contexts, int context_stride, float* weights, float* scratch) {
  if (heads.half)
    attended_all<Half>(heads, score, queries, count, stride, cache, contexts, context_stride, weights, scratch);
  else
    attended_all<float>(heads, score, queries, count, stride, cache, contexts, context_stride, weights, scratch);
}

void attend(const HeadShape& heads, const float* queries, int count, int stride, const Cache& cache, float* contexts,
            int context_stride, float* weights, float* scratch) {
  if (cache.biases)
    return attended_of(heads, Relative{{all(heads.scale)}, cache.biases, cache.bias_stride}, queries, count, stride,
                       cache, contexts, context_stride, weights, scratch);
  attended_of(heads, Multiplicative{all(heads.scale)}, queries, count, stride, cache, contexts, context_stride, weights,
              scratch);
}

template <class Functions>
void attend_additive(const HeadShape& heads, const float* combination, const float* queries, int count, int stride,
                     const Cache& cache, float* contexts, int context_stride, float* weights, float* scratch) {
  attended_of(heads, Additive<Functions>{combination}, queries, count, stride, cache, contexts, context_stride, weights,
              scratch);
}

}  // namespace
}  // namespace nmt
