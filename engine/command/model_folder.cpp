#include "command/model_folder.h"

#include <algorithm>
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

}  // namespace

ModelFolder::ModelFolder(const std::string& folder) {
  read_description(folder + "/model.json");
  read_vocabulary(folder + "/vocabulary.json");
  const std::string tokenizer = folder + "/sentencepiece.model";
  if (!tokenizer_.Load(tokenizer).ok()) throw Error(tokenizer + ": missing, or not a SentencePiece model");
  const std::string weights = folder + "/weights.safetensors", map = folder + "/map.safetensors";
  nmt_model* opened = nullptr;
  char error[1000];
  if (nmt_open(weights.c_str(), mapped_ ? map.c_str() : nullptr, 0, &opened, error, sizeof error)) throw Error(error);
  model_.reset(opened);
}

void ModelFolder::read_description(const std::string& path) {
  const std::string text = contents(path);
  std::string engine;
  Json json(text, path + ":");
  json.object([&](const std::string& key) {
    if (key == "engine")
      engine = json.string();
    else if (key == "vocabulary_map")
      mapped_ = json.bare() == "true";
    else if (key == "max_decoding_length")
      longest_ = (int32_t)json.number();
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
  const size_t frame = prefix_.size() + suffix_.size(), positions = (size_t)nmt_positions(model_.get());
  return std::min(kMaximumInput, positions - std::min(frame, positions));
}

std::vector<std::string> ModelFolder::pieces(const std::string& line) const {
  std::vector<std::string> pieces;
  const auto status = tokenizer_.Encode(line, &pieces);
  if (!status.ok()) throw Error("SentencePiece: " + status.ToString());
  return pieces;
}

int32_t ModelFolder::number(const std::string& piece) const {
  const auto found = source_.find(piece);
  return found == source_.end() ? unknown_ : found->second;
}

std::vector<int32_t> ModelFolder::numbers(const std::vector<std::string>& pieces) const {
  std::vector<int32_t> numbers;
  numbers.reserve(prefix_.size() + pieces.size() + suffix_.size());
  for (const auto* part : {&prefix_, &pieces, &suffix_})
    for (const std::string& piece : *part) numbers.push_back(number(piece));
  return numbers;
}

std::string ModelFolder::text(const int32_t* numbers, int count) const {
  std::vector<std::string> pieces;
  for (const int32_t* number = numbers; number != numbers + count; ++number) {
    if (*number < 0 || (size_t)*number >= target_.size())
      throw Error("vocabulary.json has too few pieces for the model");
    if (!hidden_.count(*number)) pieces.push_back(target_[(size_t)*number]);
  }
  std::string text;
  const auto status = tokenizer_.Decode(pieces, &text);
  if (!status.ok()) throw Error("SentencePiece: " + status.ToString());
  return text;
}

}  // namespace nmt
