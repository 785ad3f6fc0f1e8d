// Lines of text to pieces and back, as nmt-frontier translate does it. It needs SentencePiece: a library has either
// sentencepiece.cpp or none.cpp.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "folder/model_folder.h"

namespace nmt {

// A line to translate. Without pieces its translation is `copied`.
struct Line {
  std::vector<std::string> pieces;
  std::string copied;
  bool cut = false;      // it had more pieces
  int32_t replaced = 0;  // bytes that were no UTF-8
};

class Tokenizer {
 public:
  virtual ~Tokenizer() = default;
  // The first pieces of a line, up to the limit; later chunks are not tokenized. A line without letters is copied.
  virtual Line read(std::string_view line, size_t longest) const = 0;
  virtual std::string write(const std::vector<std::string>& pieces) const = 0;
};

// Whether this library has SentencePiece.
bool has_text();
// The tokenizer of a folder; null if it is not SentencePiece's, or if this library has none. Throws Error for a damaged
// file.
std::unique_ptr<Tokenizer> open_tokenizer(const ModelFolder& folder);

}  // namespace nmt
