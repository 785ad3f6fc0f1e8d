#include "command/model_folder.h"

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

bool exists(const std::string& path) { return std::ifstream(path).good(); }

void load(sentencepiece::SentencePieceProcessor& tokenizer, const std::string& path) {
  if (!tokenizer.Load(path).ok()) throw Error(path + ": missing, or not a SentencePiece model");
}

// What is written like a mark of a language at the start of a text: >>de<<, or <2de> in MADLAD-400; empty if nothing.
std::string_view mark_of(std::string_view text) {
  const bool angles = text.substr(0, 2) == ">>";
  if (!angles && text.substr(0, 2) != "<2") return {};
  const std::string_view close = angles ? "<<" : ">";
  const size_t end = text.find(close, 3);  // a code has a character at least
  if (end == text.npos || text.find(' ') < end) return {};
  return text.substr(0, end + close.size());
}

}  // namespace

ModelFolder::ModelFolder(const std::string& folder) {
  read_description(folder + "/model.json");
  read_vocabulary(folder + "/vocabulary.json");
  read_tokenizers(folder);
  const std::string weights = folder + "/weights.safetensors", map = folder + "/map.safetensors";
  nmt_model* opened = nullptr;
  char error[1000];
  if (nmt_open(weights.c_str(), mapped_ ? map.c_str() : nullptr, 0, &opened, error, sizeof error)) throw Error(error);
  model_.reset(opened);
  const std::string from = texts(source_pieces_, false), to = texts(target_, true);
  if (nmt_end_loops(opened, from.data(), (int64_t)from.size(), to.data(), (int64_t)to.size(), error, sizeof error))
    throw Error(error);
}

// As nmt_frontier.model.native_vocabulary.Vocabulary.texts, each ended by a zero.
std::string ModelFolder::texts(const std::vector<std::string>& pieces, bool target) const {
  static const std::string kMark = "▁";
  std::string found;
  for (size_t number = 0; number < pieces.size(); ++number) {
    std::string text = pieces[number];
    if (text.size() == 6 && !text.compare(0, 3, "<0x") && text[5] == '>')
      text = (char)std::strtol(text.c_str() + 3, nullptr, 16);
    for (size_t at = 0; (at = text.find(kMark, at)) != text.npos;) text.replace(at, kMark.size(), " ");
    if (target ? hidden_.count((int32_t)number) : (int32_t)number == unknown_) text.clear();
    for (char& c : text) c = c >= 'A' && c <= 'Z' ? (char)(c + 32) : c;
    text.erase(std::remove(text.begin(), text.end(), '\0'), text.end());
    found += text + '\0';
  }
  return found;
}

// One SentencePiece model for both sides, or one for each; other tokenizers are nmt-frontier translate's only.
void ModelFolder::read_tokenizers(const std::string& folder) {
  const std::string source = folder + "/source.sentencepiece.model", target = folder + "/target.sentencepiece.model";
  const std::string shared = folder + "/sentencepiece.model";
  const bool sides = exists(source) || exists(target);
  load(source_tokenizer_, sides ? source : shared);
  load(target_tokenizer_, sides ? target : shared);
}

void ModelFolder::read_description(const std::string& path) {
  const std::string text = contents(path);
  std::string engine;
  size_t marks = 0;
  Json json(text, path + ":");
  json.object([&](const std::string& key) {
    if (key == "engine")
      engine = json.string();
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
  if (engine != "native") throw Error(path + ": this model is for the engine '" + engine + "', not for the native one");
}

void ModelFolder::read_vocabulary(const std::string& path) {
  const std::string text = contents(path);
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
  for (const std::string& piece : forced) target_prefix_.push_back(target_number(piece, path));
  for (const std::string& piece : hidden) hidden_.insert(target_number(piece, path));
}

// Searched one by one: both lists are short.
int32_t ModelFolder::target_number(const std::string& piece, const std::string& path) const {
  const auto found = std::find(target_.begin(), target_.end(), piece);
  if (found == target_.end()) throw Error(path + ": '" + piece + "' is no target piece");
  return (int32_t)(found - target_.begin());
}

size_t ModelFolder::longest_input() const {
  const size_t before = std::max<size_t>(prefix_.size(), replaces_prefixes_);
  const size_t frame = before + suffix_.size(), positions = (size_t)nmt_positions(model_.get());
  return std::min(kMaximumInput, positions - std::min(frame, positions));
}

bool ModelFolder::is_mark(std::string_view text) const { return languages_.count(std::string(text)) > 0; }

std::vector<std::string> ModelFolder::pieces(std::string_view line) const {
  std::vector<std::string> pieces, rest;
  for (std::string_view mark; pieces.size() < 2 && is_mark(mark = mark_of(line)); pieces.emplace_back(mark))
    line.remove_prefix(mark.size() + (line.substr(mark.size(), 1) == " "));
  if (const std::string other(languages_.empty() ? "" : mark_of(line)); !other.empty())
    if (other.substr(0, 2) == some_marks_.substr(0, 2))
      throw Error("a line begins with " + other + ", a language that the model does not have; it has " +
                  std::to_string(languages_.size()) + ", like " + some_marks_);
  const auto status = source_tokenizer_.Encode(line, &rest);
  if (!status.ok()) throw Error("SentencePiece: " + status.ToString());
  pieces.insert(pieces.end(), rest.begin(), rest.end());
  return pieces;
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
  if (marks) source.beginning = {target_number(languages_.at(pieces[marks - 1]), "vocabulary.json")};
  if (marks > 1) source.numbers.push_back(number(languages_.at(pieces[0])));
  const auto add = [&](auto from, auto to) {
    for (; from != to; ++from) source.numbers.push_back(number(*from));
  };
  if (marks < 2) add(prefix_.begin(), prefix_.end());
  add(pieces.begin() + (ptrdiff_t)marks, pieces.end());
  add(suffix_.begin(), suffix_.end());
  return source;
}

std::string ModelFolder::text(const int32_t* numbers, int count) const {
  std::vector<std::string> pieces;
  for (const int32_t* number = numbers; number != numbers + count; ++number) {
    if (*number < 0 || (size_t)*number >= target_.size())
      throw Error("vocabulary.json has too few pieces for the model");
    if (!hidden_.count(*number)) pieces.push_back(target_[(size_t)*number]);
  }
  std::string text;
  const auto status = target_tokenizer_.Decode(pieces, &text);
  if (!status.ok()) throw Error("SentencePiece: " + status.ToString());
  return text;
}

}  // namespace nmt
