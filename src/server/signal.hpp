// Signal: a wake-up for one waiting call, raised by any thread.
#pragma once

#include <functional>
#include <mutex>
#include <utility>

namespace hapax::server {

// Shared by the call that waits on it (Call::wait_on) and those who raise it. It remembers: raised before the wait, it ends
// the wait at once; a wait that it ended takes the memory away. Many raises before one wait are one.
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

  // For calls. True: it was raised already, which is now forgotten; else `wake` is called once, when it is.
  [[nodiscard]] bool taken_or_then(std::function<void()> wake) {
    const std::lock_guard lock(mutex_);
    if (std::exchange(raised_, false)) { return true; }
    wake_ = std::move(wake);
    return false;
  }
  // True: it was raised since; now forgotten. Nobody is woken any more.
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

}  // namespace hapax::server
