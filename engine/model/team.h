// Threads that share the work of one batch.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace nmt {

// This thread and `threads - 1` others. They look for work for some microseconds before they sleep, as a step of the
// decoder has many short products and to wake a thread takes longer than such a product.
class Team {
 public:
  explicit Team(int threads);
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  int size() const { return (int)threads_.size() + 1; }
  // work(part) for each part below `parts`, at most size(), part 0 in this thread. Returns when all have returned; throws
  // what the first of them threw.
  void run(int parts, const std::function<void(int)>& work);

 private:
  void follow(int part);
  void attempt(int part);
  void end();
  template <class Condition>
  void await(Condition ready);
  void announce();

  std::vector<std::thread> threads_;
  std::vector<std::exception_ptr> thrown_;  // by each part
  const std::function<void(int)>* work_ = nullptr;
  int parts_ = 0;
  std::atomic<unsigned> turn_{0};   // counts calls of run
  std::atomic<int> left_{0};        // threads that have not ended their turn
  std::atomic<int> sleepers_{0};
  std::atomic<bool> ended_{false};
  std::mutex mutex_;
  std::condition_variable changed_;
};

}  // namespace nmt
