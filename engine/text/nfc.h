// Unicode's normalisation form C (https://www.unicode.org/reports/tr15), its letters, and what is invisible.
#pragma once

#include <string>

namespace nmt {

std::u32string nfc(const std::u32string& text);
// The text without characters that carry none (nmt_frontier.characters).
std::u32string visible(const std::u32string& text);
bool is_letter(char32_t code);

}  // namespace nmt
