// The vocabulary map: candidate target pieces of each source n-gram.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "runtime/safetensors.h"

namespace nmt {

// A memory-mapped hash table of n-grams in a safetensors file (nmt_frontier.model.native_map).
class VocabularyMap {
 public:
  // Throws Error for a damaged file, and for a map of other vocabularies.
  VocabularyMap(const std::string& path, int source_pieces, int target_pieces);

  // Sets the bits of a sentence's candidates and clears the others. bits: 64 pieces per word.
  void allow(const std::vector<int32_t>& source, std::vector<uint64_t>& bits) const;

 private:
  const int32_t* find(const int32_t* ngram, int size) const;

  SafeTensors file_;
  int longest_ = 0;  // n-gram length
  size_t entries_ = 0, slots_count_ = 0;
  const int32_t* slots_;   // [slots]: an entry, or -1
  const int32_t* ngrams_;  // [entries][longest], padded with -1
  const int32_t* starts_;  // [entries + 1]: start of each entry's pieces
  const int32_t* pieces_;
  std::vector<uint64_t> always_;  // bits of the pieces that every sentence may use
};

}  // namespace nmt
