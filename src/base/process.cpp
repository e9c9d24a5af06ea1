#include "base/process.hpp"

#include <pthread.h>
#include <unistd.h>

#include <atomic>

namespace hapax::base {

namespace {

std::atomic<pid_t> known{0};  // 0: nobody can tell when it changes

bool watch_forks() {
  const auto learn = [] { known.store(::getpid(), std::memory_order_relaxed); };
  if (pthread_atfork(nullptr, nullptr, +learn) != 0) { return false; }
  learn();
  return true;
}

}  // namespace

pid_t process_id() {
  static const bool watched = watch_forks();
  return watched ? known.load(std::memory_order_relaxed) : ::getpid();
}

}  // namespace hapax::base
