#include "store/postgres/spin_wait.hpp"

#include <poll.h>

#include <sched.h>
#include <algorithm>
#include <atomic>
#include <thread>

namespace hapax::store::postgres {

namespace {

std::atomic_flag some_thread_polls;

bool is_readable(int socket) {
  pollfd entry{.fd = socket, .events = POLLIN, .revents = 0};
  return poll(&entry, 1, 0) > 0;
}

bool poll_until(int socket, std::chrono::steady_clock::time_point end) {
  while (!is_readable(socket)) {
    if (std::chrono::steady_clock::now() >= end) { return false; }
    sched_yield();
  }
  return true;
}

}  // namespace

bool SpinWait::poll_briefly(int socket) {
  static const bool alone = std::thread::hardware_concurrency() < 2;
  if (alone) { return false; }
  if (pause_left_ > 0) {
    --pause_left_;
    return false;
  }
  if (some_thread_polls.test_and_set(std::memory_order_acquire)) { return false; }
  const bool found = poll_until(socket, std::chrono::steady_clock::now() + at_most);
  some_thread_polls.clear(std::memory_order_release);
  pause_ = found ? 0 : std::min(2 * pause_ + 1, longest_pause);
  pause_left_ = pause_;
  return found;
}

}  // namespace hapax::store::postgres
