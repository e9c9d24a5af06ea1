#include "http/store_threads.hpp"

#include <utility>

namespace hapax::http {

StoreThreads::StoreThreads(int threads) {
  for (int i = 0; i < threads; ++i) {
    threads_.emplace_back([this] { work(); });
  }
}

StoreThreads::~StoreThreads() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  condition_.notify_all();
  for (std::thread& thread : threads_) { thread.join(); }
}

void StoreThreads::run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    line_.push_back(std::move(job));
  }
  condition_.notify_one();
}

void StoreThreads::work() {
  std::unique_lock lock(mutex_);
  while (true) {
    condition_.wait(lock, [this] { return stopping_ || !line_.empty(); });
    if (line_.empty()) { return; }
    const std::function<void()> job = std::move(line_.front());
    line_.pop_front();
    lock.unlock();
    job();
    lock.lock();
  }
}

}  // namespace hapax::http
