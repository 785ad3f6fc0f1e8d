#include "folder/model_folder.h"

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

#include "runtime/error.h"
#include "runtime/json.h"

namespace nmt {
namespace {

std::string contents(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw Error(path + ": missing or empty");
  return text.str();
}

constexpr size_t kFormat = 1;  // of model.json

// What is written like a mark of a language at the start of a text: >>de<<, or <2de> in MADLAD-400; empty if nothing.
std::string_view mark_of(std::string_view text) {
  const bool angles = text.substr(0, 2) == ">>";
  if (!angles && text.substr(0, 2) != "<2") return {};
  const std::string_view close = angles ? "<<" : ">";
  const size_t end = text.find(close, 3);  // a code has a character at least
  if (end == text.npos || text.find(' ') < end) return {};
  return text.substr(0, end + close.size());
}

// As loops see a piece: a byte as itself, ASCII in small letters, without zeros.
std::string text_of(std::string text) {
  static const std::string kMark = "▁";
  if (text.size() == 6 && !text.compare(0, 3, "<0x") && text[5] == '>')
    text = (char)std::strtol(text.c_str() + 3, nullptr, 16);
  for (size_t at = 0; (at = text.find(kMark, at)) != text.npos;) text.replace(at, kMark.size(), " ");
  for (char& c : text) c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
  text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
  return text;
}

}  // namespace

ModelFolder::ModelFolder(const std::string& folder) : folder_(folder) {
  read_description();
  read_vocabulary();
}

void ModelFolder::read_description() {
  const std::string path = file("model.json"), text = contents(path);
  std::string engine;
  size_t marks = 0, format = kFormat;
  Json json(text, path + ":");
  json.object([&](const std::string& key) {
    if (key == "engine")
      engine = json.string();
    else if (key == "format")
      format = json.number();
    else if (key == "vocabulary_map")
      mapped_ = json.bare() == "true";
    else if (key == "max_decoding_length")
      longest_ = (int32_t)json.number();
    else if (key == "languages")
      json.object([&](const std::string& code) {
        const std::string mark = code[0] == '<' ? code : ">>" + code + "<<", piece = json.string();
        if (marks++ < 3) some_marks_ += (some_marks_.empty() ? "" : ", ") + mark;
        replaces_prefixes_ |= mark != piece;
        languages_[mark] = piece;
      });
    else
      json.skip();
  });
  if (format > kFormat) throw Error(path + ": made for a later version, of format " + std::to_string(format));
  if (engine != "native") throw Error(path + ": this model is for the engine '" + engine + "', not for the native one");
}

void ModelFolder::read_vocabulary() {
  const std::string path = file("vocabulary.json"), text = contents(path);
  std::string unknown;
  std::vector<std::string> source, forced, hidden;
  Json json(text, path + ":");
  json.object([&](const std::string& key) {
    if (key == "source")
      source = json.strings();
    else if (key == "target")
      target_ = json.strings();
    else if (key == "unknown")
      unknown = json.string();
    else if (key == "prefix")
      prefix_ = json.strings();
    else if (key == "suffix")
      suffix_ = json.strings();
    else if (key == "target_prefix")
      forced = json.strings();
    else if (key == "hidden")
      hidden = json.strings();
    else
      json.skip();
  });
  for (size_t number = 0; number < source.size(); ++number) source_[source[number]] = (int32_t)number;
  if (target_.empty()) target_ = source;
  source_pieces_ = source;
  if (!source_.count(unknown)) throw Error(path + ": it lacks the piece '" + unknown + "' for what is unknown");
  unknown_ = source_[unknown];
  for (const std::string& piece : forced) target_prefix_.push_back(target_number(piece));
  for (const std::string& piece : hidden) hidden_.insert(target_number(piece));
}

// Searched one by one: both lists are short.
int32_t ModelFolder::target_number(const std::string& piece) const {
  const auto found = std::find(target_.begin(), target_.end(), piece);
  if (found == target_.end()) throw Error(file("vocabulary.json") + ": '" + piece + "' is no target piece");
  return (int32_t)(found - target_.begin());
}

size_t ModelFolder::longest_input(int positions) const {
  const size_t before = std::max<size_t>(prefix_.size(), replaces_prefixes_), most = (size_t)positions;
  return std::min(kMaximumInput, most - std::min(before + suffix_.size(), most));
}

bool ModelFolder::is_mark(std::string_view text) const { return languages_.count(std::string(text)) > 0; }

std::vector<std::string> ModelFolder::marks(std::string_view& line) const {
  std::vector<std::string> found;
  for (std::string_view mark; found.size() < 2 && is_mark(mark = mark_of(line)); found.emplace_back(mark))
    line.remove_prefix(mark.size() + (line.substr(mark.size(), 1) == " "));
  if (const std::string other(languages_.empty() ? "" : mark_of(line)); !other.empty())
    if (other.substr(0, 2) == some_marks_.substr(0, 2))
      throw Error("a line begins with " + other + ", a language that the model does not have; it has " +
                  std::to_string(languages_.size()) + ", like " + some_marks_);
  return found;
}

int32_t ModelFolder::number(const std::string& piece) const {
  const auto found = source_.find(piece);
  return found == source_.end() ? unknown_ : found->second;
}

Source ModelFolder::source(const std::vector<std::string>& pieces) const {
  Source source;
  source.beginning = target_prefix_;
  source.numbers.reserve(prefix_.size() + pieces.size() + suffix_.size());
  size_t marks = 0;
  while (replaces_prefixes_ && marks < std::min<size_t>(pieces.size(), 2) && is_mark(pieces[marks])) ++marks;
  if (marks) source.beginning = {target_number(languages_.at(pieces[marks - 1]))};
  if (marks > 1) source.numbers.push_back(number(languages_.at(pieces[0])));
  const auto add = [&](auto from, auto to) {
    for (; from != to; ++from) source.numbers.push_back(number(*from));
  };
  if (marks < 2) add(prefix_.begin(), prefix_.end());
  add(pieces.begin() + (ptrdiff_t)marks, pieces.end());
  add(suffix_.begin(), suffix_.end());
  return source;
}

std::vector<std::string> ModelFolder::pieces(const int32_t* numbers, size_t count) const {
  std::vector<std::string> pieces;
  for (const int32_t* number = numbers; number != numbers + count; ++number)
    if (!hidden_.count(*number)) pieces.push_back(target_[(size_t)*number]);
  return pieces;
}

std::vector<std::string> ModelFolder::source_texts() const {
  std::vector<std::string> texts;
  for (size_t number = 0; number < source_pieces_.size(); ++number)
    texts.push_back((int32_t)number == unknown_ ? "" : text_of(source_pieces_[number]));
  return texts;
}

std::vector<std::string> ModelFolder::target_texts() const {
  std::vector<std::string> texts;
  for (size_t number = 0; number < target_.size(); ++number)
    texts.push_back(hidden_.count((int32_t)number) ? "" : text_of(target_[number]));
  return texts;
}

}  // namespace nmt
