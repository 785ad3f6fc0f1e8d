// Text as nmt-frontier translate reads and writes it: invalid UTF-8 is replaced, and both sides are lines in NFC.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace nmt {

// Decodes UTF-8. Invalid bytes become U+FFFD, as many as Python's decoder writes, and are counted.
std::u32string decoded(std::string_view bytes, size_t& replaced);
std::string encoded(std::u32string_view text);
// A text on one line: without invisible characters, in NFC, line breaks replaced by spaces, ends stripped
// (nmt_frontier.sentence).
std::u32string sentence(const std::u32string& text);

}  // namespace nmt
