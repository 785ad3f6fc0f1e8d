// One worker's way from lines to translated lines: tokenizing, batching, decoding, detokenizing.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "command/model_folder.h"

namespace nmt {

// Changes made to the input and to translations, by all workers.
struct Counts {
  std::atomic<size_t> replaced{0};  // invalid UTF-8
  std::atomic<size_t> cut{0};       // lines above the length limit
  std::atomic<size_t> limited{0};   // translations above the length limit
  std::atomic<size_t> looped{0};    // translations that were ended, as they repeated themselves
};

class Translator {
 public:
  // threads: how many share a batch.
  Translator(const ModelFolder& model, int threads, Counts& counts);

  // The translation of each line, with its line break; the same text as nmt-frontier translate writes.
  std::string translate(const std::vector<std::string>& lines);

 private:
  struct Close {
    void operator()(nmt_worker* worker) const { nmt_close_worker(worker); }
  };
  std::vector<std::string> pieces(const std::string& line, std::string& copied);
  void decode(const std::vector<size_t>& places, const std::vector<Source>& sources, std::vector<std::string>& outputs);

  const ModelFolder& model_;
  Counts& counts_;
  std::unique_ptr<nmt_worker, Close> worker_;
};

}  // namespace nmt
