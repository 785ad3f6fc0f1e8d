// Greedy search, beam search and sampling over the steps of a network, for one worker.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "model/model.h"
#include "model/network.h"
#include "search/loops.h"
#include "search/output_layer.h"
#include "search/request.h"
#include "search/vocabulary_map.h"

namespace nmt {

// A hypothesis in the decoders of an ensemble: its state in that of the first model, and in those of the others.
struct States : State {
  std::vector<State> others;
};

// Of one model, or of several, whose probabilities are averaged at every step. The candidates are those of the first
// model's map, attention and calibration are the first model's.
class Search {
 public:
  // Throws Error for models of different vocabularies. map: of the first model.
  Search(const std::vector<const Model*>& models, const VocabularyMap* map);

  // Translates a batch. stop: set by another thread to end early with an Error. Throws Error for invalid sentences or
  // options.
  Results translate(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  // Scores each target (batch.prefixes), in one step if the network allows. most: pieces to find at each position.
  std::vector<Scored> score(const Batch& batch, Candidates candidates, int most, const std::atomic<bool>& stop);
  void measure(bool on);                   // times components from now on, or no longer
  uint64_t ticks(size_t component) const;  // spent in all models
  uint64_t operations() const;             // multiplications and additions of the products of all models so far
  Calibration& calibration() { return network_->product.calibration; }
  // team: shares the work of a batch from now on; null: this thread works alone.
  void share(Team* team);

 private:
  // One of the models of an ensemble, but not the first.
  struct Member {
    explicit Member(const Model& model) : use(model.use()), network(model.network()), output(model) {}

    const std::shared_ptr<const void> use;
    std::unique_ptr<Network> network;
    OutputLayer output;
    std::vector<Step> steps;
  };

  class BeamSearch;
  class Samples;

  // Where the translation of a sentence is, and what may follow there.
  struct Cursor {
    int sentence, position;
    int prefix;   // its length
    int end;      // column of the end piece
    int certain;  // column of the only continuation: of the prefix, or a forced end; -1: there are others
    bool last;    // the next piece is the last one that `longest` allows

    bool in_prefix() const { return position < prefix; }
  };

  Results searched(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  Results greedy(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  Results beams(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  Results samples(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  // Encodes a batch and chooses its candidates.
  void begin(const Batch& batch, Candidates candidates, const Switches& on);
  // Computes the scores of all rows, whose states are States.
  void step(const Step* steps, int count);
  // OutputLayer::scores; those of an ensemble are logs of the mean probabilities. Call it once for a row.
  float* scores(int row, int sentence) {
    return members_.empty() ? output_.scores(row, sentence) : mean_scores(row, sentence);
  }
  float* mean_scores(int row, int sentence);
  Cursor cursor(const Batch& batch, const Options& options, int sentence, int position) const {
    const int prefix = batch.prefixes.empty() ? 0 : (int)batch.prefixes[sentence].size();
    const int end = output_.column(sentence, model_.shape.end);
    Cursor cursor{sentence, position, prefix, end, -1, position + 1 == prefix + options.longest};
    if (cursor.in_prefix())
      cursor.certain = output_.column(sentence, batch.prefixes[sentence][position]);
    else if (cursor.last && options.forced_end)
      cursor.certain = end;
    return cursor;
  }
  // Blocks the end of a translation that is too short, and every piece that would repeat an n-gram.
  void block(const std::vector<int32_t>& pieces, const Cursor& cursor, const Options& options, float* scores) const;
  void block_ngrams(const std::vector<int32_t>& pieces, const Options& options, int sentence, float* scores) const;
  // Appends the attention of a row of the last step.
  void append_attention(std::vector<float>& attention, int row, int sentence) const;
  // Extends a hypothesis by the piece of a column, or ends it if it is stuck: all pieces are blocked. probability: its
  // log. Returns whether the hypothesis is finished.
  bool extend(Hypothesis& hypothesis, const Cursor& cursor, const Options& options, int row, int column, bool stuck,
              float probability) const;
  bool takes_rows() const;
  // The following do for all models what those of Network do for one.
  void enter(States& state, int sentence) const {
    state.sentence = sentence;
    if (!members_.empty()) enter_others(state);
  }
  void inherit(States& to, const States& from) {
    network_->inherit(to, from);
    if (!members_.empty()) inherit_others(to, from);
  }
  void copy_memory(States& to, const States* from);
  void release(States& state) {
    network_->release(state);
    if (!members_.empty()) release_others(state);
  }
  void enter_others(States& state) const;
  void inherit_others(States& to, const States& from);
  void release_others(States& state);
  void reset();
  void score_positions(const Batch& batch, std::vector<States>& states, int first, int last, int from, int to, int most,
                       std::vector<Scored>& results);
  void append_best(Scored& result, int sentence, const float* scores, float log_sum, int most) const;
  void check(const Batch& batch, const Options& options) const;

  const Model& model_;
  const std::shared_ptr<const void> use_;
  const VocabularyMap* map_;
  std::unique_ptr<Network> network_;
  OutputLayer output_;
  Loops loops_;
  std::vector<std::unique_ptr<Member>> members_;
  int position_count_ = 0;          // the least of all models
  std::vector<const float*> rows_;  // of mean_scores
  std::vector<float> log_sums_;
};

// Divisor of the score of a hypothesis of this many pieces, including the end.
float normalisation(const Options& options, int length);

}  // namespace nmt
