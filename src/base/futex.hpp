// FutexWord: one word that threads sleep on.
//
// As std::atomic's wait and notify, without the rounds of sched_yield that libstdc++ makes before it sleeps: with eight
// callers on two cores those took half of all CPU time of an enqueue.
#pragma once

#include <atomic>
#include <climits>
#include <cstdint>

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace hapax::base {

class FutexWord {
 public:
  explicit FutexWord(std::uint32_t value) : value_(value) {}

  [[nodiscard]] std::uint32_t load() const { return value_.load(std::memory_order_acquire); }

  // Returns once the value is another one.
  void wait_while(std::uint32_t value) const {
    while (load() == value) { call(FUTEX_WAIT_PRIVATE, value); }
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
