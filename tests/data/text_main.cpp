// Lines as the command of submissions writes them, for tests: broken bytes replaced, then on one line in NFC.
#include <iostream>

#include "command/text.h"

int main() {
  size_t replaced = 0;
  for (std::string line; std::getline(std::cin, line, '\0');)
    std::cout << nmt::encoded(nmt::sentence(nmt::decoded(line, replaced))) << '\n';
  std::cout << replaced << '\n';
}
