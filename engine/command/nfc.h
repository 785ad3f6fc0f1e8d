// Unicode's normalisation form C (https://www.unicode.org/reports/tr15) and its letters.
#pragma once

#include <string>

namespace nmt {

std::u32string nfc(const std::u32string& text);
bool is_letter(char32_t code);

}  // namespace nmt
