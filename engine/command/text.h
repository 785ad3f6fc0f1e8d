// Text as decode.translate reads and writes it: what is not UTF-8 is replaced, both sides are lines in NFC.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nmt {

// The characters of bytes in UTF-8; U+FFFD stands for what is none, as often as Python's decoder would write it, and is
// counted.
std::u32string decoded(std::string_view bytes, size_t& replaced);
std::string encoded(std::u32string_view text);
// A text on one line: in NFC, spaces in place of breaks, no white space at the ends (formats.sentence).
std::u32string sentence(const std::u32string& text);

}  // namespace nmt
