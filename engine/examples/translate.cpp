// translate MODEL < source > target: the four best translations of each line with their scores, through the C++ header of
// nmt-frontier. Lines are text or, where the library has no SentencePiece, pieces with spaces between them.
#include <cstdio>
#include <iostream>
#include <nmt_frontier.hpp>

int main(int count, char** arguments) {
  if (count != 2) return std::fprintf(stderr, "usage: translate MODEL < source > target\n"), 2;
  try {
    const nmt_frontier::Model model(arguments[1]);
    nmt_frontier::Worker worker(model);  // one for each thread
    nmt_options options = nmt_frontier::defaults();
    options.beam_size = options.n_best = 4;
    std::vector<std::string> lines;
    for (std::string line; std::getline(std::cin, line);) lines.push_back(line);
    for (const auto& translation : nmt_has_text() ? worker.text(lines, options) : worker.pieces(lines, options))
      for (const auto& hypothesis : translation.hypotheses)
        std::printf("%.4f\t%s\n", hypothesis.score, hypothesis.text.c_str());
  } catch (const nmt_frontier::Error& error) {
    return std::fprintf(stderr, "%s\n", error.what()), 1;
  }
}
