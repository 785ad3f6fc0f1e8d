// A library without SentencePiece, whose lines are pieces.
#include "text/tokenizer.h"

namespace nmt {

bool has_text() { return false; }

std::unique_ptr<Tokenizer> open_tokenizer(const ModelFolder&) { return nullptr; }

}  // namespace nmt
