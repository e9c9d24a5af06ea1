// SIGINT, SIGTERM and SIGHUP taken as events by one thread, instead of interrupting any.
#pragma once

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>

namespace hapax::cli {

// Make it before other threads are started: it blocks the signals for them. They stay blocked until the program ends.
class StopSignals {
 public:
  enum class Event : std::uint8_t {
    none,  // time was over
    stop,  // a signal came
    done,  // raise_done() was called
  };

  StopSignals();
  [[nodiscard]] Event wait(std::chrono::milliseconds at_most);
  // From any thread, once: wait() answers `done`.
  void raise_done() { done_ = true; }

 private:
  sigset_t signals_{};
  std::atomic<bool> done_{false};
};

}  // namespace hapax::cli
