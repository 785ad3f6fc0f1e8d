#include <algorithm>
#include <numeric>
#include <string>
#include <string_view>

#include "bindings/handles.h"

using namespace nmt;

namespace {

// Storage behind nmt_lines, of each thread.
struct StoredLines {
  std::vector<int32_t> counts, cut, replaced, limited, looped;
  std::vector<std::string> texts;
  std::vector<const char*> pointers;
  std::vector<size_t> sizes;
  std::vector<float> scores;
  nmt_lines results;
};
thread_local StoredLines stored_lines;

Line split_at_spaces(std::string_view text, size_t longest) {
  Line line;
  for (size_t at = 0; (at = text.find_first_not_of(' ', at)) != text.npos;) {
    const size_t end = std::min(text.find(' ', at), text.size());
    if ((line.cut = line.pieces.size() == longest)) break;
    line.pieces.emplace_back(text.substr(at, end - at));
    at = end;
  }
  return line;
}

std::string joined(const std::vector<std::string>& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : " ") + piece;
  return text;
}

const ModelFolder& folder_of(const nmt_worker& worker) {
  if (!worker.first->folder) throw Error("lines need a model that nmt_open_folder has opened");
  return *worker.first->folder;
}

const Tokenizer& tokenizer_of(const nmt_worker& worker) {
  const ModelFolder& folder = folder_of(worker);
  if (!has_text()) throw Error("this library has no SentencePiece: split lines with it, and call nmt_translate_pieces");
  if (!worker.first->tokenizer)
    throw Error(folder.file("") + " has no SentencePiece model: split lines as it does, and call nmt_translate_pieces");
  return *worker.first->tokenizer;
}

// A line's hypotheses, which have this beginning; none of a line without pieces.
struct Decoded {
  std::vector<Hypothesis> hypotheses;
  size_t beginning = 0;
};

// Decodes all lines with pieces in batches, longest first.
std::vector<Decoded> decoded_lines(nmt_worker& worker, const std::vector<Line>& lines, const Options& options) {
  const ModelFolder& folder = folder_of(worker);
  std::vector<Source> sources;
  std::vector<size_t> order;
  for (const Line& line : lines) {
    if (!line.pieces.empty()) order.push_back(sources.size());
    sources.push_back(folder.source(line.pieces));
  }
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return sources[a].numbers.size() > sources[b].numbers.size(); });
  std::vector<Decoded> found(lines.size());
  for (size_t start = 0; start < order.size();) {
    const size_t most =
        std::max<size_t>(kBatchTokens / sources[order[start]].numbers.size(), 1);  // the longest comes first
    const size_t end = std::min(start + most, order.size());
    Batch batch;
    for (size_t place = start; place < end; ++place) {
      batch.sources.push_back(std::move(sources[order[place]].numbers));
      batch.prefixes.push_back(std::move(sources[order[place]].beginning));
    }
    Results results = translated(worker, batch, options);
    for (size_t place = start; place < end; ++place)
      found[order[place]] = {std::move(results[place - start]), batch.prefixes[place - start].size()};
    start = end;
  }
  return found;
}

// Keeps the translations of lines for this thread. write: pieces to a text.
template <class Write>
const nmt_lines* kept(const std::vector<Line>& lines, const std::vector<Decoded>& found, const nmt_worker& worker,
                      int32_t longest, Write write) {
  StoredLines& w = stored_lines = {};
  const auto keep = [&](std::string text, const Hypothesis& hypothesis, bool limited) {
    w.texts.push_back(std::move(text));
    w.scores.push_back(hypothesis.score);
    w.limited.push_back(limited);
    w.looped.push_back(hypothesis.loop > 0);
  };
  for (size_t l = 0; l < lines.size(); ++l) {
    w.cut.push_back(lines[l].cut);
    w.replaced.push_back(lines[l].replaced);
    w.counts.push_back((int32_t)std::max<size_t>(found[l].hypotheses.size(), 1));
    if (found[l].hypotheses.empty()) keep(lines[l].copied, {}, false);
    for (const Hypothesis& hypothesis : found[l].hypotheses) {
      const size_t own = hypothesis.tokens.size() - found[l].beginning;
      const auto pieces = folder_of(worker).pieces(hypothesis.tokens.data() + found[l].beginning, own);
      keep(write(pieces), hypothesis, own >= (size_t)longest);
    }
  }
  for (const std::string& text : w.texts) w.pointers.push_back(text.c_str()), w.sizes.push_back(text.size());
  w.results = {(int64_t)w.texts.size(), w.counts.data(), w.cut.data(),     w.replaced.data(), w.pointers.data(),
               w.sizes.data(),          w.scores.data(), w.limited.data(), w.looped.data()};
  return &w.results;
}

// Translates lines. read: a text and the most pieces to a Line. write: pieces to a text.
template <class Read, class Write>
const nmt_lines* translated_lines(nmt_worker& worker, const char* const* texts, const size_t* sizes, int32_t count,
                                  const nmt_options& wanted, Read read_line, Write write) {
  if (count < 0) throw Error("there is a negative number of lines");
  Options options = options_of(wanted, *worker.first);
  options.attention_layer = -1;
  const Claim claim(worker);
  const size_t longest = folder_of(worker).longest_input(worker.positions);
  std::vector<Line> lines;
  for (int32_t l = 0; l < count; ++l)
    lines.push_back(read_line(sizes ? std::string_view(texts[l], sizes[l]) : std::string_view(texts[l]), longest));
  const std::vector<Decoded> found = decoded_lines(worker, lines, options);
  return kept(lines, found, worker, options.longest, write);
}

}  // namespace

int nmt_translate_text(nmt_worker* worker, const char* const* lines, const size_t* sizes, int32_t count,
                       const nmt_options* options, const nmt_lines** results, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    const Tokenizer& tokenizer = tokenizer_of(*worker);
    *results = translated_lines(
        *worker, lines, sizes, count, *options,
        [&](std::string_view line, size_t longest) { return tokenizer.read(line, longest); },
        [&](const std::vector<std::string>& pieces) { return tokenizer.write(pieces); });
  });
}

int nmt_translate_pieces(nmt_worker* worker, const char* const* lines, const size_t* sizes, int32_t count,
                         const nmt_options* options, const nmt_lines** results, char* error, size_t error_size) {
  return guarded(error, error_size, [&] {
    folder_of(*worker);
    *results = translated_lines(*worker, lines, sizes, count, *options, split_at_spaces, joined);
  });
}
