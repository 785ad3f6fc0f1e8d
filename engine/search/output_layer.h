// The output layer of a batch: which target pieces each sentence may use, and their scores.
#pragma once

#include <vector>

#include "model/clock.h"
#include "model/model.h"
#include "model/shared_product.h"
#include "search/request.h"
#include "search/vocabulary_map.h"

namespace nmt {

class OutputLayer {
 public:
  explicit OutputLayer(const Model& model) : model_(model), kernels_(kernels()) {}

  // Chooses the candidates of a batch and gathers their weights. map: may be null with Candidates::all.
  void prepare(const Batch& batch, Candidates which, const VocabularyMap* map, Clock& clock);
  // Scores of all rows against the candidates of the batch.
  void compute(const Inputs& hidden, int rows, SharedProduct& product, Clock& clock);
  // The scores of a row of a sentence: those of its own candidates, side by side in ascending order of pieces, padded
  // with kNever to a multiple of 16, writable. They do not depend on the other sentences unless candidates are those of
  // the batch.
  float* scores(int row, int sentence);
  int columns(int sentence) const;            // of `scores`, padded
  int piece(int sentence, int column) const;  // that a column of `scores` stands for
  int column(int sentence, int piece) const;  // -1 if the sentence may not use it

 private:
  void choose(const Batch& batch, Candidates which, const VocabularyMap* map);

  const Model& model_;
  const Kernels& kernels_;
  const Linear* weights_ = nullptr;
  Linear gathered_;
  Buffer<char> panels_;
  Buffer<float> numbers_, scores_, picked_;
  bool every_piece_ = true, own_columns_ = false;
  std::vector<int32_t> pieces_;                // of the batch, ascending
  std::vector<std::vector<int32_t>> allowed_;  // of each sentence, ascending
  std::vector<std::vector<int32_t>> places_;   // of each sentence's pieces among those of the batch
  std::vector<int32_t> place_of_;              // of a piece among those of the batch
  std::vector<uint64_t> marked_, bits_;        // a bit for each piece: of the batch, of a sentence
};

}  // namespace nmt
