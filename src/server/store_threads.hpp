// StoreThreads: where event loops send what blocks.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace hapax::server {

// A fixed number of threads and one line before them. The line is as long as there are connections at most: a call waits
// for one thing at a time. Any thread may call; jobs do not throw.
class StoreThreads {
 public:
  explicit StoreThreads(int threads);
  StoreThreads(const StoreThreads&) = delete;
  StoreThreads& operator=(const StoreThreads&) = delete;
  ~StoreThreads();  // after the jobs in line are done

  void run(std::function<void()> job);

 private:
  void work();

  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::function<void()>> line_;
  bool stopping_ = false;
  std::vector<std::thread> threads_;
};

}  // namespace hapax::server
