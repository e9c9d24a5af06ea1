// Soon: small jobs that one thread of the process does within a second, however many routers and namespaces there are.
//
// The thread lives while there are jobs. Any thread may call.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>

namespace hapax::schedule {

class Soon {
 public:
  // Never destroyed.
  [[nodiscard]] static Soon& of_process();

  // Does the job within a second, once; again and again if it throws. An owner has one job at a time: a second is left out
  // while the first has not begun. The owner calls forget() before it is gone.
  void run(const void* owner, std::function<void()> job);
  // Returns when no job of the owner is under way, and none follows.
  void forget(const void* owner);

 private:
  using Jobs = std::map<const void*, std::function<void()>>;

  void loop();
  void run_waiting(std::unique_lock<std::mutex>& lock);

  std::mutex mutex_;  // guards what follows
  std::condition_variable done_;
  Jobs waiting_;
  Jobs begun_;                     // of these one is under way, and the others are next
  const void* running_ = nullptr;  // the owner of the job that is under way
  bool has_thread_ = false;
};

}  // namespace hapax::schedule
