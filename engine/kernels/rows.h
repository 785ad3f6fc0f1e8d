// Rows of activations: layer normalisation, quantisation, embeddings.
#pragma once

#include <cmath>

#include "kernels/kernels.h"
#include "kernels/root_mean_square.h"
#include "kernels/vector.h"

namespace nmt {
namespace {

constexpr float kTiny = 1e-9f;  // replaces the maximum of a row of zeros

// Multiplies a row of floats by a factor and rounds. NaN becomes the largest integer, so that every instruction set
// stores the same. clipped: the scale is not the row's own, or the row may hold what the range does not: -infinity.
template <bool clipped, class Integer>
NMT_INLINE void rounded_row(const float* row, int units, float factor, float least, float most, int shift,
                            Integer* to) {
  for (int i = 0; i < units; i += kLanes) {
    Floats values = min(load(row + i) * all(factor), all(most));
    if constexpr (clipped) values = max(values, all(least));
    store_rounded(to + i, values, shift);
  }
}

// Quantises one row, given its largest magnitude or a fixed scale. int8: signed values use -127..127 and get 128 added;
// unsigned ones, from relu, use 0..255.
NMT_INLINE void quantised(const float* row, int units, Type type, bool is_signed, float most, float fixed, char* to,
                          float* scale) {
  const float limit = type == Type::int16 ? (float)kShortInput : is_signed ? 127.f : 255.f;
  const float least = is_signed ? -limit : 0.f;
  const int shift = type == Type::int8 && is_signed ? 128 : 0;
  most = most < kTiny ? kTiny : most;
  *scale = fixed > 0 ? fixed : most / limit;
  const float factor = fixed > 0 ? 1 / fixed : limit / most;
  const auto round = [&](auto clipped) NMT_LAMBDA {
    if (type == Type::int16)
      rounded_row<clipped>(row, units, factor, least, limit, shift, (int16_t*)to);
    else
      rounded_row<clipped>(row, units, factor, least, limit, shift, (uint8_t*)to);
  };
  fixed > 0 || !is_signed ? round(std::true_type()) : round(std::false_type());
}

void quantise(const float* rows, int count, int units, int stride, Type type, const Quantized& to,
              const float* maxima) {
  const size_t bytes = (size_t)units * element_bytes(type);
  for (int r = 0; r < count; ++r, rows += stride) {
    if (type == Type::float32) {
      std::memcpy(to.rows + r * bytes, rows, bytes);
      continue;
    }
    float most = 0;
    if (maxima) {
      most = largest(load(maxima + (size_t)r * kLanes));
    } else if (!(to.fixed > 0)) {
      Floats largest_yet = all(0.f);
      for (int i = 0; i < units; i += kLanes) largest_yet = max(magnitude(load(rows + i)), largest_yet);
      most = largest(largest_yet);
    }
    quantised(rows, units, type, maxima == nullptr, most, to.fixed, to.rows + r * bytes, to.scale + r);
  }
}

// Rows that are normalised together: one row alone would wait for the additions of its sums.
constexpr int kTogether = 4;

// Normalises kRows rows, their largest magnitudes go to `most`.
template <int kRows>
NMT_INLINE void normalised_rows(const float* rows, int units, const Norm& norm, float* to, float* most) {
  Floats totals[kRows], mean[kRows], squares[kRows], inverse[kRows], largest_yet[kRows];
  unrolled<kRows>([&](auto r) NMT_LAMBDA { totals[r] = squares[r] = largest_yet[r] = all(0.f); });
  for (int i = 0; i < units; i += kLanes)
    unrolled<kRows>([&](auto r) NMT_LAMBDA { totals[r] = totals[r] + load(rows + r * units + i); });
  unrolled<kRows>([&](auto r) NMT_LAMBDA { mean[r] = all(sum(totals[r]) / units); });
  for (int i = 0; i < units; i += kLanes)
    unrolled<kRows>([&](auto r) NMT_LAMBDA {
      const Floats deviation = load(rows + r * units + i) - mean[r];
      squares[r] = fma(deviation, deviation, squares[r]);
    });
  unrolled<kRows>([&](auto r)
                      NMT_LAMBDA { inverse[r] = all(1.0f / std::sqrt(sum(squares[r]) / units + norm.epsilon)); });
  for (int i = 0; i < units; i += kLanes) {
    const Floats scale = load(norm.scale + i), bias = load(norm.bias + i);
    unrolled<kRows>([&](auto r) NMT_LAMBDA {
      const Floats value = fma((load(rows + r * units + i) - mean[r]) * inverse[r], scale, bias);
      largest_yet[r] = max(magnitude(value), largest_yet[r]);  // in this order, NaN is left out
      store(to + r * units + i, value);
    });
  }
  unrolled<kRows>([&](auto r) NMT_LAMBDA { most[r] = largest(largest_yet[r]); });
}

void normalise(const float* rows, int count, int units, const Norm& norm, Type type, const Quantized& to,
               float* normalised) {
  const size_t bytes = (size_t)units * element_bytes(type);
  alignas(64) float scratch[kMostUnits];
  for (int r = 0; r < count;) {
    const int together = r + kTogether <= count && kTogether * units <= kMostUnits ? kTogether : 1;
    const bool stored = type == Type::float32 && to.rows;
    float* const out = normalised ? normalised + (size_t)r * units : stored ? (float*)(to.rows + r * bytes) : scratch;
    float most[kTogether];
    const float* const from = rows + (size_t)r * units;
    if (together == kTogether)
      norm.bias ? normalised_rows<kTogether>(from, units, norm, out, most)
                : scaled_rows<kTogether>(from, units, norm, out, most);
    else
      norm.bias ? normalised_rows<1>(from, units, norm, out, most) : scaled_rows<1>(from, units, norm, out, most);
    for (int i = 0; to.rows && i < together; ++i) {
      const float* const row = out + (size_t)i * units;
      if (type != Type::float32)
        quantised(row, units, type, true, most[i], to.fixed, to.rows + (r + i) * bytes, to.scale + r + i);
      else if (normalised)
        std::memcpy(to.rows + (r + i) * bytes, row, bytes);
    }
    r += together;
  }
}

void interleave(const char* const* rows, int groups, char* panel) {
#if defined(__AVX2__)
  for (int g = 0; g < groups; g += 4, panel += 4 * 64)
    for (int half = 0; half < 2; ++half) {
      const char* const* from = rows + 8 * half;
      __m256i pairs[4];  // rows r and r + 4, four groups each
      for (int r = 0; r < 4; ++r)
        pairs[r] = _mm256_inserti128_si256(_mm256_castsi128_si256(_mm_loadu_si128((const __m128i*)(from[r] + 4 * g))),
                                           _mm_loadu_si128((const __m128i*)(from[r + 4] + 4 * g)), 1);
      const __m256i a = _mm256_unpacklo_epi32(pairs[0], pairs[1]), b = _mm256_unpackhi_epi32(pairs[0], pairs[1]);
      const __m256i c = _mm256_unpacklo_epi32(pairs[2], pairs[3]), d = _mm256_unpackhi_epi32(pairs[2], pairs[3]);
      __m256i* const to = (__m256i*)(panel + 32 * half);
      _mm256_store_si256(to, _mm256_unpacklo_epi64(a, c));
      _mm256_store_si256(to + 2, _mm256_unpackhi_epi64(a, c));
      _mm256_store_si256(to + 4, _mm256_unpacklo_epi64(b, d));
      _mm256_store_si256(to + 6, _mm256_unpackhi_epi64(b, d));
    }
#else
  for (int g = 0; g < groups; ++g)
    for (int r = 0; r < kLanes; ++r, panel += 4) std::memcpy(panel, rows[r] + 4 * g, 4);
#endif
}

void embed(Type type, const char* row, float scale, float factor, const float* position, int units, float* to) {
  const Floats by = all(scale * factor);
  for (int i = 0; i < units; i += kLanes) {
    const Floats values = type == Type::float32 ? load((const float*)row + i)
                          : type == Type::int16 ? converted(load((const int16_t*)row + i))
                                                : converted(load((const int8_t*)row + i));
    store(to + i, fma(values, by, load(position + i)));
  }
}

}  // namespace
}  // namespace nmt
