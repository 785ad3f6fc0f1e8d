// What a piece is drawn from, and the random numbers that it is drawn with.
#pragma once

#include <cstdint>
#include <vector>

#include "runtime/buffer.h"
#include "runtime/dispatch.h"
#include "search/request.h"

namespace nmt {

// Throws Error for values that are no sampling's.
void check_sampling(const Sampling& sampling);

// A number that identifies a sentence: a hash of its pieces. So it gets the same samples wherever it stands.
uint64_t identity(const std::vector<int32_t>& source);

// A random number between 0 and 1, which are excluded, for a place of a sample of a sentence. It depends on nothing else,
// as it comes from a generator without a state (Philox4x32-10, Salmon et al. 2011).
double uniform(int seed, uint64_t sentence, int sample, int position);

// The pieces that a step may draw, by column, with their weights.
class Sampler {
 public:
  explicit Sampler(const Sampling& sampling) : sampling_(sampling), kernel_(kernels()) {}

  // Whether `take` needs the log of the sum.
  bool needs_sum() const { return sampling_.epsilon > 0 || sampling_.top_p < 1; }
  // Takes the scores of a row, of which `most` is the best one. They must stay until they are drawn from.
  void take(const float* scores, int columns, float most, float log_sum);
  // The column at a share of the sum of all weights, from 0 to 1.
  int draw(double share);

 private:
  struct Kept {
    float score;
    int32_t column;
    float probability;
  };

  static bool before(const Kept& a, const Kept& b) {
    return a.score > b.score || (a.score == b.score && a.column < b.column);
  }

  void truncate(const float* scores, int columns, float most, float log_sum);
  float least_of_best(const float* scores, int columns);
  void keep_best();
  void keep_nucleus(float log_sum);
  void weigh(const float* scores, int columns, float most, float factor);
  const float* padded_scores();

  const Sampling sampling_;
  const Kernels& kernel_;
  bool every_column_ = true;
  std::vector<Kept> kept_;    // unless every column is
  std::vector<Kept> ranked_;  // of `keep_best`
  Buffer<int32_t> places_;
  Buffer<float> scores_, weights_, sums_;
  std::vector<double> totals_;  // of the weights of the first 16, 32, ... columns
};

}  // namespace nmt
