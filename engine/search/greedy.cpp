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
      const int sentence = steps[row].state->sentence, position = steps[row].position;
      Hypothesis& hypothesis = results[sentence][0];
      float* const scores = this->scores(row, sentence);
      const int columns = output_.columns(sentence);
      const int prefix = batch.prefixes.empty() ? 0 : (int)batch.prefixes[sentence].size();
      const bool last = position + 1 == prefix + options.longest;
      int column;
      if (position < prefix) {  // the only continuation
        column = output_.column(sentence, batch.prefixes[sentence][position]);
      } else {
        const int end = output_.column(sentence, model_.shape.end);
        if (position < prefix + options.shortest && end >= 0) scores[end] = kNever;
        block_ngrams(hypothesis.tokens, options, sentence, scores);
        column = last && options.forced_end && end >= 0 ? end : kernel.best(scores, columns);
      }
      const int piece = output_.piece(sentence, column);
      const bool stuck = position >= prefix && !(scores[column] > kNever);  // all blocked: end here
      const bool ends = stuck || (piece == model_.shape.end && position >= prefix);
      if (!finished[sentence]) {
        if (options.scores && !stuck && position >= prefix)
          hypothesis.score += scores[column] - kernel.log_sum(scores, columns);
        if (options.attention_layer >= 0 && !stuck) {
          const float* const weights = network_->attention(row);
          hypothesis.attention.insert(hypothesis.attention.end(), weights, weights + network_->source_length(sentence));
        }
        if (!ends) {
          const int repeated = loops_.cut(sentence, hypothesis.tokens, piece, prefix);
          hypothesis.tokens.push_back(piece);
          if (repeated) cut_off(hypothesis, repeated, network_->source_length(sentence));
        }
        if (ends || last || hypothesis.loop) {
          hypothesis.score /= normalisation(options, position + 1);
          finished[sentence] = true;
          --unfinished;
        }
      }
      if (finished[sentence] && (options.on.remove_finished || last)) {
        release(states[sentence]);
        continue;
      }
      steps[kept++] = {&states[sentence], piece, position + 1};
    }
    alive = kept;
  }
  for (States& state : states) release(state);
  return results;
}

}  // namespace nmt
