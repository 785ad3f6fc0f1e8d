// From lines to translated lines, by one worker: tokenizing, batches, decoding, text.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "command/model_folder.h"

namespace nmt {

// How the input was changed, by all workers.
struct Counts {
  std::atomic<size_t> replaced{0};  // bytes that were not UTF-8
  std::atomic<size_t> cut{0};       // lines that were too long
};

class Translator {
 public:
  // threads: that share a batch.
  Translator(const ModelFolder& model, int threads, Counts& counts);

  // A translation for each line, each with its line break; the text is as decode.translate writes it.
  std::string translate(const std::vector<std::string>& lines);

 private:
  struct Close {
    void operator()(nmt_worker* worker) const { nmt_close_worker(worker); }
  };
  std::vector<std::string> pieces(const std::string& line);
  void decode(const std::vector<size_t>& places, const std::vector<std::vector<int32_t>>& sources,
              std::vector<std::string>& outputs);

  const ModelFolder& model_;
  Counts& counts_;
  std::unique_ptr<nmt_worker, Close> worker_;
};

}  // namespace nmt
