// Unicode's normalisation form C: https://www.unicode.org/reports/tr15
#pragma once

#include <string>

namespace nmt {

std::u32string nfc(const std::u32string& text);

}  // namespace nmt
