// Beam search, as CTranslate2 does it, so that equal weights give equal translations.
//
// A step takes the 2 x beam best continuations of a sentence's hypotheses. Among the best `beam`, those that end are
// finished, and the next ones that do not end take their places. A sentence is done with `beam` finished hypotheses;
// without a length penalty, where no longer hypothesis can beat a finished one, as soon as the best continuation has
// ended and there are n-best. The other ways to stop are those of transformers. A hypothesis that repeats itself
// (loops.h) is finished, too, behind all others: its pieces are probable only because they repeat.
#include <algorithm>
#include <cmath>

#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/search.h"

namespace nmt {
namespace {

// A hypothesis that has not ended.
struct LiveHypothesis {
  States state;
  std::vector<int32_t> tokens;
  std::vector<float> attention;
  float score = 0;
};

// The hypotheses of a sentence. Cleared ones are taken again, so that their vectors keep their memory.
class Beams {
 public:
  int size() const { return (int)size_; }
  bool empty() const { return !size_; }
  LiveHypothesis* begin() { return slots_.data(); }
  LiveHypothesis* end() { return slots_.data() + size_; }
  LiveHypothesis& operator[](int number) { return slots_[(size_t)number]; }
  LiveHypothesis& add() {
    if (size_ == slots_.size()) slots_.emplace_back();
    return slots_[size_++];
  }
  void clear() { size_ = 0; }

