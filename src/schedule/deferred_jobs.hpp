// DeferredJobs: runs small jobs within a second, on one thread per process, however many routers and namespaces there
// are.
//
// The thread exists only while there are jobs. Any thread may call.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace hapax::schedule {

class DeferredJobs {
 public:
  // The process's instance. Never destroyed.
  [[nodiscard]] static DeferredJobs& of_process();

  // Runs the job once within a second, and retries it each half second while it throws. An owner has one waiting job: a
  // second one is ignored until the first has begun. The owner must call forget() before it is destroyed.
  void run(const void* owner, std::function<void()> job);
  // Removes the owner's jobs. Returns when none of them is running.
  void forget(const void* owner);

 private:
  using Jobs = std::map<const void*, std::function<void()>>;

  void loop();
  void run_waiting(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  // guards the members below
  std::condition_variable done_;
  Jobs waiting_;
  Jobs begun_;                     // the batch being run, without the running job
  const void* running_ = nullptr;  // the owner of the running job
  bool has_thread_ = false;
};

}  // namespace hapax::schedule
