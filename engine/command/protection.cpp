#include "command/protection.h"

#include <algorithm>
#include <map>
#include <string_view>

#include "command/nfc.h"
#include "command/text.h"

namespace nmt {
namespace {

constexpr char32_t kOpen = U'⟦', kClose = U'⟧';
constexpr std::u32string_view kClosing = U" .,;:!?";  // no space before them

bool has_letters(const Part& part) {
  return !part.kept() && std::any_of(part.text.begin(), part.text.end(), is_letter);
}

std::vector<const Part*> kept(const Parts& parts) {
  std::vector<const Part*> found;
  for (const Part& part : parts)
    if (part.kept()) found.push_back(&part);
  return found;
}

// Whether a space belongs between two parts, given the characters and the sides there.
bool divided(char32_t last, Side end, char32_t first, Side begin) {
  if (end == Side::kText && begin == Side::kText) return is_spaced(last) && is_spaced(first);
  if (is_latin(last) && is_latin(first)) return true;
  if (end != Side::kText && begin != Side::kText)
    return (end == Side::kApart || begin == Side::kApart) && end != Side::kTouching && begin != Side::kTouching;
  return (end == Side::kApart && is_spaced(first)) || (begin == Side::kApart && is_spaced(last));
}

// A line of parts: what is kept touches what it may, and none of it becomes part of a word.
std::u32string joined(const Parts& parts) {
  std::u32string line;
  Side end = Side::kText;
  for (const Part& part : parts) {
    std::u32string_view text = part.text;
    if (part.before == Side::kTouching && !line.empty() && line.back() == U' ') line.pop_back();
    if (!part.kept() && end == Side::kTouching && text.substr(0, 1) == U" ") text.remove_prefix(1);
    if (text.empty()) continue;
    if (!line.empty() && divided(line.back(), end, text.front(), part.before)) line += U' ';
    line += text;
    end = part.after;
  }
  return std::u32string(stripped(line));
}

// beside: the character there; a space at the ends of a line.
Side side(int kind, char32_t beside) {
  static const int kTag = Finder::kind("tag");
  if (kind == kTag) return is_space(beside) ? Side::kAny : Side::kTouching;
  return is_dividing(beside) ? Side::kApart : Side::kAny;
}

// A word may end in what follows a placeholder.
Side side_behind(int kind, char32_t beside) {
  static const int kPlaceholder = Finder::kind("placeholder");
  return kind == kPlaceholder ? Side::kAny : side(kind, beside);
}

// A translation in parts, where symbols are what they stand for; what of that it lacks, and what it repeats.
Parts without_symbols(const std::u32string& output, const std::vector<const Part*>& items, size_t symbols,
                      std::vector<const Part*>& lost, std::vector<const Part*>& repeated) {
  Parts parts;
  std::vector<size_t> seen(symbols);
  size_t end = 0;
  for (const Match& match : Finder::symbols(output)) {
    size_t number = 0;
    for (size_t at = match.begin + 1; at + 1 < match.end; ++at) number = 10 * number + (output[at] - U'0');
    std::u32string before = output.substr(end, match.begin - end);
    end = match.end;
    const bool known = number <= symbols;
    if (known && ++seen[number - 1] == 1) {
      const Part* const last = parts.empty() || !parts.back().kept() ? nullptr : &parts.back();
      if (last && last->begin + last->text.size() == items[number - 1]->begin && stripped(before).empty())
        before.clear();
      parts.push_back({std::move(before)});
      parts.push_back(*items[number - 1]);
      continue;
    }
    if (known && seen[number - 1] == 2) repeated.push_back(items[number - 1]);
    if (end == output.size() || kClosing.find(output[end]) != kClosing.npos)
      before.erase(before.find_last_not_of(U' ') + 1);
    parts.push_back({std::move(before)});
  }
  parts.push_back({output.substr(end)});
  for (size_t item = 0; item < symbols; ++item)
    if (!seen[item]) lost.push_back(items[item]);
  return parts;
}

// What of a part is translated by itself: from its first letter or digit on, without the spaces at its end.
std::pair<size_t, size_t> bounds(const std::u32string& text) {
  const auto start = std::find_if(text.begin(), text.end(), is_alphanumeric);
  return {(size_t)(start - text.begin()), stripped(text, false).size()};
}

}  // namespace

std::u32string Protection::symbol(size_t number) {
  std::u32string text(1, kOpen);
  for (char digit : std::to_string(number)) text += (char32_t)digit;
  return text + kClose;
}

Hidden Protection::hide(const std::u32string& line) const {
  const std::vector<Match> matches = finder_.found(line);
  if (matches.empty() && std::any_of(line.begin(), line.end(), is_letter)) return {line, {}};
  Hidden hidden;
  size_t end = 0;
  for (size_t place = 0; place < matches.size(); place++) {
    const Match& match = matches[place];
    char32_t behind = match.end < line.size() ? line[match.end] : U' ';
    if (place + 1 < matches.size() && matches[place + 1].begin == match.end) behind = kOpen;  // may begin with a dot
    if (match.begin > end) hidden.parts.push_back({line.substr(end, match.begin - end)});
    hidden.parts.push_back({line.substr(match.begin, match.end - match.begin), match.kind,
                            side(match.kind, match.begin ? line[match.begin - 1] : U' '),
                            side_behind(match.kind, behind), match.begin});
    end = match.end;
  }
  if (end < line.size()) hidden.parts.push_back({line.substr(end)});
  hidden.copied = std::none_of(hidden.parts.begin(), hidden.parts.end(), has_letters);
  hidden.divided = !hidden.copied && !symbols_ && missing_ == Missing::kKeep;
  hidden.symbols = std::min(matches.size(), symbols_);
  hidden.text = hidden.copied ? one_line(line) : with_symbols(hidden.parts);
  return hidden;
}

// The line with a symbol for what is kept, as far as they go, and a space between a tag's and what it touches.
std::u32string Protection::with_symbols(const Parts& parts) const {
  static const int kTag = Finder::kind("tag");
  std::u32string line;
  size_t used = 0;
  bool apart = false;
  for (const Part& part : parts) {
    const bool hides = part.kept() && used < symbols_;
    const std::u32string text = hides ? symbol(++used) : part.text;
    const bool tag = hides && part.kind == kTag;
    const char32_t last = line.empty() ? U' ' : line.back();
    if ((tag && (is_alphanumeric(last) || last == kClose)) ||
        (apart && (is_alphanumeric(text[0]) || hides) && last != U' '))
      line += U' ';
    line += text;
    apart = tag;
  }
  return line;
}

// failed: whether the model did not keep everything once.
std::u32string Protection::restored(const Hidden& source, const std::u32string& output, bool& failed) {
  const Kept items = kept(source.parts), plain(items.begin() + (ptrdiff_t)source.symbols, items.end());
  if (items.empty()) return output;
  Kept lost, repeated;
  Parts parts = {Part{output}};
  if (symbols_) parts = without_symbols(output, items, source.symbols, lost, repeated);
  failed = false;
  std::map<std::u32string, int> missing;  // of what was in the source as it is
  for (const Part* item : plain) ++missing[item->text];
  const std::u32string line = joined(parts);
  if (std::any_of(plain.begin(), plain.end(), [&](const Part* item) { return output.find(item->text) != output.npos; }))
    for (const Match& match : finder_.found(line))
      if (const auto found = missing.find(line.substr(match.begin, match.end - match.begin)); found != missing.end())
        --found->second;
  for (const Part* item : kept(parts))
    if (const auto found = missing.find(item->text); found != missing.end()) ++found->second;
  for (const Part* item : plain) {  // each text once, where it comes first
    int& count = missing[item->text];
    failed |= count < 0;
    if (count < 0) repeated.push_back(item);
    for (; count > 0; --count) lost.push_back(item);
    count = 0;
  }
  failed |= !lost.empty();
  count(items, protected_);
  count(lost, lost_);
  count(repeated, repeated_);
  if (missing_ == Missing::kAppend) {
    for (const Part* item : lost) {
      parts.push_back({U" "});
      parts.push_back({item->text, item->kind, Side::kAny, Side::kAny});
    }
  }
  return joined(parts);
}

Protection::Lines Protection::translated(const Lines& lines, const std::function<Lines(const Lines&)>& plain) {
  std::vector<Hidden> sources;
  Lines texts, pieces;
  for (const std::u32string& line : lines) {
    sources.push_back(hide(without_mark(line)));
    texts.push_back(sources.back().copied || sources.back().divided ? U"" : sources.back().text);
  }
  Lines outputs = plain(texts);
  for (size_t place = 0; place < lines.size(); ++place) {
    Hidden& source = sources[place];
    bool failed = false;
    if (source.copied || source.divided) {
      count(kept(source.parts), protected_);
      outputs[place] = source.text;
    } else {
      outputs[place] = restored(source, outputs[place], failed);
    }
    source.divided |= failed && missing_ == Missing::kKeep;
    if (!source.divided) continue;
    for (const Part& part : source.parts)
      if (const auto [begin, end] = bounds(part.text); has_letters(part))
        pieces.push_back(part.text.substr(begin, end - begin));
  }
  if (pieces.empty()) return outputs;
  const Lines results = plain(pieces);
  auto result = results.begin();
  for (size_t place = 0; place < lines.size(); ++place) {
    if (!sources[place].divided) continue;
    for (Part& part : sources[place].parts)
      if (const auto [begin, end] = bounds(part.text); has_letters(part))
        part.text.replace(begin, end - begin, *result++);
    outputs[place] = one_line(joined(sources[place].parts));
  }
  return outputs;
}

void Protection::count(const Kept& items, Counts& counts) {
  for (const Part* item : items) ++counts[(size_t)item->kind];
}

std::string Protection::summary() const {
  std::string text;
  for (int kind = 0; *name_of(kind); ++kind) {
    const size_t place = (size_t)kind;
    if (!protected_[place]) continue;
    std::string failed;
    for (const auto& [name, counts] : {std::pair{"lost", &lost_}, std::pair{"repeated", &repeated_}})
      if ((*counts)[place]) failed += (failed.empty() ? "" : ", ") + std::to_string((*counts)[place]) + " " + name;
    text += (text.empty() ? "protected: " : "; ") + std::string(name_of(kind)) + " " +
            std::to_string(protected_[place]) + (failed.empty() ? "" : " (" + failed + ")");
  }
  return text;
}

}  // namespace nmt
