// Products of one worker; its team of threads shares the large ones.
#pragma once

#include <algorithm>
#include <cstdint>

#include "kernels/kernels.h"
#include "runtime/buffer.h"
#include "runtime/calibration.h"
#include "runtime/team.h"

namespace nmt {

class SharedProduct {
 public:
  explicit SharedProduct(const Kernels& kernels) : kernels_(kernels) {}

  // team: shares products from now on; null: this thread computes them alone.
  void share(Team* team) { team_ = team; }
  Team* team() const { return team_; }

  Calibration calibration;
  uint64_t operations = 0;  // multiplications and additions so far

  void operator()(const Linear& weights, const Inputs& inputs, int rows, const Outputs& to) {
    if (weights.rows) return (*this)(packed(weights), inputs, rows, to);
    operations += 2 * (uint64_t)rows * (uint64_t)weights.inputs * (uint64_t)weights.outputs;
    if (calibration.on) calibration.record(weights, inputs, rows);
    const int panels = weights.outputs / kPanel;
    const int parts =
        team_ && (size_t)rows * weights.inputs * weights.outputs >= kShared ? std::min(team_->size(), panels) : 1;
    if (parts == 1) return kernels_.product(weights, inputs, rows, 0, panels, to);
    const size_t size = (size_t)rows * kPanel;  // of the maxima
    float* const maxima = to.maxima ? maxima_.get(size * parts) : nullptr;
    team_->run(parts, [&](int part) {
      Outputs own = to;
      if (maxima) own.maxima = maxima + size * part;
      kernels_.product(weights, inputs, rows, panels * part / parts, panels * (part + 1) / parts, own);
    });
    for (size_t i = 0; maxima && i < size; ++i) {
      to.maxima[i] = maxima[i];
      for (int part = 1; part < parts; ++part) to.maxima[i] = std::max(to.maxima[i], maxima[size * part + i]);
    }
  }

 private:
  Linear packed(const Linear& weights) {
    const size_t row = row_bytes(weights);
    char* const panels = panels_.get(row * (size_t)weights.outputs);
    for (int channel = 0; channel < weights.outputs; channel += kPanel) {
      const char* rows[kPanel];
      for (int i = 0; i < kPanel; ++i) rows[i] = weights.rows + (size_t)(channel + i) * row;
      kernels_.interleave(rows, (int)(row / 4), panels + (size_t)channel * row);
    }
    Linear result = weights;
    result.panels = panels;
    result.rows = nullptr;
    return result;
  }

  static constexpr size_t kShared = 1 << 19;  // multiplications; smaller products are not shared

  const Kernels& kernels_;
  Team* team_ = nullptr;
  Buffer<float> maxima_;
  Buffer<char> panels_;
};

}  // namespace nmt
