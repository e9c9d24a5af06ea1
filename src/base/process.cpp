#include "base/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace hapax::base {

namespace {

std::atomic<pid_t> known{0};  // 0: not known yet, or the fork handler could not be registered

// Runs before main, so that no fork happens meanwhile and no atfork handler of the program is registered earlier.
[[maybe_unused]] const bool forks_watched = [] {
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
