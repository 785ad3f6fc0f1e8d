// Greedy search: the best piece at each step. The softmax is computed only for scores.
#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/search.h"

namespace nmt {

Results Search::greedy(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  const Kernels& kernel = kernels();
  const int count = (int)batch.sources.size();
  Results results((size_t)count, std::vector<Hypothesis>(1));
  std::vector<States> states((size_t)count);
  std::vector<Step> steps((size_t)count);
  std::vector<bool> finished((size_t)count);
  for (int s = 0; s < count; ++s) {
    enter(states[s], s);
    steps[s] = {&states[s], model_.shape.start, 0};
    results[s][0].tokens.reserve((size_t)options.longest);
  }
  int alive = count, unfinished = count;
  while (unfinished) {
    if (stop.load(std::memory_order_relaxed)) throw Error("decoding was stopped");
    step(steps.data(), alive);
    Timed timed(network_->clock, Component::search);
    int kept = 0;
    for (int row = 0; row < alive; ++row) {
      const int s = steps[row].state->sentence;
      const Cursor cursor = this->cursor(batch, options, s, steps[row].position);
      Hypothesis& hypothesis = results[s][0];
      float* const scores = this->scores(row, s);
      if (!cursor.in_prefix()) block(hypothesis.tokens, cursor, options, scores);
      const int column = cursor.certain >= 0 ? cursor.certain : kernel.best(scores, output_.columns(s));
      const bool stuck = !cursor.in_prefix() && !(scores[column] > kNever);
      const bool scored = options.scores && !stuck && !cursor.in_prefix() && !finished[s];
      const float probability = scored ? scores[column] - kernel.log_sum(scores, output_.columns(s)) : 0;
      if (!finished[s] && extend(hypothesis, cursor, options, row, column, stuck, probability)) {
        finished[s] = true;
        --unfinished;
      }
      if (finished[s] && (options.on.remove_finished || cursor.last)) {
        release(states[s]);
        continue;
      }
      steps[kept++] = {&states[s], output_.piece(s, column), cursor.position + 1};
    }
    alive = kept;
  }
  for (States& state : states) release(state);
  return results;
}

bool Search::extend(Hypothesis& hypothesis, const Cursor& cursor, const Options& options, int row, int column,
                    bool stuck, float probability) const {
  const int s = cursor.sentence, piece = output_.piece(s, column);
  const bool ends = stuck || (piece == model_.shape.end && !cursor.in_prefix());
  hypothesis.score += probability;
  if (options.attention_layer >= 0 && !stuck) append_attention(hypothesis.attention, row, s);
  if (!ends) {
    const int loop = loops_.cut(s, hypothesis.tokens, piece, cursor.prefix);
    hypothesis.tokens.push_back(piece);
    if (loop) cut_off(hypothesis, loop, network_->source_length(s));
  }
  if (!ends && !cursor.last && !hypothesis.loop) return false;
  hypothesis.score /= normalisation(options, cursor.position + 1);
  return true;
}

}  // namespace nmt
