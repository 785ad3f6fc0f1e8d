// The output layer of a batch: which target pieces each sentence may use, and their scores.
#pragma once

#include <vector>

#include "model/model.h"
#include "runtime/clock.h"
#include "runtime/dispatch.h"
#include "runtime/shared_product.h"
#include "search/request.h"
#include "search/vocabulary_map.h"

namespace nmt {

class OutputLayer {
 public:
  explicit OutputLayer(const Model& model) : model_(model), kernels_(kernels()) {}

  // Chooses the candidates of a batch and gathers their weights. map: null only with Candidates::all.
  void prepare(const Batch& batch, Candidates which, const VocabularyMap* map, Clock& clock);
  // Takes the candidates that another model of the same vocabulary has for the batch.
  void follow(const OutputLayer& first, Clock& clock);
  // Scores of all rows against the candidates of the batch.
  void compute(const Inputs& hidden, int rows, SharedProduct& product, Clock& clock);
  // The scores of a row for its sentence's candidates, in ascending order of pieces, padded with kNever to a multiple
  // of 16, writable. They do not depend on other sentences except with Candidates::per_batch.
  float* scores(int row, int sentence);
  int columns(int sentence) const;            // length of `scores`, with padding
  int piece(int sentence, int column) const;  // of a column of `scores`
  int column(int sentence, int piece) const;  // -1 if the sentence may not use the piece

 private:
  void choose(const Batch& batch, Candidates which, const VocabularyMap* map);
  void gather();

  const Model& model_;
  const Kernels& kernels_;
  const Linear* weights_ = nullptr;
  Linear gathered_;
  Buffer<char> panels_;
  Buffer<float> numbers_, scores_, picked_;
  bool every_piece_ = true, own_columns_ = false;
  std::vector<int32_t> pieces_;                // candidates of the batch, ascending
  std::vector<std::vector<int32_t>> allowed_;  // candidates of each sentence, ascending
  std::vector<std::vector<int32_t>> places_;   // indices of each sentence's candidates in pieces_
  std::vector<int32_t> place_of_;              // index of each piece in pieces_
  std::vector<uint64_t> marked_, bits_;        // a bit per piece: of the batch, of a sentence
};

}  // namespace nmt