 private:
  std::vector<LiveHypothesis> slots_;
  size_t size_ = 0;
};

struct Continuation {
  float score;
  int beam, column;
};

// Keeps the best continuations in order; of equal ones the first to come is first. Returns whether it was kept.
bool keep(std::vector<Continuation>& best, size_t most, const Continuation& next) {
  if (best.size() == most) {
    if (!(best.back().score < next.score)) return false;
    best.pop_back();
  }
  auto place = best.end();
  while (place != best.begin() && place[-1].score < next.score) --place;
  best.insert(place, next);
  return true;
}

struct Sentence {
  Beams beams;
  std::vector<Hypothesis> finished;
  bool best_ended = false;  // in some step the best continuation ended
  bool done = false;
};

// Whether the best live hypothesis would beat the worst of the `beam` best finished ones, at a length of this many
// pieces with the end.
bool can_improve(Sentence& sentence, const Options& options, int length) {
  std::vector<Hypothesis>& finished = sentence.finished;
  const size_t beam = (size_t)options.beam_size;
  if (finished.size() < beam) return true;
  std::stable_sort(finished.begin(), finished.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  float best = kNever;
  for (const LiveHypothesis& alive : sentence.beams) best = std::max(best, alive.score);
  return best / normalisation(options, length) > finished[beam - 1].score;
}

}  // namespace

Results Search::beams(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  const Kernels& kernel = kernels();
  const int count = (int)batch.sources.size(), most = 2 * options.beam_size;
  std::vector<Sentence> sentences((size_t)count);
  for (int s = 0; s < count; ++s) {
    enter(sentences[s].beams.add().state, s);
    if (!options.on.shared_cache) copy_memory(sentences[s].beams[0].state, nullptr);
  }
  std::vector<Step> steps;
  std::vector<Continuation> best;
  std::vector<float> values((size_t)most);
  std::vector<int32_t> places((size_t)most);
  Beams next;
  for (int position = 0;; ++position) {
    steps.clear();
    for (Sentence& sentence : sentences)
      if (!sentence.done)
        for (LiveHypothesis& beam : sentence.beams)
          steps.push_back({&beam.state, beam.tokens.empty() ? model_.shape.start : beam.tokens.back(), position});
    if (steps.empty()) break;
    if (stop.load(std::memory_order_relaxed)) throw Error("decoding was stopped");
    step(steps.data(), (int)steps.size());
    Timed timed(network_->clock, Component::search);
    int row = 0;
    for (int s = 0; s < count; ++s) {
      Sentence& sentence = sentences[s];
      if (sentence.done) continue;
      const int prefix = batch.prefixes.empty() ? 0 : (int)batch.prefixes[s].size();
      const int columns = output_.columns(s), end = output_.column(s, model_.shape.end);
      const bool last = position + 1 == prefix + options.longest;
      best.clear();
      const int first_row = row;
      for (int beam = 0; beam < sentence.beams.size(); ++beam, ++row) {
        LiveHypothesis& alive = sentence.beams[beam];
        if (position < prefix) {  // the only continuation, certain
          keep(best, (size_t)most, {alive.score, beam, output_.column(s, batch.prefixes[s][position])});
          continue;
        }
        if (last && options.forced_end && end >= 0) {
          keep(best, (size_t)most, {alive.score, beam, end});
          continue;
        }
        float* const scores = this->scores(row, s);
        const float all = options.as_transformers ? kernel.log_sum(scores, columns) : 0;
        if (position < prefix + options.shortest && end >= 0) scores[end] = kNever;
        block_ngrams(alive.tokens, options, s, scores);
        const float total = alive.score - (options.as_transformers ? all : kernel.log_sum(scores, columns));
        const int found = kernel.top(scores, columns, std::min(most, columns), values.data(), places.data());
        int i = 0;
        while (i < found && keep(best, (size_t)most, {total + values[i], beam, places[i]})) ++i;
      }

      if (best.empty()) {  // every piece is blocked: end here
        for (const LiveHypothesis& alive : sentence.beams)
          sentence.finished.push_back(
              {alive.tokens, alive.score / normalisation(options, position + 1), alive.attention});
      }

      next.clear();
      const auto goes_on = [&](const Continuation& c) {
        const LiveHypothesis& from = sentence.beams[c.beam];
        LiveHypothesis& alive = next.add();
        enter(alive.state, s);
        inherit(alive.state, from.state);
        if (!options.on.shared_cache) copy_memory(alive.state, &from.state);
        alive.tokens.reserve(from.tokens.size() + 16);
        alive.tokens = from.tokens;
        alive.tokens.push_back(output_.piece(s, c.column));
        alive.score = c.score;
        if (options.attention_layer >= 0) {
          const float* const weights = network_->attention(first_row + c.beam);
          alive.attention = from.attention;
          alive.attention.insert(alive.attention.end(), weights, weights + network_->source_length(s));
        }
      };
      const auto repeated = [&](const Continuation& c) {
        return c.column == end ? 0 : loops_.cut(s, sentence.beams[c.beam].tokens, output_.piece(s, c.column), prefix);
      };
      size_t reserve = (size_t)options.beam_size;  // next continuation that may fill a free place
      for (size_t k = 0; k < best.size() && k < (size_t)options.beam_size; ++k) {
        const bool ends = best[k].column == end && position >= prefix;
        const int loop = repeated(best[k]);
        if (!ends && !last && !loop) {
          goes_on(best[k]);
          continue;
        }
        const LiveHypothesis& from = sentence.beams[best[k].beam];
        Hypothesis done{from.tokens, best[k].score / normalisation(options, position + 1), from.attention};
        if (!ends) done.tokens.push_back(output_.piece(s, best[k].column));
        if (options.attention_layer >= 0) {
          const float* const weights = network_->attention(first_row + best[k].beam);
          done.attention.insert(done.attention.end(), weights, weights + network_->source_length(s));
        }
        if (loop) cut_off(done, loop, network_->source_length(s));
        sentence.finished.push_back(std::move(done));
        sentence.best_ended |= k == 0;
        while (!last && reserve < best.size() && (best[reserve].column == end || repeated(best[reserve]))) ++reserve;
        if (!last && reserve < best.size()) goes_on(best[reserve++]);
      }
      for (LiveHypothesis& alive : sentence.beams) release(alive.state);
      std::swap(sentence.beams, next);
      const int finished = (int)sentence.finished.size();
      const bool best_known = options.stop == Stop::early && options.length_penalty == 0;
      bool enough = best_known ? sentence.best_ended && finished >= options.n_best : finished >= options.beam_size;
      if (enough && options.stop >= Stop::likely) {
        const bool longest = options.stop == Stop::never && options.length_penalty > 0;
        enough = !can_improve(sentence, options, longest ? prefix + options.longest : position + 1);
      }
      sentence.done = last || sentence.beams.empty() || enough;
      if (sentence.done)
        for (LiveHypothesis& alive : sentence.beams) release(alive.state);
    }
  }
  Results results((size_t)count);
  for (int s = 0; s < count; ++s) {
    auto& finished = sentences[s].finished;
    std::stable_sort(finished.begin(), finished.end(), [](const Hypothesis& a, const Hypothesis& b) {
      return (a.loop == 0) != (b.loop == 0) ? a.loop == 0 : a.score > b.score;
    });
    if ((int)finished.size() > options.n_best) finished.resize((size_t)options.n_best);
    results[s] = std::move(finished);
  }
  return results;
}

}  // namespace nmt
