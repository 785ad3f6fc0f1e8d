// Recorded scales of each product's inputs, from which measure.calibrate chooses fixed ones.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "kernels/kernels.h"

namespace nmt {

struct InputScales {
  int64_t rows = 0;
  double sum = 0, squares = 0, largest = 0;

  void add(const InputScales& other) {
    rows += other.rows;
    sum += other.sum;
    squares += other.squares;
    largest = std::max(largest, other.largest);
  }
};

class Calibration {
 public:
  bool on = false;

  void record(const Linear& weights, const Inputs& inputs, int rows) {
    if (weights.type == Type::float32) return;
    if (products_.size() <= (size_t)weights.number) products_.resize((size_t)weights.number + 1);
    for (int r = 0; r < rows; ++r) {
      const double scale = inputs.scale[r];
      products_[(size_t)weights.number].add({1, scale, scale * scale, scale});
    }
  }
  // product: an index of Model::products.
  InputScales scales(size_t product) const { return product < products_.size() ? products_[product] : InputScales(); }

 private:
  std::vector<InputScales> products_;
};

}  // namespace nmt
