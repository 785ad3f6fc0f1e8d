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

// The search of one batch.
class Search::BeamSearch {
 public:
  BeamSearch(Search& search, const Batch& batch, const Options& options);
  Results run(const std::atomic<bool>& stop);

 private:
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

  struct Sentence {
    Beams beams;
    std::vector<Hypothesis> finished;
    bool best_ended = false;  // in some step the best continuation ended
    bool done = false;
    Cursor cursor{};    // in this step
    int first_row = 0;  // of the step: that of beams[0]
  };

  struct Continuation {
    float score;
    int beam, column;
  };

  bool gather_rows(int position);
  void advance(Sentence& sentence);
  void find_continuations(Sentence& sentence);
  void rank_pieces(Sentence& sentence, int beam);
  bool keep(const Continuation& next);
  void choose_continuations(Sentence& sentence);
  int repeated(Sentence& sentence, const Continuation& next) const;
  void go_on(Sentence& sentence, const Continuation& next);
  void finish(Sentence& sentence, const Continuation& last, bool ends, int loop);
  void finish_all(Sentence& sentence);
  bool enough(Sentence& sentence) const;
  bool can_improve(Sentence& sentence, int length) const;
  void release(Beams& beams);
  Results best_finished();

  Search& search_;
  const Batch& batch_;
  const Options& options_;
  const OutputLayer& output_;
  const Kernels& kernel_;
  std::vector<Sentence> sentences_;
  std::vector<Step> steps_;
  // Of the sentence that advances: its best continuations, in order, and the hypotheses that go on.
  std::vector<Continuation> best_;
  Beams next_;
  // Of the hypothesis whose pieces are ranked: scores and columns of the best ones.
  std::vector<float> values_;
  std::vector<int32_t> columns_;
};

Search::BeamSearch::BeamSearch(Search& search, const Batch& batch, const Options& options)
    : search_(search),
      batch_(batch),
      options_(options),
      output_(search.output_),
      kernel_(kernels()),
      sentences_(batch.sources.size()),
      values_(2 * (size_t)options.beam_size),
      columns_(values_.size()) {
  for (size_t s = 0; s < sentences_.size(); ++s) {
    States& state = sentences_[s].beams.add().state;
    search.enter(state, (int)s);
    if (!options.on.shared_cache) search.copy_memory(state, nullptr);
  }
}

Results Search::BeamSearch::run(const std::atomic<bool>& stop) {
  for (int position = 0; gather_rows(position); ++position) {
    if (stop.load(std::memory_order_relaxed)) throw Error("decoding was stopped");
    search_.step(steps_.data(), (int)steps_.size());
    Timed timed(search_.network_->clock, Component::search);
    for (Sentence& sentence : sentences_)
      if (!sentence.done) advance(sentence);
  }
  return best_finished();
}

// Gathers the rows of a step, all live hypotheses. Returns whether there are any.
bool Search::BeamSearch::gather_rows(int position) {
  steps_.clear();
  for (size_t s = 0; s < sentences_.size(); ++s) {
    Sentence& sentence = sentences_[s];
    if (sentence.done) continue;
    sentence.cursor = search_.cursor(batch_, options_, (int)s, position);
    sentence.first_row = (int)steps_.size();
    for (LiveHypothesis& beam : sentence.beams)
      steps_.push_back({&beam.state, beam.tokens.empty() ? search_.model_.shape.start : beam.tokens.back(), position});
  }
  return !steps_.empty();
}

// Extends the hypotheses of a sentence by a piece, after a step; a sentence that is done leaves the search.
void Search::BeamSearch::advance(Sentence& sentence) {
  find_continuations(sentence);
  if (best_.empty()) finish_all(sentence);  // every piece is blocked: end here
  next_.clear();
  choose_continuations(sentence);
  release(sentence.beams);
  std::swap(sentence.beams, next_);
  sentence.done = enough(sentence) || sentence.cursor.last || sentence.beams.empty();
  if (sentence.done) release(sentence.beams);
}

// Finds the best continuations of all hypotheses of a sentence.
void Search::BeamSearch::find_continuations(Sentence& sentence) {
  best_.clear();
  for (int beam = 0; beam < sentence.beams.size(); ++beam)
    if (sentence.cursor.certain >= 0)
      keep({sentence.beams[beam].score, beam, sentence.cursor.certain});
    else
      rank_pieces(sentence, beam);
}

// Keeps the best continuations of a hypothesis by the pieces that are not blocked.
void Search::BeamSearch::rank_pieces(Sentence& sentence, int beam) {
  const LiveHypothesis& alive = sentence.beams[beam];
  const int columns = output_.columns(sentence.cursor.sentence);
  float* const scores = search_.scores(sentence.first_row + beam, sentence.cursor.sentence);
  const float all = options_.as_transformers ? kernel_.log_sum(scores, columns) : 0;
  search_.block(alive.tokens, sentence.cursor, options_, scores);
  const float total = alive.score - (options_.as_transformers ? all : kernel_.log_sum(scores, columns));
  const int most = std::min((int)values_.size(), columns);
  const int found = kernel_.top(scores, columns, most, values_.data(), columns_.data());
  int i = 0;
  while (i < found && keep({total + values_[i], beam, columns_[i]})) ++i;
}

// Keeps the best continuations in order; of equal ones the first to come is first. Returns whether it was kept.
bool Search::BeamSearch::keep(const Continuation& next) {
  if (best_.size() == values_.size()) {
    if (!(best_.back().score < next.score)) return false;
    best_.pop_back();
  }
  auto place = best_.end();
  while (place != best_.begin() && place[-1].score < next.score) --place;
  best_.insert(place, next);
  return true;
}

