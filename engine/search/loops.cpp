#include "search/loops.h"

#include <algorithm>
#include <cstring>

namespace nmt {
namespace {

// As in findings.loops, a loop is what comes four times in a row: words, twelve characters with a letter, or 24 with a digit.
constexpr int kTimes = 4, kCharacters = 12, kWithDigits = 24;
constexpr int kPeriod = 64;         // bytes of what is repeated: four words
constexpr int kTail = 5 * kPeriod;  // bytes of a translation in which a loop is sought

// Whether so many occurrences of these bytes are a loop. Bytes above 127 are of letters. inside: a word goes on after
// them, so that the last of the words is another one.
bool counts(const char* bytes, int size, int times, bool inside) {
  int characters = 0;
  bool letter = false, digit = false;
  for (const char* at = bytes; at != bytes + size; ++at) {
    characters += ((unsigned char)*at & 0xC0) != 0x80;
    letter |= (unsigned char)*at > 0x7F || (*at >= 'a' && *at <= 'z');
    digit |= *at >= '0' && *at <= '9';
  }
  const int spaces = (int)std::count(bytes, bytes + size, ' ');
  if (spaces) return characters > spaces && !inside;
  return (letter || digit) && characters * times >= (letter ? kCharacters : kWithDigits);
}

// How many of the bytes before `end` to leave out, so that one occurrence stays of the loop in which they end.
int repeated(const char* begin, const char* end, bool inside) {
  for (int period = 1; period <= kPeriod && period * kTimes <= end - begin; ++period) {
    if (end[-1] != end[-1 - period]) continue;
    int same = 1;  // bytes equal to the one a period before
    while (end - begin > same + period && end[-1 - same] == end[-1 - same - period]) ++same;
    const int times = same / period + 1;
    if (times >= kTimes && counts(end - period, period, times, inside)) return same;
  }
  return 0;
}

bool has_loop(const std::vector<int32_t>& source, const std::vector<std::string>& texts) {
  std::string text;
  for (const int32_t piece : source) text += texts[(size_t)piece];
  const char* const begin = text.data();
  for (int end = kTimes; end <= (int)text.size(); ++end)  // "A A A ARE" may not excuse loops of the translation
    if (repeated(begin + std::max(0, end - kTail), begin + end, begin[end] && begin[end] != ' ')) return true;
  return false;
}

}  // namespace

void Loops::watch(const Batch& batch, const Model& model, int shortest) {
  watched_.assign(batch.sources.size(), false);
  if (model.target_texts.empty()) return;
  texts_ = &model.target_texts;
  shortest_ = shortest;
  for (size_t s = 0; s < watched_.size(); ++s) watched_[s] = !has_loop(batch.sources[s], model.source_texts);
}

int Loops::cut(int sentence, const std::vector<int32_t>& pieces, int32_t next, int first) const {
  if (!watched_[(size_t)sentence]) return 0;
  const int size = (int)pieces.size(), count = size + 1 - first;
  const auto text = [&](int place) -> const std::string& {  // of a piece, by its place from the end
    return (*texts_)[(size_t)(place ? pieces[(size_t)(size - place)] : next)];
  };
  const auto length = [&](int place) {  // without the first of two spaces, which findings.loops sees as one
    const bool twice = place && text(place) == " " && !text(place - 1).empty() && text(place - 1)[0] == ' ';
    return twice ? 0 : (int)text(place).size();
  };
  char tail[kTail];
  int begin = kTail;
  if (length(0) > kTail) return 0;
  for (int place = 0; place < count && length(place) <= begin; ++place) {
    begin -= length(place);
    std::memcpy(tail + begin, text(place).data(), (size_t)length(place));
  }
  int left = 0, found = 0;
  for (int end = kTail - length(0) + 1; end <= kTail && !left; ++end)  // it may end inside of the last piece
    if (const int same = repeated(tail + begin, tail + end, false)) left = same + kTail - end;
  while (left && length(found) <= left) left -= length(found++);
  return std::max(0, std::min(found, count - shortest_));
}

void cut_off(Hypothesis& hypothesis, int pieces, int source_length) {
  hypothesis.loop = pieces;
  hypothesis.tokens.resize(hypothesis.tokens.size() - (size_t)pieces);
  if (!hypothesis.attention.empty()) hypothesis.attention.resize(hypothesis.tokens.size() * (size_t)source_length);
}

}  // namespace nmt
