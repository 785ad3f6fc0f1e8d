// What a model folder of the native engine says beside its weights: model.json and vocabulary.json.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "folder/limits.h"

namespace nmt {

// A sentence in numbers, with the model's prefix and suffix, and what its translation begins with, which is no text.
struct Source {
  std::vector<int32_t> numbers, beginning;
};

class ModelFolder {
 public:
  // Throws Error for a missing or damaged file, and for a folder of another engine or of a later format.
  explicit ModelFolder(const std::string& folder);

  // Takes marks of languages, such as >>de<<, from the start of a line; they are pieces. Throws Error for one of a
  // language that the model does not have.
  std::vector<std::string> marks(std::string_view& line) const;
  // A sentence for the engine. Languages replace the model's prefixes.
  Source source(const std::vector<std::string>& pieces) const;
  // The pieces of a translation without its beginning; those that are no text are left out.
  std::vector<std::string> pieces(const int32_t* numbers, size_t count) const;
  // The texts of all pieces, in which loops are sought (nmt_frontier.model.native_vocabulary.Vocabulary.texts).
  std::vector<std::string> source_texts() const;
  std::vector<std::string> target_texts() const;

  std::string file(const std::string& name) const { return folder_ + "/" + name; }
  bool mapped() const { return mapped_; }
  int32_t longest() const { return longest_; }  // limit of a translation in pieces
  // Limit of a source sentence in pieces. positions: that the model has.
  size_t longest_input(int positions) const;

 private:
  int32_t number(const std::string& piece) const;
  bool is_mark(std::string_view text) const;
  void read_description();
  void read_vocabulary();
  int32_t target_number(const std::string& piece) const;

  const std::string folder_;
  bool mapped_ = false;
  int32_t longest_ = kMaximumOutput;
  std::vector<std::string> source_pieces_, target_;
  std::unordered_map<std::string, int32_t> source_;
  std::vector<std::string> prefix_, suffix_;
  std::vector<int32_t> target_prefix_;
  std::unordered_set<int32_t> hidden_;
  int32_t unknown_ = 0;
  std::unordered_map<std::string, std::string> languages_;  // by mark: the piece that the model has for it
  std::string some_marks_;                                  // for messages
  bool replaces_prefixes_ = false;                          // whether languages are no pieces of the text
};

}  // namespace nmt
