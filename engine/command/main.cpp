// translate MODEL HARDWARE TASK < source > target: a model folder of the native engine in one program, for submissions
// to the shared tasks on efficient translation. It writes what nmt-frontier translate writes.
#include <sched.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdio>
#include <exception>
#include <string>
#include <thread>
#include <vector>

#include "bindings/nmt_frontier.hpp"
#include "command/stream.h"

namespace {

using namespace nmt;
using namespace nmt_frontier;

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

// Changes made to the input and to translations, by all workers.
struct Counts {
  std::atomic<size_t> replaced{0};  // invalid UTF-8
  std::atomic<size_t> cut{0};       // lines above the length limit
  std::atomic<size_t> limited{0};   // translations above the length limit
  std::atomic<size_t> looped{0};    // translations that were ended, as they repeated themselves
};

void work(const Model& model, const Plan& plan, Stream& stream, Counts& counts) {
  Worker worker(model, plan.threads);
  std::vector<std::string> lines;
  for (size_t number; stream.take(lines, number);) {
    std::string text;
    for (const Translation& line : worker.text(lines)) {
      text += line.text() + '\n';
      counts.replaced += (size_t)line.replaced;
      counts.cut += line.cut;
      counts.limited += line.hypotheses[0].limited;
      counts.looped += line.hypotheses[0].looped;
    }
    stream.put(number, std::move(text));
  }
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

void report(const Counts& counts, int longest, int longest_output) {
  if (counts.replaced) std::fprintf(stderr, "%zu broken bytes replaced by U+FFFD\n", counts.replaced.load());
  if (counts.cut) std::fprintf(stderr, "%zu lines longer than %d pieces cut there\n", counts.cut.load(), longest);
  if (counts.limited)
    std::fprintf(stderr, "%zu translations cut off at %d pieces\n", counts.limited.load(), longest_output);
  if (counts.looped)
    std::fprintf(stderr, "%zu translations repeated themselves and were ended\n", counts.looped.load());
}

void translate(const std::string& folder, const Plan& plan) {
  const Model model(folder);
  Stream stream(STDIN_FILENO, STDOUT_FILENO, plan.window, plan.workers * kAhead);
  Counts counts;
  std::vector<std::thread> others;  // with one core, only the main thread
  guarded([&] {  // the main thread, too: destroying a joinable thread would end the process without a message
    for (size_t worker = 1; worker < plan.workers; ++worker)
      others.emplace_back([&] { guarded([&] { work(model, plan, stream, counts); }); });
    work(model, plan, stream, counts);
  });
  for (std::thread& other : others) other.join();
  report(counts, nmt_longest_line(model.handle()), nmt_longest_translation(model.handle()));
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
