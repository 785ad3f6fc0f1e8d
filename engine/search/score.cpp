// Scores given targets, for rescoring. All pieces are known, so that one step covers all positions if the network
// allows it: rows of a hypothesis are in order, and each sees the past that earlier rows left.
#include <algorithm>
#include <string>

#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/search.h"

namespace nmt {

// One step with positions [from, to) of some sentences' targets.
void Search::score_positions(const Batch& batch, std::vector<States>& states, int first, int last, int from, int to,
                             int most, std::vector<Scored>& results) {
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
    const float log_sum = kernels().log_sum(scores, output_.columns(sentence));
    results[sentence].scores.push_back(scores[output_.column(sentence, piece)] - log_sum);
    if (most) append_best(results[sentence], sentence, scores, log_sum, most);
  }
}

// Appends the best pieces of a row.
void Search::append_best(Scored& result, int sentence, const float* scores, float log_sum, int most) const {
  const size_t end = result.pieces.size() + (size_t)most;
  result.pieces.resize(end, -1);
  result.piece_scores.resize(end, kNever);
  int32_t* const pieces = result.pieces.data() + end - most;
  float* const found_scores = result.piece_scores.data() + end - most;
  const int found = kernels().top(scores, output_.columns(sentence), most, found_scores, pieces);
  for (int i = 0; i < found; ++i) {
    pieces[i] = output_.piece(sentence, pieces[i]);
    found_scores[i] -= log_sum;
  }
}

std::vector<Scored> Search::score(const Batch& batch, Candidates candidates, int most, const std::atomic<bool>& stop) {
  constexpr int kMostRows = 256;  // per step, unless one target is longer
  Options options;
  options.longest = 1;
  check(batch, options);
  if (most < 0 || most > model_.shape.target_pieces)
    throw Error("the model has no " + std::to_string(most) + " most probable pieces");
  const int count = (int)batch.sources.size();
  if (batch.prefixes.size() != batch.sources.size()) throw Error("there must be one target for each sentence");
  std::vector<Scored> results((size_t)count);
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
        score_positions(batch, states, first, last, 0, longest, most, results);
      else
        for (int position = 0; position <= longest; ++position) {
          if (stop.load(std::memory_order_relaxed)) throw Error("scoring was stopped");
          score_positions(batch, states, first, last, position, position, most, results);
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
