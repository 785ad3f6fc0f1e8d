// For tests, texts as the command of submissions reads and writes them, each ended by a zero: broken bytes replaced, then
// on one line in NFC; at the end how many were replaced.
#include <iostream>

#include "text/text.h"

int main() {
  size_t replaced = 0;
  for (std::string text; std::getline(std::cin, text, '\0');)
    std::cout << nmt::encoded(nmt::sentence(nmt::decoded(text, replaced))) << '\n';
  std::cout << replaced << '\n';
}
