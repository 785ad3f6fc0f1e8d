// What the patterns of formats.protection find in a text, by a matcher that backtracks as Python's.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace nmt {

struct Match {
  size_t begin, end;
  int kind;
};

class Finder {
 public:
  // Kinds with commas between them; symbols of the text itself are always found. Throws Error for an unknown kind.
  explicit Finder(const std::string& kinds);

  std::vector<Match> found(std::u32string_view text) const;  // in order
  static std::vector<Match> symbols(std::u32string_view text);
  static int kind(const std::string& name);  // -1 for an unknown one

 private:
  std::vector<bool> wanted_;
};

const char* name_of(int kind);  // "" from the first number on that is no kind; the last kind is that of symbols
bool is_alphanumeric(char32_t code);
bool is_latin(char32_t code);     // whether an item must not touch it, or it becomes part of a word
bool is_spaced(char32_t code);    // whether its script has a space between words
bool is_dividing(char32_t code);  // whether no word goes on behind it

}  // namespace nmt
