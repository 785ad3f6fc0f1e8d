#include "search/vocabulary_map.h"

#include <algorithm>

namespace nmt {
namespace {

// The table's format is nmt_frontier.model.native_map's.
uint32_t hash(const int32_t* ngram, int size) {
  uint32_t value = 0;
  for (int i = 0; i < size; ++i) {
    value = (value ^ (uint32_t)ngram[i]) * 0x9E3779B1u;
    value ^= value >> 15;
  }
  return value;
}

}  // namespace

constexpr size_t kLongest = 64;  // longest n-gram that nmt_frontier.model.native_map writes

VocabularyMap::VocabularyMap(const std::string& path, int source_pieces, int target_pieces) : file_(path) {
  if (file_.metadata("format") != "nmt-frontier-map-1") file_.fail("its format is not nmt-frontier-map-1");
  const Tensor& ngrams = file_.tensor("ngrams");
  const Tensor& slots = file_.tensor("slots");
  const Tensor& pieces = file_.tensor("pieces");
  if (ngrams.shape.size() != 2 || ngrams.shape[1] < 1 || ngrams.shape[1] > kLongest || slots.shape.size() != 1 ||
      pieces.shape.size() != 1)
    file_.fail("damaged: a table has the wrong shape");
  entries_ = ngrams.shape[0];
  longest_ = (int)ngrams.shape[1];
  slots_count_ = slots.shape[0];
  if (!slots_count_ || slots_count_ & (slots_count_ - 1) || slots_count_ <= entries_ || slots_count_ > 1u << 30)
    file_.fail("damaged: its hash table has " + std::to_string(slots_count_) + " slots");
  ngrams_ = (const int32_t*)file_.data("ngrams", "I32", ngrams.shape, 4);
  slots_ = (const int32_t*)file_.data("slots", "I32", slots.shape, 4);
  starts_ = (const int32_t*)file_.data("starts", "I32", {entries_ + 1}, 4);
  pieces_ = (const int32_t*)file_.data("pieces", "I32", pieces.shape, 4);
  const Tensor& always = file_.tensor("always");
  const auto* const first = (const int32_t*)file_.data("always", "I32", always.shape, 4);
  // All indices that a look-up follows are checked once, here.
  if (starts_[0] != 0 || (size_t)starts_[entries_] != pieces.shape[0]) file_.fail("damaged: its entries have no end");
  for (size_t e = 0; e < entries_; ++e)
    if (starts_[e] > starts_[e + 1]) file_.fail("damaged: an entry ends before it starts");
  size_t filled = 0;
  for (size_t s = 0; s < slots_count_; ++s) {
    if (slots_[s] < -1 || slots_[s] >= (int64_t)entries_) file_.fail("damaged: its hash table leads nowhere");
    filled += slots_[s] >= 0;
  }
  if (filled != entries_) file_.fail("damaged: its hash table does not hold all entries");
  always_.assign((size_t)target_pieces / 64 + 1, 0);
  for (size_t p = 0; p < always.bytes / 4; ++p) {
    if (first[p] < 0 || first[p] >= target_pieces)
      file_.fail("a piece is not in the model's vocabulary; it is another model's map");
    always_[(size_t)first[p] / 64] |= 1ull << first[p] % 64;
  }
  for (size_t p = 0; p < pieces.shape[0]; ++p)
    if (pieces_[p] < 0 || pieces_[p] >= target_pieces)
      file_.fail("a piece is not in the model's vocabulary; it is another model's map");
  for (size_t n = 0; n < entries_ * longest_; ++n)
    if (ngrams_[n] < -1 || ngrams_[n] >= source_pieces)
      file_.fail("an n-gram is not in the model's vocabulary; it is another model's map");
}

const int32_t* VocabularyMap::find(const int32_t* ngram, int size) const {
  const size_t mask = slots_count_ - 1;
  for (size_t slot = hash(ngram, size) & mask; slots_[slot] >= 0; slot = (slot + 1) & mask) {
    const int32_t* const entry = ngrams_ + (size_t)slots_[slot] * longest_;
    if (std::equal(ngram, ngram + size, entry) && (size == longest_ || entry[size] < 0)) return &starts_[slots_[slot]];
  }
  return nullptr;
}

void VocabularyMap::allow(const std::vector<int32_t>& source, std::vector<uint64_t>& bits) const {
  bits = always_;
  const int length = (int)source.size();
  for (int start = 0; start < length; ++start)
    for (int size = 1; size <= longest_ && start + size <= length; ++size)
      if (const int32_t* const entry = find(source.data() + start, size))
        for (const int32_t* piece = pieces_ + entry[0]; piece != pieces_ + entry[1]; ++piece)
          bits[(size_t)*piece / 64] |= 1ull << *piece % 64;
}

}  // namespace nmt
