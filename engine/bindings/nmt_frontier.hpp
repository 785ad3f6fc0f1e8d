// The C interface (nmt_frontier.h) in C++17: what it opens closes itself, and its errors are exceptions.
#pragma once

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

#include "nmt_frontier.h"

namespace nmt_frontier {

struct Error : std::runtime_error {
  using std::runtime_error::runtime_error;
};

// Calls a function of the C interface. Throws Error with its message.
template <class F, class... Arguments>
void call(F function, Arguments... arguments) {
  char error[1000] = "";
  if (function(arguments..., error, sizeof error)) throw Error(error);
}

// The options of greedy search, to be changed.
inline nmt_options defaults() { return NMT_DEFAULTS; }

struct Hypothesis {
  std::string text;
  float score;
  bool limited, looped;  // see nmt_lines
};

// A translated line: best hypothesis first.
struct Translation {
  std::vector<Hypothesis> hypotheses;
  bool cut;
  int replaced;

  const std::string& text() const { return hypotheses.front().text; }
};

// A model folder; copies are the same one, which any number of threads may share.
class Model {
 public:
  explicit Model(const std::string& folder) {
    nmt_model* opened = nullptr;
    call(nmt_open_folder, folder.c_str(), &opened);
    handle_.reset(opened, nmt_close);
  }
  nmt_model* handle() const { return handle_.get(); }

 private:
  std::shared_ptr<nmt_model> handle_;
};

// Decodes for one thread at a time. It keeps its model open.
class Worker {
 public:
  explicit Worker(const Model& model, int threads = 1) : Worker(std::vector<Model>{model}, threads) {}
  // An ensemble.
  explicit Worker(std::vector<Model> models, int threads = 1) : models_(std::move(models)) {
    std::vector<nmt_model*> handles;
    for (const Model& model : models_) handles.push_back(model.handle());
    nmt_worker* opened = nullptr;
    call(nmt_open_worker, handles.data(), (int32_t)handles.size(), (int32_t)threads, &opened);
    handle_.reset(opened);
  }

  std::vector<Translation> text(const std::vector<std::string>& lines, const nmt_options& options = defaults()) {
    return translate(nmt_translate_text, lines, options);
  }
  // Of lines that are pieces with spaces between them.
  std::vector<Translation> pieces(const std::vector<std::string>& lines, const nmt_options& options = defaults()) {
    return translate(nmt_translate_pieces, lines, options);
  }
  void stop() { nmt_stop(handle_.get()); }
  nmt_worker* handle() const { return handle_.get(); }

 private:
  struct Close {
    void operator()(nmt_worker* worker) const { nmt_close_worker(worker); }
  };

  template <class F>
  std::vector<Translation> translate(F function, const std::vector<std::string>& lines, const nmt_options& options) {
    std::vector<const char*> texts;
    std::vector<size_t> sizes;
    for (const std::string& line : lines) texts.push_back(line.data()), sizes.push_back(line.size());
    const nmt_lines* found = nullptr;
    call(function, handle_.get(), texts.data(), sizes.data(), (int32_t)lines.size(), &options, &found);
    std::vector<Translation> translations;
    for (size_t line = 0, h = 0; line < lines.size(); ++line) {
      translations.push_back({{}, found->cut[line] != 0, found->replaced[line]});
      for (const size_t end = h + (size_t)found->counts[line]; h < end; ++h)
        translations.back().hypotheses.push_back({std::string(found->texts[h], found->sizes[h]), found->scores[h],
                                                  found->limited[h] != 0, found->looped[h] != 0});
    }
    return translations;
  }

  std::vector<Model> models_;
  std::unique_ptr<nmt_worker, Close> handle_;
};

}  // namespace nmt_frontier
