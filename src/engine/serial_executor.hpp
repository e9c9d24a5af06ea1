// SerialExecutor: one thread that runs posted functions in order.
//
// Callers' callbacks run on it, because they must not run on a thread for which other callers wait. The first post()
// starts the thread. The destructor returns when everything posted has run.
#pragma once

#include "engine/step_thread.hpp"

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace hapax::engine {

class SerialExecutor {
 public:
  SerialExecutor() = default;
  SerialExecutor(const SerialExecutor&) = delete;
  SerialExecutor& operator=(const SerialExecutor&) = delete;

  ~SerialExecutor() {
    {
      const std::lock_guard lock(mutex_);
      stopping_ = true;
    }
    condition_.notify_one();
    if (thread_.joinable()) { thread_.join(); }
  }

  void post(std::function<void()> work) {
    {
      const std::lock_guard lock(mutex_);
      if (!thread_.joinable()) {
        thread_ = std::thread([this] { loop(); });
      }
      queue_.push_back(std::move(work));
    }
    condition_.notify_one();
  }

 private:
  void loop() {
    mark_engine_thread();
    std::unique_lock lock(mutex_);
    while (true) {
      condition_.wait(lock, [this] { return stopping_ || !queue_.empty(); });
      if (queue_.empty()) { return; }
      const std::function<void()> work = std::move(queue_.front());
      queue_.pop_front();
      lock.unlock();
      try {
        work();
      } catch (...) {  // NOLINT(bugprone-empty-catch): a callback's own failure, and there is no one to report it to
      }
      lock.lock();
    }
  }

  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<std::function<void()>> queue_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hapax::engine
