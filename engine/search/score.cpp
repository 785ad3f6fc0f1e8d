// Scores of given targets, for rescoring. All pieces are known, so that all steps are one: the rows of a hypothesis stand
// in order, and each sees the keys of those before it.
#include "model/error.h"
#include "search/search.h"

namespace nmt {

std::vector<std::vector<float>> Search::score(const Batch& batch, Candidates candidates,
                                              const std::atomic<bool>& stop) {
  constexpr int kMostRows = 256;  // of a step, unless one target is longer
  Options options;
  options.longest = 1;
  check(batch, options);
  const Kernels& kernel = kernels();
  const int count = (int)batch.sources.size(), end = model_.shape.end;
  if (batch.prefixes.size() != batch.sources.size()) throw Error("there must be one target for each sentence");
  std::vector<std::vector<float>> results((size_t)count);
  if (!count) return results;
  std::vector<State> states((size_t)count);
  std::vector<Step> steps;
  try {
    decoder_.watch(-1, -1);
    decoder_.encode(batch.sources);
    output_.prepare(batch, candidates, map_, decoder_.clock);
    for (int first = 0; first < count;) {
      if (stop.load(std::memory_order_relaxed)) throw Error("scoring was stopped");
      steps.clear();
      int last = first;
      while (last < count && (last == first || steps.size() + batch.prefixes[last].size() < kMostRows)) {
        states[last].sentence = last;
        int piece = model_.shape.start;
        for (int position = 0; position <= (int)batch.prefixes[last].size(); ++position) {
          steps.push_back({&states[last], piece, position});
          if (position < (int)batch.prefixes[last].size()) piece = batch.prefixes[last][position];
        }
        ++last;
      }
      output_.compute(decoder_.step(steps.data(), (int)steps.size()), (int)steps.size(), decoder_.product, decoder_.clock);
      Timed timed(decoder_.clock, Component::search);
      for (int row = 0; row < (int)steps.size(); ++row) {
        const int sentence = steps[row].state->sentence, position = steps[row].position;
        const auto& target = batch.prefixes[sentence];
        const int piece = position < (int)target.size() ? target[position] : end;
        const float* const scores = output_.scores(row, sentence);
        results[sentence].push_back(scores[output_.column(sentence, piece)] -
                                    kernel.log_sum(scores, output_.columns(sentence)));
      }
      for (; first < last; ++first) states[first].pages.clear(decoder_.pages());
    }
  } catch (...) {
    decoder_.forget();
    throw;
  }
  return results;
}

}  // namespace nmt
