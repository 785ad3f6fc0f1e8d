// Loops: what a translation says over and over. Where one is seen, the search ends the translation and keeps one
// occurrence: more of them say nothing, and what would follow a loop is mostly another one.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/model.h"
#include "search/request.h"

namespace nmt {

class Loops {
 public:
  // Watches the sentences of a batch, but for those whose source has a loop itself, which its translation may repeat.
  // Without Model::target_texts nothing is watched. shortest: see Options.
  void watch(const Batch& batch, const Model& model, int shortest);
  // How many of these pieces and the next one to cut off, as they end in a loop; 0: they do not. first: of the pieces
  // that the search chose.
  int cut(int sentence, const std::vector<int32_t>& pieces, int32_t next, int first) const;

 private:
  const std::vector<std::string>* texts_ = nullptr;
  std::vector<bool> watched_;
  int shortest_ = 0;
};

// Leaves out the last pieces of a hypothesis, with their attention.
void cut_off(Hypothesis& hypothesis, int pieces, int source_length);

}  // namespace nmt
