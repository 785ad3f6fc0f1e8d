// Threads that share the work of one batch.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace nmt {

// A reference to a function of a part's number. std::function would allocate for a lambda with several captures.
class Work {
 public:
  template <class F>
  Work(const F& function)
      : function_(&function), call_([](const void* own, int part) { (*static_cast<const F*>(own))(part); }) {}
  void operator()(int part) const { call_(function_, part); }

 private:
  const void* function_;
  void (*call_)(const void*, int);
};

// This thread and `threads - 1` others. They poll for some microseconds before they sleep: a step of the decoder has
// many products that take less time than waking a thread.
class Team {
 public:
  // resting: called in a thread before it sleeps, or null.
  explicit Team(int threads, void (*resting)() = nullptr);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return (int)threads_.size() + 1; }
  // Calls work(part) for each part below `parts`, at most size(); part 0 in this thread. Returns when all have returned
  // and rethrows the first exception.
  void run(int parts, const Work& work);

 private:
  void follow(int part);
  void attempt(int part);
  void end();
  template <class Condition>
  void await(Condition ready);
  void announce();

  void (*const resting_)();
  std::vector<std::thread> threads_;
  std::vector<std::exception_ptr> thrown_;  // per part
  const Work* work_ = nullptr;
  int parts_ = 0;
  std::atomic<unsigned> turn_{0};  // number of calls of run
  std::atomic<int> left_{0};       // threads that have not finished their turn
  std::atomic<int> sleepers_{0};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace nmt
