// Normalisation without a mean and a bias (RMSNorm; Zhang and Sennrich 2019).
#pragma once

#include <cmath>

#include "kernels/kernels.h"
#include "kernels/vector.h"

namespace nmt {
namespace {

// As `normalised_rows` of kernels/rows.h: kRows rows, their largest magnitudes go to `most`.
template <int kRows>
NMT_INLINE void scaled_rows(const float* rows, int units, const Norm& norm, float* to, float* most) {
  Floats squares[kRows], inverse[kRows], largest_yet[kRows];
  unrolled<kRows>([&](auto r) NMT_LAMBDA { squares[r] = largest_yet[r] = all(0.f); });
  for (int i = 0; i < units; i += kLanes)
    unrolled<kRows>([&](auto r) NMT_LAMBDA {
      const Floats value = load(rows + r * units + i);
      squares[r] = fma(value, value, squares[r]);
    });
  unrolled<kRows>([&](auto r)
                      NMT_LAMBDA { inverse[r] = all(1.0f / std::sqrt(sum(squares[r]) / units + norm.epsilon)); });
  for (int i = 0; i < units; i += kLanes) {
    const Floats scale = load(norm.scale + i);
    unrolled<kRows>([&](auto r) NMT_LAMBDA {
      const Floats value = load(rows + r * units + i) * inverse[r] * scale;
      largest_yet[r] = max(magnitude(value), largest_yet[r]);  // in this order, NaN is left out
      store(to + r * units + i, value);
    });
  }
  unrolled<kRows>([&](auto r) NMT_LAMBDA { most[r] = largest(largest_yet[r]); });
}

}  // namespace
}  // namespace nmt
