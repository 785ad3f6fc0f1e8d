// What is behind the handles of the C interface, and what its functions share.
#pragma once

#include <atomic>
#include <cstdio>
#include <memory>
#include <new>
#include <vector>

#include "bindings/c_api.h"
#include "folder/model_folder.h"
#include "runtime/dispatch.h"
#include "runtime/error.h"
#include "search/search.h"
#include "text/tokenizer.h"

struct nmt_model {
  std::unique_ptr<nmt::Model> model;
  std::unique_ptr<nmt::VocabularyMap> map;
  std::unique_ptr<nmt::ModelFolder> folder;   // null: its files were opened
  std::unique_ptr<nmt::Tokenizer> tokenizer;  // null: lines are pieces
};

struct nmt_worker {
  explicit nmt_worker(int threads) : team(threads, nmt::kernels().release) {}

  nmt::Team team;
  const nmt_model* first = nullptr;                    // of the ensemble
  int positions = 0;                                   // the least of all models
  std::vector<std::unique_ptr<nmt::Search>> searches;  // one for each thread
  std::atomic<bool> stop{false}, busy{false};
};

namespace nmt {

// Calls a function; what it throws becomes one line in `error`.
template <class F>
int guarded(char* error, size_t error_size, F function) {
  try {
    function();
    return 0;
  } catch (const std::bad_alloc&) {
    std::snprintf(error, error_size, "not enough memory");
  } catch (const std::exception& exception) {
    std::snprintf(error, error_size, "%s", exception.what());
  }
  return 1;
}

// Claims a worker for one call. At its end clears the stop flag, so that the next call is not stopped by it, and this
// thread's registers of products.
class Claim {
 public:
  explicit Claim(nmt_worker& worker) : worker_(worker) {
    if (worker.busy.exchange(true)) throw Error("another thread uses this worker; open a worker for each thread");
  }
  ~Claim() {
    kernels().release();
    worker_.stop.store(false);
    worker_.busy.store(false);
  }

 private:
  nmt_worker& worker_;
};

Switches switches(uint32_t without);
// The options of a call for a model. Throws Error for what no search knows.
Options options_of(const nmt_options& wanted, const nmt_model& model);
// The translations of a batch by all threads of a worker that is claimed.
Results translated(nmt_worker& worker, const Batch& batch, const Options& options);

}  // namespace nmt
