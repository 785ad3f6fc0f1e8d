// translate MODEL HARDWARE TASK < source > target: a model folder of the native engine in one program, for submissions
// to the shared tasks on efficient translation. It writes what nmt-frontier translate writes.
#include <sched.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "command/model_folder.h"
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
};

size_t cores() {
  cpu_set_t set;
  return sched_getaffinity(0, sizeof set, &set) ? 1 : (size_t)CPU_COUNT(&set);
}

bool planned(const std::string& hardware, const std::string& task, Plan& plan) {
  if ((hardware != "CPU-ST" && hardware != "CPU-MT") || (task != "throughput" && task != "latency")) return false;
  const size_t used = hardware == "CPU-MT" ? cores() : 1;
  plan = task == "latency" ? Plan{1, (int)used, 1} : Plan{used, 1, kWindow};  // a window of one byte is one line
  return true;
}

void work(const ModelFolder& model, const Plan& plan, Stream& stream, Counts& counts) {
  Translator translator(model, plan.threads, counts);
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

void report(const Counts& counts, size_t longest, int32_t longest_output) {
  if (counts.replaced) std::fprintf(stderr, "%zu broken bytes replaced by U+FFFD\n", counts.replaced.load());
  if (counts.cut) std::fprintf(stderr, "%zu lines longer than %zu pieces cut there\n", counts.cut.load(), longest);
  if (counts.limited)
    std::fprintf(stderr, "%zu translations cut off at %d pieces\n", counts.limited.load(), longest_output);
  if (counts.looped)
    std::fprintf(stderr, "%zu translations repeated themselves and were ended\n", counts.looped.load());
}

void translate(const std::string& folder, const Plan& plan) {
  const ModelFolder model(folder);
  Stream stream(STDIN_FILENO, STDOUT_FILENO, plan.window, plan.workers * kAhead);
  Counts counts;
  std::vector<std::thread> others;  // with one core, only the main thread
  guarded([&] {  // the main thread, too: destroying a joinable thread would end the process without a message
    for (size_t worker = 1; worker < plan.workers; ++worker)
      others.emplace_back([&] { guarded([&] { work(model, plan, stream, counts); }); });
    work(model, plan, stream, counts);
  });
  for (std::thread& other : others) other.join();
  report(counts, model.longest_input(), model.longest());
}

}  // namespace

int main(int count, char** arguments) {
  // The first process of a container ignores every signal that it installs no handler for.
  for (int signal : {SIGINT, SIGTERM, SIGPIPE}) std::signal(signal, [](int caught) { _exit(128 + caught); });
  Plan plan;
  if (count != 4 || !planned(arguments[2], arguments[3], plan)) {
    std::fprintf(stderr, "usage: run.sh CPU-ST|CPU-MT throughput|latency < source > target\n");
    return 2;
  }
  if (!nmt_isa()) {
    std::fprintf(stderr, "error: NMT_ISA: this CPU has %s\n", nmt_available_sets());
    return 1;
  }
  guarded([&] { translate(arguments[1], plan); });
  return 0;
}
