// Greedy and beam search over the steps of a network, for one worker.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "model/model.h"
#include "model/network.h"
#include "search/output_layer.h"
#include "search/request.h"
#include "search/vocabulary_map.h"

namespace nmt {

class Search {
 public:
  Search(const Model& model, const VocabularyMap* map)
      : model_(model), use_(model.use()), map_(map), network_(model.network()), output_(model) {}

  // Translates a batch. stop: set by another thread to end early with an Error. Throws Error for invalid sentences or
  // options.
  Results translate(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  // Log probabilities of each target's pieces (batch.prefixes) and of its end, computed in one step if the network
  // allows.
  std::vector<std::vector<float>> score(const Batch& batch, Candidates candidates, const std::atomic<bool>& stop);
  Clock& clock() { return network_->clock; }
  Calibration& calibration() { return network_->product.calibration; }
  // team: shares the work of a batch from now on; null: this thread works alone.
  void share(Team* team) { network_->product.share(team); }

 private:
  Results searched(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  Results greedy(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  Results beams(const Batch& batch, const Options& options, const std::atomic<bool>& stop);
  void score_positions(const Batch& batch, std::vector<State>& states, int first, int last, int from, int to,
                       std::vector<std::vector<float>>& results);
  void check(const Batch& batch, const Options& options) const;

  const Model& model_;
  const std::shared_ptr<const void> use_;
  const VocabularyMap* map_;
  std::unique_ptr<Network> network_;
  OutputLayer output_;
};

// Divisor of the score of a hypothesis of this many pieces, including the end.
float normalisation(const Options& options, int length);
// Blocks every piece that would repeat an n-gram.
void block_ngrams(const std::vector<int32_t>& pieces, const Options& options, const OutputLayer& output, int sentence,
                  float* scores);

}  // namespace nmt
