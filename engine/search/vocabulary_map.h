// The vocabulary map: the target pieces that a source n-gram brings.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "model/safetensors.h"

namespace nmt {

// A map in a safetensors file (formats.native_model): a hash table of n-grams, in place.
class VocabularyMap {
 public:
  // Throws Error for a damaged file, and for a map of a model with other vocabularies.
  VocabularyMap(const std::string& path, int source_pieces, int target_pieces);

  // Sets the bits of the target pieces that a sentence may use; the others are cleared. bits: of 64 pieces a word.
  void allow(const std::vector<int32_t>& source, std::vector<uint64_t>& bits) const;

 private:
  const int32_t* find(const int32_t* ngram, int size) const;

  SafeTensors file_;
  int longest_ = 0;             // n-gram
  size_t entries_ = 0, slots_count_ = 0;
  const int32_t* slots_;        // [slots]: an entry, or -1
  const int32_t* ngrams_;       // [entries][longest], padded with -1
  const int32_t* starts_;       // [entries + 1]: where the pieces of an entry start
  const int32_t* pieces_;
  std::vector<uint64_t> always_;  // bits of the pieces that any sentence may use
};

}  // namespace nmt
