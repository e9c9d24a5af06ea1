// StoreThreads: threads that run blocking work for the event loops.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hapax::http {

// A fixed number of threads with one queue of jobs. The queue has at most one job per connection, as a call waits for
// one job at a time. Any thread may call; jobs do not throw.
class StoreThreads {
 public:
  explicit StoreThreads(int threads);
  StoreThreads(const StoreThreads&) = delete;
  StoreThreads& operator=(const StoreThreads&) = delete;
  ~StoreThreads();  // runs the queued jobs first

  void run(std::function<void()> job);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::function<void()>> line_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hapax::http
