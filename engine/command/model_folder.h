// An open model folder of the native engine: weights, vocabulary map, pieces and tokenizer; shared by any number of
// threads.
#pragma once

#include <sentencepiece_processor.h>

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "bindings/c_api.h"
#include "command/limits.h"

namespace nmt {

// A sentence in numbers, with the model's prefix and suffix, and what its translation begins with, which is no text.
struct Source {
  std::vector<int32_t> numbers, beginning;
};

class ModelFolder {
 public:
  // Throws Error for a missing or damaged file, and for a folder of another engine.
  explicit ModelFolder(const std::string& folder);

  // Tokenizes a line of any length. Marks of languages at its start, such as >>de<<, are pieces of their own.
  // Throws Error for one of a language that the model does not have.
  std::vector<std::string> pieces(std::string_view line) const;
  // A sentence for the engine. Languages replace the model's prefixes.
  Source source(const std::vector<std::string>& pieces) const;
  // Detokenizes a translation without its beginning, and leaves out pieces that are no text.
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
  bool is_mark(std::string_view text) const;
  std::string texts(const std::vector<std::string>& pieces, bool target) const;
  void read_description(const std::string& path);
  void read_tokenizers(const std::string& folder);
  void read_vocabulary(const std::string& path);
  int32_t target_number(const std::string& piece, const std::string& path) const;

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
  sentencepiece::SentencePieceProcessor source_tokenizer_, target_tokenizer_;
  std::unique_ptr<nmt_model, Close> model_;
};

}  // namespace nmt
