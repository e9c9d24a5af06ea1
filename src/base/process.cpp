#include "base/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace hapax::base {

namespace {

std::atomic<pid_t> known{0};  // 0: not yet, or nobody can tell when it changes

// Before main, so that no fork can be in the middle of it and no handler of a program's own runs before.
[[maybe_unused]] const bool watched = [] {
  const auto learn = [] { known.store(::getpid(), std::memory_order_relaxed); };
  if (pthread_atfork(nullptr, nullptr, +learn) != 0) { return false; }
  learn();
  return true;
}();

}  // namespace

pid_t process_id() {
  const pid_t number = known.load(std::memory_order_relaxed);
  return number != 0 ? number : ::getpid();
}

}  // namespace hapax::base
