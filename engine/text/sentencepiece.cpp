#include <sentencepiece_processor.h>

#include <algorithm>
#include <fstream>

#include "runtime/error.h"
#include "text/nfc.h"
#include "text/text.h"
#include "text/tokenizer.h"

namespace nmt {
namespace {

bool exists(const std::string& path) { return std::ifstream(path).good(); }

void load(sentencepiece::SentencePieceProcessor& tokenizer, const std::string& path) {
  if (!tokenizer.Load(path).ok()) throw Error(path + ": missing, or not a SentencePiece model");
}

// The end of the first chunk of a line: at white space if possible.
size_t chunk_end(std::u32string_view line) {
  if (line.size() <= kMaximumCharacters) return line.size();
  const size_t space = line.substr(0, kMaximumCharacters).rfind(U' ');
  return space == line.npos || space < kMaximumCharacters / 2 ? kMaximumCharacters : space;
}

// One model for both sides, or one for each.
class SentencePieces : public Tokenizer {
 public:
  SentencePieces(const ModelFolder& folder, const std::string& source, const std::string& target) : folder_(folder) {
    load(source_, source);
    load(target_, target);
  }

  Line read(std::string_view line, size_t longest) const override {
    size_t replaced = 0;
    const std::u32string whole = sentence(decoded(line, replaced));  // normalised like the training data
    std::u32string_view rest = whole;
    Line found;
    found.replaced = (int32_t)replaced;
    do {
      const size_t end = chunk_end(rest);
      append(encoded(rest.substr(0, end)), found.pieces);
      rest.remove_prefix(end);
    } while (!rest.empty() && found.pieces.size() <= longest);
    found.cut = found.pieces.size() > longest;
    if (found.cut) found.pieces.resize(longest);
    if (!found.pieces.empty() && std::none_of(whole.begin(), whole.end(), is_letter)) {
      found.copied = encoded(whole);
      found.pieces.clear();
    }
    return found;
  }

  std::string write(const std::vector<std::string>& pieces) const override {
    std::string text;
    const auto status = target_.Decode(pieces, &text);
    if (!status.ok()) throw Error("SentencePiece: " + status.ToString());
    size_t replaced = 0;
    return encoded(sentence(decoded(text, replaced)));
  }

 private:
  void append(std::string_view chunk, std::vector<std::string>& pieces) const {
    std::vector<std::string> rest;
    for (std::string& mark : folder_.marks(chunk)) pieces.push_back(std::move(mark));
    const auto status = source_.Encode(chunk, &rest);
    if (!status.ok()) throw Error("SentencePiece: " + status.ToString());
    for (std::string& piece : rest) pieces.push_back(std::move(piece));
  }

  const ModelFolder& folder_;
  sentencepiece::SentencePieceProcessor source_, target_;
};

}  // namespace

bool has_text() { return true; }

std::unique_ptr<Tokenizer> open_tokenizer(const ModelFolder& folder) {
  const std::string source = folder.file("source.sentencepiece.model");
  const std::string target = folder.file("target.sentencepiece.model"), shared = folder.file("sentencepiece.model");
  if (exists(source) || exists(target)) return std::make_unique<SentencePieces>(folder, source, target);
  return exists(shared) ? std::make_unique<SentencePieces>(folder, shared, shared) : nullptr;
}

}  // namespace nmt
