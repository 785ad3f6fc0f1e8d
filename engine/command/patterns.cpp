#include "command/patterns.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <tuple>
#include <utility>

#include "runtime/error.h"

namespace nmt {
namespace {

struct Range {
  char32_t first, last;
};
struct Set {
  int begin, end;        // of kRanges
  uint64_t ascii, more;  // its characters up to 63, and up to 127
};
struct Pattern {
  int kind, start;
};
// kSet: one character of set a. kSplit: the next step, or else the one a steps on. kNotBehind: what ends here, a
// characters long, does not match the steps up to kEnd, nor for kNotAhead what follows; b steps on are the others.
enum Operation { kEnd, kSet, kSplit, kJump, kNotBehind, kNotAhead };
struct Step {
  Operation operation;
  int a, b;
};
#include "pattern_tables.inc"

constexpr size_t kNone = std::u32string_view::npos;
using Places = std::vector<std::pair<const Step*, size_t>>;

bool has(const Set& set, char32_t code) {
  if (code < 64) return set.ascii >> code & 1;
  if (code < 128) return set.more >> (code - 64) & 1;
  const Range* const end = kRanges + set.end;
  const Range* const after = std::upper_bound(kRanges + set.begin, end, code,
                                              [](char32_t wanted, const Range& range) { return wanted < range.first; });
  return after != kRanges + set.begin && code <= after[-1].last;
}

// The end of what steps match from a place on, or kNone. others: where to go on instead, the last one first.
size_t matched(std::u32string_view text, size_t at, const Step* step, Places& others) {
  const size_t own = others.size();
  for (;;) {
    bool good = true;
    const Step now = *step;
    switch (now.operation) {
      case kEnd: others.resize(own); return at;
      case kSet:
        good = at < text.size() && has(kSets[now.a], text[at++]);
        ++step;
        break;
      case kSplit: others.emplace_back(step++ + now.a, at); break;
      case kJump: step += now.a; break;
      case kNotBehind:
        good = at < (size_t)now.a || matched(text, at - (size_t)now.a, step + 1, others) == kNone;
        step += now.b;
        break;
      case kNotAhead:
        good = matched(text, at, step + 1, others) == kNone;
        step += now.b;
        break;
    }
    if (good) continue;
    if (others.size() == own) return kNone;
    std::tie(step, at) = others.back();
    others.pop_back();
  }
}

template <class Wanted>
std::vector<Match> all(std::u32string_view text, Wanted wanted) {
  std::vector<Match> matches;
  Places others;
  for (size_t at = 0; at < text.size(); ++at) {
    for (const Pattern& pattern : kPatterns) {
      if (!wanted(pattern.kind)) continue;
      if (const size_t end = matched(text, at, kSteps + pattern.start, others); end != kNone) {
        matches.push_back({at, end, pattern.kind});
        at = end - 1;
        break;
      }
    }
  }
  return matches;
}

constexpr int kSymbol = (int)std::size(kNames) - 1;

}  // namespace

Finder::Finder(const std::string& kinds) : wanted_(std::size(kNames)) {
  wanted_[kSymbol] = true;
  std::string known;
  for (int kind = 0; kind < kSymbol; ++kind) known += std::string(kind ? ", " : "") + kNames[kind];
  for (size_t at = 0, end; at <= kinds.size(); at = end + 1) {
    end = std::min(kinds.find(',', at), kinds.size());
    const size_t begin = std::min(kinds.find_first_not_of(' ', at), end);
    std::string name = kinds.substr(begin, end - begin);
    name.erase(name.find_last_not_of(' ') + 1);
    if (kind(name) < 0 || kind(name) == kSymbol) throw Error("--protect " + name + ": is none of " + known);
    wanted_[(size_t)kind(name)] = true;
  }
}

int Finder::kind(const std::string& name) {
  const auto found = std::find(std::begin(kNames), std::end(kNames), name);
  return found == std::end(kNames) ? -1 : (int)(found - kNames);
}

std::vector<Match> Finder::found(std::u32string_view text) const {
  Places others;
  size_t at = 0;  // most texts have nothing of what an item has
  while (at < text.size() && matched(text, at, kSteps + kMarks, others) == kNone) ++at;
  if (at == text.size()) return {};
  return all(text, [&](int kind) { return wanted_[(size_t)kind]; });
}

std::vector<Match> Finder::symbols(std::u32string_view text) {
  return all(text, [](int kind) { return kind == kSymbol; });
}

const char* name_of(int kind) { return kind <= kSymbol ? kNames[kind] : ""; }
bool is_alphanumeric(char32_t code) { return has(kSets[kAlphanumeric], code); }
bool is_latin(char32_t code) { return has(kSets[kLetter], code); }
bool is_spaced(char32_t code) { return has(kSets[kSpaced], code); }
bool is_dividing(char32_t code) { return has(kSets[kDividing], code); }

}  // namespace nmt
