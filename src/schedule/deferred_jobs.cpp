#include "schedule/deferred_jobs.hpp"

#include <chrono>
#include <exception>
#include <system_error>
#include <thread>
#include <utility>

namespace hapax::schedule {

namespace {

constexpr std::chrono::milliseconds gathered_for{500};

}  // namespace

DeferredJobs& DeferredJobs::of_process() {
  static DeferredJobs& jobs = *new DeferredJobs();
  return jobs;
}

void DeferredJobs::run(const void* owner, std::function<void()> job) {
  const std::lock_guard lock(mutex_);
  waiting_.try_emplace(owner, std::move(job));
  if (has_thread_) { return; }
  try {
    std::thread([this] { loop(); }).detach();
    has_thread_ = true;
  } catch (const std::system_error&) {
    // No thread could be started: the job waits for the next call of run().
  }
}

void DeferredJobs::forget(const void* owner) {
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ != owner; });
  begun_.erase(owner);
  waiting_.erase(owner);
}

void DeferredJobs::loop() {
  while (true) {
    std::this_thread::sleep_for(gathered_for);
    std::unique_lock lock(mutex_);
    run_waiting(lock);
    if (waiting_.empty()) {
      has_thread_ = false;
      return;
    }
  }
}

// Runs each waiting job once. Jobs added meanwhile wait for the next pass.
void DeferredJobs::run_waiting(std::unique_lock<std::mutex>& lock) {
  begun_.swap(waiting_);
  while (!begun_.empty()) {
    Jobs::node_type job = begun_.extract(begun_.begin());
    running_ = job.key();
    lock.unlock();
    bool failed = false;
    try {
      job.mapped()();
    } catch (const std::exception&) { failed = true; }
    lock.lock();
    if (failed) { waiting_.insert(std::move(job)); }
    running_ = nullptr;
    done_.notify_all();
  }
}

}  // namespace hapax::schedule
