#include "runtime/team.h"

namespace nmt {
namespace {

constexpr int kLooks = 500;  // polls before a thread sleeps: about ten microseconds

void pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  __asm__ volatile("isb");  // some ten nanoseconds; `yield` is none
#endif
}

}  // namespace

Team::Team(int threads, void (*resting)()) : resting_(resting), thrown_((size_t)threads) {
  try {
    for (int part = 1; part < threads; ++part) threads_.emplace_back([this, part] { follow(part); });
  } catch (...) {
    end();
    throw;
  }
}

Team::~Team() { end(); }

void Team::end() {
  ended_ = true;
  ++turn_;
  announce();
  for (std::thread& thread : threads_) thread.join();
}

void Team::run(int parts, const Work& work) {
  if (threads_.empty() || parts < 2) {
    for (int part = 0; part < parts; ++part) work(part);
    return;
  }
  work_ = &work, parts_ = parts;
  left_ = (int)threads_.size();
  ++turn_;
  announce();
  attempt(0);
  await([this] { return left_ == 0; });
  std::exception_ptr first;
  for (std::exception_ptr& thrown : thrown_) {
    if (!first) first = thrown;
    thrown = nullptr;
  }
  if (first) std::rethrow_exception(first);
}

void Team::follow(int part) {
  // Allocate exception machinery now, not when memory is short.
  [[maybe_unused]] const volatile int none = std::uncaught_exceptions();
  for (unsigned seen = 0;; ++seen) {
    await([&] { return turn_ != seen; });
    if (ended_) return;
    if (part < parts_) attempt(part);
    if (--left_ == 0) announce();
  }
}

void Team::attempt(int part) {
  try {
    (*work_)(part);
  } catch (...) {
    thrown_[(size_t)part] = std::current_exception();
  }
}

// `ready` reads what others change before they call `announce`. No wake-up is lost: a sleeper is counted before its
// last look, and changes are made before sleepers are counted.
template <class Condition>
void Team::await(Condition ready) {
  for (int look = 0; look < kLooks; ++look) {
    if (ready()) return;
    pause();
  }
  if (resting_) resting_();
  std::unique_lock<std::mutex> lock(mutex_);
  ++sleepers_;
  changed_.wait(lock, ready);
  --sleepers_;
}

void Team::announce() {
  if (sleepers_ == 0) return;
  {
    std::lock_guard<std::mutex> lock(mutex_);
  }  // a sleeper that looked before the change is waiting by now
  changed_.notify_all();
}

}  // namespace nmt
