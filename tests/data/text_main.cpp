// For tests, texts as the command of submissions treats them, each ended by a zero; both sides of the program are alike.
//   (no arguments)                    broken bytes replaced, then on one line in NFC; at the end how many were replaced
//   KINDS                             what is protected: its kind, where it begins and where it ends
//   KINDS MISSING SYMBOLS             of pairs of a line and its translation: what is translated for each line, then for
//                                     what is translated again, as it is, then the results, then the summary
#include <iostream>
#include <iterator>
#include <utility>

#include "command/protection.h"
#include "command/text.h"

using namespace nmt;

namespace {

std::u32string read(const std::string& text) {
  size_t replaced = 0;
  return decoded(text, replaced);
}

void write(const Protection::Lines& lines) {
  for (const std::u32string& line : lines) std::cout << encoded(line) << '\0';
}

void write_found(const std::vector<std::string>& texts, const std::string& kinds) {
  const Finder finder(kinds);
  for (const std::string& text : texts) {
    for (const Match& match : finder.found(read(text)))
      std::cout << name_of(match.kind) << ' ' << match.begin << ' ' << match.end << ' ';
    std::cout << '\0';
  }
}

void write_protected(const std::vector<std::string>& texts, char** arguments) {
  const std::string missing = arguments[2];
  Protection protection(arguments[1],
                        missing == "keep"     ? Missing::kKeep
                        : missing == "append" ? Missing::kAppend
                                              : Missing::kLost,
                        std::stoul(arguments[3]));
  Protection::Lines lines, outputs;
  for (size_t at = 0; at < texts.size(); ++at) (at % 2 ? outputs : lines).push_back(read(texts[at]));
  bool again = false;
  const auto plain = [&](const Protection::Lines& given) {
    write(given);
    const bool second = std::exchange(again, true);
    Protection::Lines found = second ? given : outputs;
    for (size_t at = 0; at < given.size(); ++at)
      if (given[at].empty()) found[at].clear();
    return found;
  };
  write(protection.translated(lines, plain));
  std::cout << protection.summary() << '\0';
}

void write_lines(const std::vector<std::string>& texts) {
  size_t replaced = 0;
  for (const std::string& text : texts) std::cout << encoded(sentence(decoded(text, replaced))) << '\n';
  std::cout << replaced << '\n';
}

}  // namespace

int main(int count, char** arguments) {
  std::vector<std::string> texts;
  for (std::string text; std::getline(std::cin, text, '\0');) texts.push_back(text);
  if (count == 4)
    write_protected(texts, arguments);
  else if (count == 2)
    write_found(texts, arguments[1]);
  else
    write_lines(texts);
}
