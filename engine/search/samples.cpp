// Sampling. Samples of a sentence that have drawn the same pieces so far are one branch: a row of a step, with one state
// and one distribution, from which each of them draws its own next piece. Samples of a model that is sure of its words
// so take little more time than a few of them.
#include <algorithm>

#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/sampler.h"
#include "search/search.h"

namespace nmt {

// The samples of one batch.
class Search::Samples {
 public:
  Samples(Search& search, const Batch& batch, const Options& options)
      : search_(search),
        batch_(batch),
        options_(options),
        sampler_(options.sampling),
        results_(batch.sources.size(), std::vector<Hypothesis>((size_t)options.sampling.samples)) {}
  Results run(const std::atomic<bool>& stop);

 private:
  struct Branch {
    States state;
    Hypothesis hypothesis;
    std::vector<int> samples;  // their numbers, ascending
  };

  struct Drawn {
    int column, sample;
    bool operator<(const Drawn& other) const {
      return column != other.column ? column < other.column : sample < other.sample;
    }
  };

  void enter_sentences();
  void advance(Branch& branch, int row);
  void draw(const Branch& branch, const Cursor& cursor, int row);
  void part(Branch& branch, const Cursor& cursor, int row);
  void extend(Branch& branch, const Cursor& cursor, int row, int column);

  static constexpr int kMostSamples = 512;  // at a time, unless one sentence has more

  Search& search_;
  const Batch& batch_;
  const Options& options_;
  Sampler sampler_;
  Results results_;
  size_t entered_ = 0;  // sentences
  int alive_ = 0;       // samples
  std::vector<Branch> branches_, next_;
  std::vector<uint64_t> identities_;  // of the sentences
  std::vector<Step> steps_;
  // Of the branch that advances: what its samples have drawn, by column, and what the columns' probabilities come from.
  std::vector<Drawn> drawn_;
  const float* scores_ = nullptr;
  float log_sum_ = 0;
  bool stuck_ = false;
};

Results Search::Samples::run(const std::atomic<bool>& stop) {
  for (enter_sentences(); !branches_.empty(); enter_sentences()) {
    if (stop.load(std::memory_order_relaxed)) throw Error("decoding was stopped");
    steps_.clear();
    for (Branch& branch : branches_) {
      const auto& tokens = branch.hypothesis.tokens;
      steps_.push_back(
          {&branch.state, tokens.empty() ? search_.model_.shape.start : tokens.back(), (int)tokens.size()});
    }
    search_.step(steps_.data(), (int)steps_.size());
    Timed timed(search_.network_->clock, Component::search);
    next_.clear();
    for (size_t row = 0; row < branches_.size(); ++row) advance(branches_[row], (int)row);
    std::swap(branches_, next_);
  }
  return std::move(results_);
}

// Lets as many sentences in as there is room for.
void Search::Samples::enter_sentences() {
  const int samples = options_.sampling.samples;
  for (; entered_ < results_.size() && (!alive_ || alive_ + samples <= kMostSamples); alive_ += samples) {
    Branch& branch = branches_.emplace_back();
    search_.enter(branch.state, (int)entered_);
    if (!options_.on.shared_cache) search_.copy_memory(branch.state, nullptr);
    for (int sample = 0; sample < samples; ++sample) branch.samples.push_back(sample);
    identities_.push_back(identity(batch_.sources[entered_++]));
  }
}

// Extends the samples of a branch by a piece each, after a step.
void Search::Samples::advance(Branch& branch, int row) {
  const int s = branch.state.sentence;
  const Cursor cursor = search_.cursor(batch_, options_, s, (int)branch.hypothesis.tokens.size());
  drawn_.clear();
  stuck_ = false;
  scores_ = nullptr;
  if (cursor.certain >= 0)
    for (const int sample : branch.samples) drawn_.push_back({cursor.certain, sample});
  else
    draw(branch, cursor, row);
  part(branch, cursor, row);
}

void Search::Samples::draw(const Branch& branch, const Cursor& cursor, int row) {
  const Kernels& kernel = kernels();
  const int s = cursor.sentence, columns = search_.output_.columns(s);
  float* const scores = search_.scores(row, s);
  const bool summed = options_.scores || sampler_.needs_sum();
  if (summed && options_.as_transformers) log_sum_ = kernel.log_sum(scores, columns);
  search_.block(branch.hypothesis.tokens, cursor, options_, scores);
  if (summed && !options_.as_transformers) log_sum_ = kernel.log_sum(scores, columns);
  scores_ = scores;
  const int best = kernel.best(scores, columns);
  stuck_ = !(scores[best] > kNever);
  if (!stuck_) sampler_.take(scores, columns, scores[best], log_sum_);
  for (const int sample : branch.samples) {
    const double share = uniform(options_.sampling.seed, identities_[(size_t)s], sample, cursor.position);
    drawn_.push_back({stuck_ ? best : sampler_.draw(share), sample});
  }
  std::sort(drawn_.begin(), drawn_.end());
}

// Divides a branch by the pieces that its samples have drawn. The last of them takes its state over.
void Search::Samples::part(Branch& branch, const Cursor& cursor, int row) {
  for (size_t first = 0, last; first < drawn_.size(); first = last) {
    const int column = drawn_[first].column;
    branch.samples.clear();
    for (last = first; last < drawn_.size() && drawn_[last].column == column; ++last)
      branch.samples.push_back(drawn_[last].sample);
    if (last == drawn_.size()) return extend(branch, cursor, row, column);
    Branch child;
    search_.enter(child.state, cursor.sentence);
    search_.inherit(child.state, branch.state);
    if (!options_.on.shared_cache) search_.copy_memory(child.state, &branch.state);
    child.hypothesis = branch.hypothesis;
    child.samples = branch.samples;
    extend(child, cursor, row, column);
  }
}

// Extends a branch by the piece of a column. If it is finished, all of its samples are.
void Search::Samples::extend(Branch& branch, const Cursor& cursor, int row, int column) {
  const bool scored = options_.scores && scores_ && !stuck_;
  const float probability = scored ? scores_[column] - log_sum_ : 0;
  if (!search_.extend(branch.hypothesis, cursor, options_, row, column, stuck_, probability)) {
    next_.push_back(std::move(branch));
    return;
  }
  search_.release(branch.state);
  alive_ -= (int)branch.samples.size();
  for (const int sample : branch.samples) results_[(size_t)cursor.sentence][(size_t)sample] = branch.hypothesis;
}

Results Search::samples(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  return Samples(*this, batch, options).run(stop);
}

}  // namespace nmt
