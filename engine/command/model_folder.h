// An open model folder of the native engine: weights, vocabulary map, pieces and tokenizer; shared by any number of
// threads.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/c_api.h"
#include "command/limits.h"

namespace nmt {

class ModelFolder {
 public:
  // Throws Error for a missing or damaged file, and for a folder of another engine.
  explicit ModelFolder(const std::string& folder);

  // Tokenizes a line of any length.
  std::vector<std::string> pieces(const std::string& line) const;
  // The ids of a source sentence, with the model's prefix and suffix.
  std::vector<int32_t> numbers(const std::vector<std::string>& pieces) const;
  // The pieces that each translation begins with, which are no part of its text.
  const std::vector<int32_t>& target_prefix() const { return target_prefix_; }
  // Detokenizes a translation without its prefix, and leaves out pieces that are no text.
  std::string text(const int32_t* numbers, int count) const;

  nmt_model* model() const { return model_.get(); }
  bool mapped() const { return mapped_; }
  int32_t longest() const { return longest_; }  // limit of a translation in pieces
  size_t longest_input() const;                 // limit of a source sentence in pieces

 private:
  struct Close {
    void operator()(nmt_model* model) const { nmt_close(model); }
  };
  int32_t number(const std::string& piece) const;
  void read_description(const std::string& path);
  void read_vocabulary(const std::string& path);
  int32_t target_number(const std::string& piece, const std::string& path) const;

  bool mapped_ = false;
  int32_t longest_ = kMaximumOutput;
  std::vector<std::string> target_;
  std::unordered_map<std::string, int32_t> source_;
  std::vector<std::string> prefix_, suffix_;
  std::vector<int32_t> target_prefix_;
  std::unordered_set<int32_t> hidden_;
  int32_t unknown_ = 0;
  sentencepiece::SentencePieceProcessor tokenizer_;
  std::unique_ptr<nmt_model, Close> model_;
};

}  // namespace nmt
