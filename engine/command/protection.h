// Text that a translation must have as it is: hidden behind symbols before decoding, put back after it; the same as
// decode.protection does.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <string>
#include <vector>

#include "command/patterns.h"

namespace nmt {

enum class Missing { kLost, kAppend, kKeep };

enum class Side { kText, kAny, kTouching, kApart };  // a tag touched text there; other text to keep stood apart

// A part of a line. kind: of text to keep, or -1. before, after: what was on its left and on its right, if it is kept.
// begin: where it is in the line.
struct Part {
  std::u32string text;
  int kind = -1;
  Side before = Side::kText, after = Side::kText;
  size_t begin = 0;

  bool kept() const { return kind >= 0; }
};
using Parts = std::vector<Part>;

// A line as it is translated. symbols: how many of what is kept are symbols in the text. copied: it has nothing to
// translate, and the text is its translation. divided: it is translated in pieces around what is kept.
struct Hidden {
  std::u32string text;
  Parts parts;
  size_t symbols = 0;
  bool copied = false, divided = false;
};

class Protection {
 public:
  using Lines = std::vector<std::u32string>;

  // symbols: as many as the vocabulary has, from the first one on; with none, `missing` must say what to do.
  Protection(const std::string& kinds, Missing missing, size_t symbols)
      : finder_(kinds), missing_(missing), symbols_(symbols) {}

  // The translations of lines by `plain`, with what must be kept. Any number of threads may call it.
  Lines translated(const Lines& lines, const std::function<Lines(const Lines&)>& plain);
  // What was protected, by kind, and what the model lost or repeated; empty if nothing was.
  std::string summary() const;

  static std::u32string symbol(size_t number);  // from 1 to kSymbols
  static constexpr size_t kSymbols = 16;

 private:
  using Kept = std::vector<const Part*>;
  using Counts = std::array<std::atomic<size_t>, 16>;  // by kind

  Hidden hide(const std::u32string& line) const;
  std::u32string with_symbols(const Parts& parts) const;
  std::u32string restored(const Hidden& source, const std::u32string& output, bool& failed);
  static void count(const Kept& items, Counts& counts);

  const Finder finder_;
  const Missing missing_;
  const size_t symbols_;
  Counts protected_{}, lost_{}, repeated_{};
};

}  // namespace nmt
