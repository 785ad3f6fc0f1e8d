#include "text/nfc.h"

#include <algorithm>
#include <iterator>
#include <string_view>

namespace nmt {
namespace {

struct Decomposition {
  char32_t from;
  char32_t to[4];  // full decomposition, padded with zeros
};
struct Mark {
  char32_t code;
  int order;  // canonical combining class; 0 for characters not in the table
};
struct Composition {
  char32_t first, second, to;
};
struct Range {
  char32_t first, last;
};
#include "nfc_tables.inc"  // each table is sorted by its first column

constexpr char32_t kFirstThatChanges = 0x300;  // text of smaller characters is in NFC already
constexpr char32_t kHangul = 0xAC00, kLeading = 0x1100, kVowel = 0x1161, kTrailing = 0x11A7;
constexpr char32_t kLeadings = 19, kVowels = 21, kTrailings = 28;

int order(char32_t code) {
  const auto found = std::lower_bound(std::begin(kMarks), std::end(kMarks), code,
                                      [](const Mark& mark, char32_t wanted) { return mark.code < wanted; });
  return found != std::end(kMarks) && found->code == code ? found->order : 0;
}

void decompose(char32_t code, std::u32string& to) {
  if (code >= kHangul && code < kHangul + kLeadings * kVowels * kTrailings) {
    const char32_t syllable = code - kHangul, trailing = syllable % kTrailings;
    to += kLeading + syllable / (kVowels * kTrailings);
    to += kVowel + syllable / kTrailings % kVowels;
    if (trailing) to += kTrailing + trailing;
    return;
  }
  const auto found = std::lower_bound(std::begin(kDecompositions), std::end(kDecompositions), code,
                                      [](const Decomposition& entry, char32_t wanted) { return entry.from < wanted; });
  if (found == std::end(kDecompositions) || found->from != code) {
    to += code;
    return;
  }
  for (char32_t part : found->to)
    if (part) to += part;
}

// The composition of two characters, or 0.
char32_t composed(char32_t first, char32_t second) {
  if (first >= kLeading && first < kLeading + kLeadings && second >= kVowel && second < kVowel + kVowels)
    return kHangul + ((first - kLeading) * kVowels + second - kVowel) * kTrailings;
  const char32_t syllable = first - kHangul;
  if (first >= kHangul && syllable < kLeadings * kVowels * kTrailings && syllable % kTrailings == 0 &&
      second > kTrailing && second < kTrailing + kTrailings)
    return first + second - kTrailing;
  const auto found = std::lower_bound(std::begin(kCompositions), std::end(kCompositions), Composition{first, second, 0},
                                      [](const Composition& a, const Composition& b) {
                                        return a.first != b.first ? a.first < b.first : a.second < b.second;
                                      });
  const bool found_both = found != std::end(kCompositions) && found->first == first && found->second == second;
  return found_both ? found->to : 0;
}

// Sorts consecutive marks into canonical order.
void sort_marks(std::u32string& text) {
  for (auto start = text.begin(); start != text.end();) {
    const auto mark = [](char32_t code) { return order(code) != 0; };
    start = std::find_if(start, text.end(), mark);
    const auto end = std::find_if_not(start, text.end(), mark);
    std::stable_sort(start, end, [](char32_t a, char32_t b) { return order(a) < order(b); });
    start = end;
  }
}

template <size_t size>
bool is(const Range (&ranges)[size], char32_t code) {
  const auto after = std::upper_bound(ranges, ranges + size, code,
                                      [](char32_t wanted, const Range& range) { return wanted < range.first; });
  return after != ranges && code <= after[-1].last;
}

// The length of the tags of a region's flag that a text begins with, or 0.
size_t region_tags(std::u32string_view text) {
  const auto region = [](char32_t code) {
    return (code >= 0xE0030 && code <= 0xE0039) || (code >= 0xE0061 && code <= 0xE007A);
  };
  const size_t length = (size_t)(std::find_if_not(text.begin(), text.end(), region) - text.begin());
  return length >= 3 && length <= 6 && length < text.size() && text[length] == 0xE007F ? length + 1 : 0;
}

// What stays of the invisible characters from ``at`` to ``end``, as in Python.
void append_kept(std::u32string_view text, size_t at, size_t end, std::u32string& to) {
  const char32_t before = at ? text[at - 1] : 0, behind = end < text.size() ? text[end] : 0;
  const std::u32string_view run = text.substr(at, end - at);
  const auto append_first = [&](auto wanted) {
    const auto found = std::find_if(run.begin(), run.end(), wanted);
    if (found != run.end()) to += *found;
  };
  if (is(kEmoji, before)) {
    const size_t tags = before == 0x1F3F4 ? region_tags(run) : 0;
    to += run.substr(0, tags);
    if (!tags) append_first([](char32_t code) { return code == 0xFE0E || code == 0xFE0F; });
    if (is(kEmoji, behind)) append_first([](char32_t code) { return code == 0x200D; });
  } else if (is(kIdeographs, before)) {
    append_first([](char32_t code) { return (code & ~0xFu) == 0xFE00 || (code >= 0xE0100 && code <= 0xE01EF); });
  } else if (is(kMongolian, before)) {
    append_first([](char32_t code) { return (code >= 0x180B && code <= 0x180D) || code == 0x180F; });
    append_first([](char32_t code) { return code == 0x180E || code == 0x200C || code == 0x200D; });
  } else if (is(kJoined, before)) {
    append_first([](char32_t code) { return code == 0x200C || code == 0x200D; });
  } else if (behind == 0x20E3) {
    append_first([](char32_t code) { return code == 0xFE0F; });
  }
}

}  // namespace

bool is_letter(char32_t code) { return is(kLetters, code); }

std::u32string visible(const std::u32string& text) {
  std::u32string result;
  for (size_t at = 0; at < text.size();) {
    size_t end = at;
    while (end < text.size() && is(kInvisible, text[end])) ++end;
    if (end > at) append_kept(text, at, end, result);
    if (end < text.size()) result += text[end++];
    at = end;
  }
  return result;
}

std::u32string nfc(const std::u32string& text) {
  if (std::all_of(text.begin(), text.end(), [](char32_t code) { return code < kFirstThatChanges; })) return text;
  std::u32string parts, result;
  for (char32_t code : text) decompose(code, parts);
  sort_marks(parts);
  size_t starter = std::u32string::npos;  // index in the result of the character that a mark may compose with
  int last = 0;                           // combining class of the last character after the starter
  for (char32_t code : parts) {
    const int own = order(code);
    const bool adjacent = starter != std::u32string::npos && starter + 1 == result.size();
    if (starter != std::u32string::npos && (adjacent || last < own)) {
      if (const char32_t joined = composed(result[starter], code)) {
        result[starter] = joined;
        continue;
      }
    }
    if (!own) starter = result.size();
    last = own;
    result += code;
  }
  return result;
}

}  // namespace nmt
