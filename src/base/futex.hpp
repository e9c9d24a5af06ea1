// FutexWord: one 32-bit word that threads can sleep on. Any thread may call it.
//
// std::atomic's wait would do the same, but libstdc++ calls sched_yield many times before it sleeps: with eight callers
// on two cores these calls took half of an enqueue's CPU time.
#pragma once

#include <atomic>
#include <chrono>
#include <climits>
#include <cstdint>
#include <ctime>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hapax::base {

class FutexWord {
 public:
  explicit FutexWord(std::uint32_t value) : value_(value) {}

  [[nodiscard]] std::uint32_t load() const { return value_.load(std::memory_order_acquire); }

  // Returns when the value differs from `value`.
  void wait_while(std::uint32_t value) const {
    while (load() == value) { call(FUTEX_WAIT_PRIVATE, value); }
  }

  // Returns true when the value differs from `value`, false when `at_most` passes first.
  [[nodiscard]] bool wait_while(std::uint32_t value, std::chrono::nanoseconds at_most) const {
    const auto until = std::chrono::steady_clock::now() + at_most;
    while (load() == value) {
      const std::chrono::nanoseconds left = until - std::chrono::steady_clock::now();
      if (left <= std::chrono::nanoseconds::zero()) { return false; }
      const timespec time{.tv_sec = left.count() / 1'000'000'000, .tv_nsec = left.count() % 1'000'000'000};
      ::syscall(SYS_futex, &value_, FUTEX_WAIT_PRIVATE, value, &time, nullptr, 0);
    }
    return true;
  }

  void set_and_wake_one(std::uint32_t value) {
    value_.store(value, std::memory_order_release);
    call(FUTEX_WAKE_PRIVATE, 1);
  }

  void set_and_wake_all(std::uint32_t value) {
    value_.store(value, std::memory_order_release);
    call(FUTEX_WAKE_PRIVATE, INT_MAX);
  }

 private:
  void call(int operation, std::uint32_t value) const {
    ::syscall(SYS_futex, &value_, operation, value, nullptr, nullptr, 0);
  }

  std::atomic<std::uint32_t> value_;
};

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t) &&
              std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace hapax::base
