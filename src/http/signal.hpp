// Signal: a wakeup for one waiting call, raised by any thread.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace hapax::http {

// Shared by the call that waits on it (Call::wait_on) and the threads that raise it. A signal raised before the wait
// ends that wait at once, and the wait resets it. Several raises before one wait count as one.
class Signal {
 public:
  // Any thread; returns at once.
  void raise() {
    std::function<void()> wake;
    {
      const std::lock_guard lock(mutex_);
      raised_ = true;
      wake = std::exchange(wake_, nullptr);
    }
    if (wake) { wake(); }
  }

  // For the waiting call. Returns true when the signal was raised before, and resets it. Otherwise `wake` is called
  // once, when the signal is raised.
  [[nodiscard]] bool taken_or_then(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(raised_, false)) { return true; }
    wake_ = std::move(wake);
    return false;
  }
  // Returns true when the signal was raised since, and resets it. `wake` is not called any more.
  [[nodiscard]] bool take_back() {
    const std::lock_guard lock(mutex_);
    wake_ = nullptr;
    return std::exchange(raised_, false);
  }

 private:
  std::mutex mutex_;
  bool raised_ = false;
  std::function<void()> wake_;
};

}  // namespace hapax::http
