// translate MODEL HARDWARE TASK [--protect KINDS [--protect-missing append|keep]] < source > target: a model folder of
// the native engine in one program, for submissions to the shared tasks on efficient translation. It writes what
// decode.translate writes.
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "command/model_folder.h"
#include "command/protection.h"
#include "command/stream.h"
#include "command/translator.h"
#include "runtime/error.h"

namespace {

using namespace nmt;

constexpr size_t kWindow = 1 << 15;  // bytes of text, about sixteen batches
constexpr size_t kAhead = 4;         // windows read ahead per worker

// Batches decoded at a time, and threads per batch.
struct Plan {
  size_t workers;
  int threads;
  size_t window;
  std::string kinds, missing;  // of protected text; empty if not given
};

size_t cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
}

bool planned(const std::vector<std::string>& arguments, Plan& plan) {
  if (arguments.size() < 2) return false;
  const std::string &hardware = arguments[0], &task = arguments[1];
  if ((hardware != "CPU-ST" && hardware != "CPU-MT") || (task != "throughput" && task != "latency")) return false;
  const size_t used = hardware == "CPU-MT" ? cores() : 1;
  plan = task == "latency" ? Plan{1, (int)used, 1, "", ""} : Plan{used, 1, kWindow, "", ""};  // one byte: one line
  for (size_t at = 2; at < arguments.size(); at += 2) {
    if (at + 1 == arguments.size() || arguments[at + 1].empty()) return false;
    if (arguments[at] == "--protect")
      plan.kinds = arguments[at + 1];
    else if (arguments[at] == "--protect-missing")
      plan.missing = arguments[at + 1];
    else
      return false;
  }
  return plan.missing.empty() || (!plan.kinds.empty() && (plan.missing == "append" || plan.missing == "keep"));
}

// Throws Error for an unknown kind, and for a model that never saw a symbol. No kinds: nullptr.
std::unique_ptr<Protection> protection(const ModelFolder& model, const Plan& plan) {
  if (plan.kinds.empty()) return nullptr;
  const Missing missing = plan.missing.empty()     ? Missing::kLost
                          : plan.missing == "keep" ? Missing::kKeep
                                                   : Missing::kAppend;
  auto made = std::make_unique<Protection>(plan.kinds, missing, model.symbols());
  if (!model.symbols() && missing == Missing::kLost)
    throw Error("the model's vocabulary has no symbols to protect text with; add --protect-missing append or keep");
  return made;
}

void work(const ModelFolder& model, const Plan& plan, Stream& stream, Protection* protection, Counts& counts) {
  Translator translator(model, plan.threads, protection, counts);
  std::vector<std::string> lines;
  for (size_t number; stream.take(lines, number);) stream.put(number, translator.translate(lines));
}

// Prints the error and ends the process, from any thread. Output written so far is whole lines in order.
template <class F>
void guarded(F function) {
  try {
    function();
  } catch (const std::bad_alloc&) {
    std::fprintf(stderr, "error: not enough memory\n");
    _exit(1);
  } catch (const std::exception& exception) {
    std::fprintf(stderr, "error: %s\n", exception.what());
    _exit(1);
  }
}

void report(const Counts& counts, const Protection* protection, size_t longest, int32_t longest_output) {
  if (counts.replaced) std::fprintf(stderr, "%zu broken bytes replaced by U+FFFD\n", counts.replaced.load());
  if (counts.cut) std::fprintf(stderr, "%zu lines longer than %zu pieces cut there\n", counts.cut.load(), longest);
  if (counts.limited)
    std::fprintf(stderr, "%zu translations cut off at %d pieces\n", counts.limited.load(), longest_output);
  if (counts.looped)
    std::fprintf(stderr, "%zu translations repeated themselves and were ended\n", counts.looped.load());
  if (protection && !protection->summary().empty()) std::fprintf(stderr, "%s\n", protection->summary().c_str());
}

void translate(const std::string& folder, const Plan& plan) {
  const ModelFolder model(folder);
  const std::unique_ptr<Protection> kept = protection(model, plan);
  Stream stream(STDIN_FILENO, STDOUT_FILENO, plan.window, plan.workers * kAhead);
  Counts counts;
  std::vector<std::thread> others;  // with one core, only the main thread
  guarded([&] {  // the main thread, too: destroying a joinable thread would end the process without a message
    for (size_t worker = 1; worker < plan.workers; ++worker)
      others.emplace_back([&] { guarded([&] { work(model, plan, stream, kept.get(), counts); }); });
    work(model, plan, stream, kept.get(), counts);
  });
  for (std::thread& other : others) other.join();
  report(counts, kept.get(), model.longest_input(), model.longest());
}

}  // namespace

int main(int count, char** arguments) {
  // The first process of a container ignores every signal that it installs no handler for.
  for (int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, [](int caught) { _exit(128 + caught); });
  Plan plan;
  if (count < 2 || !planned({arguments + 2, arguments + count}, plan)) {
    std::fprintf(stderr,
                 "usage: run.sh CPU-ST|CPU-MT throughput|latency [--protect KINDS [--protect-missing append|keep]]"
                 " < source > target\n");
    return 2;
  }
  if (!nmt_isa()) {
    std::fprintf(stderr, "error: NMT_ISA: this CPU has %s\n", nmt_available_sets());
    return 1;
  }
  guarded([&] { translate(arguments[1], plan); });
  return 0;
}