// Goes on with the best continuations, or finishes those that end. Others take the places of finished ones.
void Search::BeamSearch::choose_continuations(Sentence& sentence) {
  const Cursor& cursor = sentence.cursor;
  const size_t beam = (size_t)options_.beam_size;
  size_t reserve = beam;  // next continuation that may fill a free place
  for (size_t k = 0; k < best_.size() && k < beam; ++k) {
    const bool ends = best_[k].column == cursor.end && !cursor.in_prefix();
    const int loop = repeated(sentence, best_[k]);
    if (!ends && !cursor.last && !loop) {
      go_on(sentence, best_[k]);
      continue;
    }
    finish(sentence, best_[k], ends, loop);
    sentence.best_ended |= k == 0;
    if (cursor.last) continue;
    while (reserve < best_.size() && (best_[reserve].column == cursor.end || repeated(sentence, best_[reserve])))
      ++reserve;
    if (reserve < best_.size()) go_on(sentence, best_[reserve++]);
  }
}

// How many pieces of a continuation to cut off, as it ends in a loop (Loops::cut).
int Search::BeamSearch::repeated(Sentence& sentence, const Continuation& next) const {
  const Cursor& cursor = sentence.cursor;
  if (next.column == cursor.end) return 0;
  const int32_t piece = output_.piece(cursor.sentence, next.column);
  return search_.loops_.cut(cursor.sentence, sentence.beams[next.beam].tokens, piece, cursor.prefix);
}

void Search::BeamSearch::go_on(Sentence& sentence, const Continuation& next) {
  const int s = sentence.cursor.sentence;
  const LiveHypothesis& from = sentence.beams[next.beam];
  LiveHypothesis& alive = next_.add();
  search_.enter(alive.state, s);
  search_.inherit(alive.state, from.state);
  if (!options_.on.shared_cache) search_.copy_memory(alive.state, &from.state);
  alive.tokens.reserve(from.tokens.size() + 16);
  alive.tokens = from.tokens;
  alive.tokens.push_back(output_.piece(s, next.column));
  alive.score = next.score;
  if (options_.attention_layer < 0) return;
  alive.attention = from.attention;
  search_.append_attention(alive.attention, sentence.first_row + next.beam, s);
}

// ends: `last` is the end. loop: pieces to cut off.
void Search::BeamSearch::finish(Sentence& sentence, const Continuation& last, bool ends, int loop) {
  const int s = sentence.cursor.sentence;
  const LiveHypothesis& from = sentence.beams[last.beam];
  Hypothesis done{from.tokens, last.score / normalisation(options_, sentence.cursor.position + 1), from.attention};
  if (!ends) done.tokens.push_back(output_.piece(s, last.column));
  if (options_.attention_layer >= 0) search_.append_attention(done.attention, sentence.first_row + last.beam, s);
  if (loop) cut_off(done, loop, search_.network_->source_length(s));
  sentence.finished.push_back(std::move(done));
}

// Finishes the hypotheses of a sentence as they are.
void Search::BeamSearch::finish_all(Sentence& sentence) {
  for (const LiveHypothesis& alive : sentence.beams) {
    const float score = alive.score / normalisation(options_, sentence.cursor.position + 1);
    sentence.finished.push_back({alive.tokens, score, alive.attention});
  }
}

// The stop rule (Stop): whether a sentence needs no more finished hypotheses.
bool Search::BeamSearch::enough(Sentence& sentence) const {
  const int finished = (int)sentence.finished.size();
  if (options_.stop == Stop::early && options_.length_penalty == 0)  // the best is known
    return sentence.best_ended && finished >= options_.n_best;
  if (finished < options_.beam_size) return false;
  if (options_.stop < Stop::likely) return true;
  const Cursor& cursor = sentence.cursor;
  const bool longest = options_.stop == Stop::never && options_.length_penalty > 0;
  return !can_improve(sentence, longest ? cursor.prefix + options_.longest : cursor.position + 1);
}

// Whether the best live hypothesis would beat the worst of the `beam` best finished ones, of which there are as many,
// at a length of this many pieces with the end.
bool Search::BeamSearch::can_improve(Sentence& sentence, int length) const {
  std::vector<Hypothesis>& finished = sentence.finished;
  std::stable_sort(finished.begin(), finished.end(),
                   [](const Hypothesis& a, const Hypothesis& b) { return a.score > b.score; });
  float best = kNever;
  for (const LiveHypothesis& alive : sentence.beams) best = std::max(best, alive.score);
  return best / normalisation(options_, length) > finished[(size_t)options_.beam_size - 1].score;
}

void Search::BeamSearch::release(Beams& beams) {
  for (LiveHypothesis& alive : beams) search_.release(alive.state);
}

// The n best finished hypotheses of each sentence, those with loops last.
Results Search::BeamSearch::best_finished() {
  Results results;
  results.reserve(sentences_.size());
  for (Sentence& sentence : sentences_) {
    std::vector<Hypothesis>& finished = sentence.finished;
    std::stable_sort(finished.begin(), finished.end(), [](const Hypothesis& a, const Hypothesis& b) {
      return (a.loop == 0) != (b.loop == 0) ? a.loop == 0 : a.score > b.score;
    });
    if ((int)finished.size() > options_.n_best) finished.resize((size_t)options_.n_best);
    results.push_back(std::move(finished));
  }
  return results;
}

Results Search::beams(const Batch& batch, const Options& options, const std::atomic<bool>& stop) {
  return BeamSearch(*this, batch, options).run(stop);
}

}  // namespace nmt
