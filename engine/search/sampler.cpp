#include "search/sampler.h"

#include <algorithm>
#include <cmath>

#include "runtime/error.h"

namespace nmt {

void check_sampling(const Sampling& sampling) {
  if (sampling.samples < 0 || sampling.samples > 1024)
    throw Error("there may be from 1 to 1,024 samples, or 0 for a search, not " + std::to_string(sampling.samples));
  if (!sampling.samples) return;  // a program that only searches leaves the rest zero
  if (!(sampling.temperature >= 1e-3f && sampling.temperature <= 1e3f))
    throw Error("the temperature must be from 0.001 to 1,000, not " + std::to_string(sampling.temperature));
  if (sampling.top_k < 0)
    throw Error("the pieces to draw from must be 1, or more, or 0 for all, not " + std::to_string(sampling.top_k));
  if (!(sampling.top_p > 0 && sampling.top_p <= 1))
    throw Error("the probability of the nucleus must be above 0, and at most 1, not " + std::to_string(sampling.top_p));
  if (!(sampling.epsilon >= 0 && sampling.epsilon < 1))
    throw Error("epsilon, a probability, must be from 0 to below 1, not " + std::to_string(sampling.epsilon));
}

uint64_t identity(const std::vector<int32_t>& source) {
  uint64_t hash = source.size();
  for (const int32_t piece : source) {  // the finaliser of SplitMix64 (Steele et al. 2014)
    hash = (hash ^ (uint32_t)piece) + 0x9E3779B97F4A7C15u;
    hash = (hash ^ hash >> 30) * 0xBF58476D1CE4E5B9u;
    hash = (hash ^ hash >> 27) * 0x94D049BB133111EBu;
    hash ^= hash >> 31;
  }
  return hash;
}

double uniform(int seed, uint64_t sentence, int sample, int position) {
  uint32_t key[] = {(uint32_t)seed, 0};
  uint32_t at[] = {(uint32_t)sentence, (uint32_t)(sentence >> 32), (uint32_t)sample, (uint32_t)position};
  for (int round = 0; round < 10; ++round, key[0] += 0x9E3779B9u, key[1] += 0xBB67AE85u) {
    const uint64_t first = (uint64_t)at[0] * 0xD2511F53u, second = (uint64_t)at[2] * 0xCD9E8D57u;
    at[0] = (uint32_t)(second >> 32) ^ at[1] ^ key[0];
    at[1] = (uint32_t)second;
    at[2] = (uint32_t)(first >> 32) ^ at[3] ^ key[1];
    at[3] = (uint32_t)first;
  }
  const uint64_t bits = ((uint64_t)at[0] << 32 | at[1]) >> 12;
  return ((double)bits + 0.5) * 0x1p-52;
}

void Sampler::take(const float* scores, int columns, float most, float log_sum) {
  const float factor = 1 / sampling_.temperature;
  every_column_ = !sampling_.top_k && !needs_sum();
  if (every_column_) return weigh(scores, columns, most, factor);
  truncate(scores, columns, most, log_sum);
  const float* const own = padded_scores();
  weigh(own, padded((int)kept_.size()), most, factor);
}

// Keeps what top_k, epsilon and top_p keep.
void Sampler::truncate(const float* scores, int columns, float most, float log_sum) {
  float least = sampling_.top_k ? least_of_best(scores, columns) : kNever;
  if (needs_sum()) {
    // Pieces of less than this share of 1 - top_p are together less than 1 - top_p, so none of them is in the nucleus.
    const double share = std::max((double)sampling_.epsilon, (1.0 - sampling_.top_p) / columns);
    least = std::max(least, std::min(most, log_sum + (float)std::log(share)));
  }
  int32_t* const places = places_.get((size_t)columns);
  const int found = kernel_.at_least(scores, columns, least, places);
  kept_.clear();
  for (int i = 0; i < found; ++i) kept_.push_back({scores[places[i]], places[i], 0});
  if (kept_.empty()) kept_.push_back({most, 0, 0});  // no score is a number
  if (sampling_.top_k && kept_.size() > (size_t)sampling_.top_k) keep_best();
  if (sampling_.top_p < 1) keep_nucleus(log_sum);
}

// A score that the top_k best reach, as that many of the best ones of each 16 columns do.
float Sampler::least_of_best(const float* scores, int columns) {
  const int blocks = columns / kPanel, wanted = sampling_.top_k;
  if (wanted > blocks) return kNever;
  float* const best = sums_.get((size_t)blocks);
  kernel_.maxima(scores, columns, best);
  std::nth_element(best, best + wanted - 1, best + blocks, [](float a, float b) { return a > b; });
  return best[wanted - 1];
}

// Keeps the top_k best, in the order of their columns; of equal ones the first.
void Sampler::keep_best() {
  ranked_ = kept_;
  const auto last = ranked_.begin() + sampling_.top_k - 1;
  std::nth_element(ranked_.begin(), last, ranked_.end(), before);
  kept_.erase(std::remove_if(kept_.begin(), kept_.end(), [&](const Kept& one) { return before(*last, one); }),
              kept_.end());
}

// Keeps the most probable ones, in order, up to the one with which they reach top_p.
void Sampler::keep_nucleus(float log_sum) {
  const float* const scores = padded_scores();
  weigh(scores, padded((int)kept_.size()), log_sum, 1);
  for (size_t i = 0; i < kept_.size(); ++i) kept_[i].probability = weights_.data()[i];
  const auto after = [](const Kept& a, const Kept& b) { return before(b, a); };
  std::make_heap(kept_.begin(), kept_.end(), after);
  auto end = kept_.end();  // of the heap; what left it is behind, the most probable last
  for (double sum = 0; end != kept_.begin() && sum < sampling_.top_p; sum += end->probability)
    std::pop_heap(kept_.begin(), end--, after);
  kept_.erase(kept_.begin(), end);
}

// The scores of those that are kept, padded with kNever to a multiple of 16.
const float* Sampler::padded_scores() {
  const size_t size = (size_t)padded((int)kept_.size());
  float* const to = scores_.get(size);
  for (size_t i = 0; i < size; ++i) to[i] = i < kept_.size() ? kept_[i].score : kNever;
  return to;
}

void Sampler::weigh(const float* scores, int columns, float most, float factor) {
  float* const weights = weights_.get((size_t)columns);
  float* const sums = sums_.get((size_t)columns / kPanel);
  kernel_.weigh(scores, columns, most, factor, weights, sums);
  totals_.clear();
  double total = 0;
  for (int block = 0; block < columns / kPanel; ++block) totals_.push_back(total += sums[block]);
}

int Sampler::draw(double share) {
  const double target = share * totals_.back();
  const auto found = std::upper_bound(totals_.begin(), totals_.end() - 1, target);
  const int block = (int)(found - totals_.begin());
  double rest = target - (block ? totals_[(size_t)block - 1] : 0);
  const float* const weights = weights_.data() + block * kPanel;
  int place = 0;
  while (place < kPanel && !((rest -= weights[place]) < 0)) ++place;
  if (place == kPanel) place = (int)(std::max_element(weights, weights + kPanel) - weights);  // by rounding
  place += block * kPanel;
  return every_column_ ? place : kept_[std::min((size_t)place, kept_.size() - 1)].column;
}

}  // namespace nmt
