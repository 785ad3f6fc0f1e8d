#include "command/translator.h"

#include <algorithm>
#include <numeric>

#include "command/limits.h"
#include "command/nfc.h"
#include "command/text.h"
#include "runtime/error.h"

namespace nmt {
namespace {

// The end of the first chunk of a line: at white space if possible.
size_t chunk_end(std::u32string_view line) {
  if (line.size() <= kMaximumCharacters) return line.size();
  const size_t space = line.substr(0, kMaximumCharacters).rfind(U' ');
  return space == line.npos || space < kMaximumCharacters / 2 ? kMaximumCharacters : space;
}

}  // namespace

Translator::Translator(const ModelFolder& model, int threads, Counts& counts) : model_(model), counts_(counts) {
  nmt_worker* opened = nullptr;
  char error[1000];
  const nmt_model* const only = model.model();
  if (nmt_open_worker(&only, 1, threads, &opened, error, sizeof error)) throw Error(error);
  worker_.reset(opened);
}

// The first pieces of a line, up to the limit; later chunks are not tokenized. None of a line without letters, which is
// copied.
std::vector<std::string> Translator::pieces(const std::string& line, std::string& copied) {
  size_t replaced = 0;
  std::u32string whole = decoded(line, replaced);
  counts_.replaced += replaced;
  whole = sentence(whole);  // normalised like the training data
  std::u32string_view rest = whole;
  std::vector<std::string> pieces;
  const size_t longest = model_.longest_input();
  do {
    const size_t end = chunk_end(rest);
    for (std::string& piece : model_.pieces(encoded(rest.substr(0, end)))) pieces.push_back(std::move(piece));
    rest.remove_prefix(end);
  } while (!rest.empty() && pieces.size() <= longest);
  if (pieces.size() > longest) {
    ++counts_.cut;
    pieces.resize(longest);
  }
  if (!pieces.empty() && std::none_of(whole.begin(), whole.end(), is_letter)) {
    copied = encoded(whole);
    pieces.clear();
  }
  return pieces;
}

std::string Translator::translate(const std::vector<std::string>& lines) {
  std::vector<Source> sources;
  std::vector<size_t> order;  // sentences with pieces; the others stay empty, or are copied
  std::vector<std::string> outputs(lines.size());
  for (const std::string& line : lines) {
    const std::vector<std::string> sentence = pieces(line, outputs[sources.size()]);
    if (!sentence.empty()) order.push_back(sources.size());
    sources.push_back(model_.source(sentence));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources[a].numbers.size() > sources[b].numbers.size(); });
  for (size_t start = 0; start < order.size();) {
    const size_t most =
        std::max<size_t>(kBatchTokens / sources[order[start]].numbers.size(), 1);  // the longest comes first
    const size_t end = std::min(start + most, order.size());
    decode({order.begin() + (ptrdiff_t)start, order.begin() + (ptrdiff_t)end}, sources, outputs);
    start = end;
  }
  std::string text;
  for (const std::string& output : outputs) text += output + '\n';
  return text;
}

void Translator::decode(const std::vector<size_t>& places, const std::vector<Source>& sources,
                        std::vector<std::string>& outputs) {
  std::vector<int32_t> lengths, all, prefix_lengths, prefixes;
  const auto append = [](const std::vector<int32_t>& numbers, std::vector<int32_t>& sizes, std::vector<int32_t>& to) {
    sizes.push_back((int32_t)numbers.size());
    to.insert(to.end(), numbers.begin(), numbers.end());
  };
  for (size_t place : places) {
    append(sources[place].numbers, lengths, all);
    append(sources[place].beginning, prefix_lengths, prefixes);
  }
  const nmt_batch batch = {(int32_t)places.size(), lengths.data(), all.data(), prefix_lengths.data(), prefixes.data()};
  nmt_options options = {};
  options.beam_size = options.n_best = 1;
  options.length_penalty = 1;
  options.longest = model_.longest();
  options.vocabulary_map = model_.mapped();
  options.attention_layer = options.attention_head = -1;
  nmt_results results;
  char error[1000];
  if (nmt_translate(worker_.get(), &batch, &options, &results, error, sizeof error)) throw Error(error);
  const int32_t* pieces = results.pieces;
  for (size_t s = 0; s < places.size(); ++s) {
    size_t replaced = 0;
    const int32_t forced = prefix_lengths[s], count = results.lengths[s] - forced;
    counts_.limited += count >= model_.longest();
    counts_.looped += results.loops[s] > 0;
    outputs[places[s]] = encoded(sentence(decoded(model_.text(pieces + forced, count), replaced)));
    pieces += results.lengths[s];
  }
}

}  // namespace nmt
