// Scores given targets, for rescoring. All pieces are known, so that one step covers all positions if the network
// allows it: rows of a hypothesis are in order, and each sees the past that earlier rows left.
#include <algorithm>

#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/search.h"

namespace nmt {

// One step with positions [from, to) of some sentences' targets.
void Search::score_positions(const Batch& batch, std::vector<States>& states, int first, int last, int from, int to,
                             std::vector<std::vector<float>>& results) {
  std::vector<Step> steps;
  for (int s = first; s < last; ++s) {
    const auto& target = batch.prefixes[s];
    for (int position = from; position <= std::min(to, (int)target.size()); ++position)
      steps.push_back({&states[s], position ? target[position - 1] : model_.shape.start, position});
  }
  const int count = (int)steps.size();
  step(steps.data(), count);
  Timed timed(network_->clock, Component::search);
  for (int row = 0; row < count; ++row) {
    const int sentence = steps[row].state->sentence, position = steps[row].position;
    const auto& target = batch.prefixes[sentence];
    const int piece = position < (int)target.size() ? target[position] : model_.shape.end;
    const float* const scores = this->scores(row, sentence);
    results[sentence].push_back(scores[output_.column(sentence, piece)] -
                                kernels().log_sum(scores, output_.columns(sentence)));
  }
}

std::vector<std::vector<float>> Search::score(const Batch& batch, Candidates candidates,
                                              const std::atomic<bool>& stop) {
  constexpr int kMostRows = 256;  // per step, unless one target is longer
  Options options;
  options.longest = 1;
  check(batch, options);
  const int count = (int)batch.sources.size();
  if (batch.prefixes.size() != batch.sources.size()) throw Error("there must be one target for each sentence");
  std::vector<std::vector<float>> results((size_t)count);
  if (!count) return results;
  std::vector<States> states((size_t)count);
  try {
    network_->watch(-1, -1);
    begin(batch, candidates, {});
    for (int first = 0; first < count;) {
      if (stop.load(std::memory_order_relaxed)) throw Error("scoring was stopped");
      int last = first, longest = 0;
      for (size_t rows = 0; last < count; ++last) {
        rows += takes_rows() ? batch.prefixes[last].size() + 1 : 1;
        if (last > first && rows > kMostRows) break;
        enter(states[last], last);
        longest = std::max(longest, (int)batch.prefixes[last].size());
      }
      if (takes_rows())
        score_positions(batch, states, first, last, 0, longest, results);
      else
        for (int position = 0; position <= longest; ++position) {
          if (stop.load(std::memory_order_relaxed)) throw Error("scoring was stopped");
          score_positions(batch, states, first, last, position, position, results);
        }
      for (; first < last; ++first) release(states[first]);
    }
  } catch (...) {
    reset();
    throw;
  }
  return results;
}

}  // namespace nmt
