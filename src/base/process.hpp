// The ID of this process: getpid() without its system call, for checks that every call makes.
#pragma once

#include <pthread.h>
#include <sys/types.h>
#include <unistd.h>

#include <atomic>

namespace hapax::base {

namespace detail {

inline std::atomic<pid_t> known_process_id{0};  // 0: not known yet, or the fork handler could not be registered

// Registers the fork handler before main, so that no fork comes before it and the program's own fork handlers come
// after it.
[[maybe_unused]] inline const bool forks_watched = [] {
  const auto learn = [] { known_process_id.store(::getpid(), std::memory_order_relaxed); };
  if (pthread_atfork(nullptr, nullptr, +learn) != 0) { return false; }
  learn();
  return true;
}();

}  // namespace detail

// Any thread. Correct in a child of fork(), but not in a child of a bare clone() or _Fork().
[[nodiscard]] inline pid_t process_id() {
  const pid_t number = detail::known_process_id.load(std::memory_order_relaxed);
  return number != 0 ? number : ::getpid();
}

}  // namespace hapax::base
