// Turns SIGINT, SIGTERM and SIGHUP into events for one thread, so that no thread is interrupted.
#pragma once

#include <hapax/supervisor.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>

namespace hapax::cli {

// Make it before other threads start, because they inherit the blocked signals. The signals stay blocked until the
// program ends. In a process with a supervisor, the supervisor's request to end takes the place of the signals.
class StopSignals {
 public:
  enum class Event : std::uint8_t {
    none,    // `at_most` has passed
    stop,    // a signal came; one event for each
    done,    // raise_done() was called
    reload,  // SIGHUP, with Hangup::reloads
  };

  // SIGHUP stops a worker, because its terminal is gone. A server reads its certificate again.
  enum class Hangup : std::uint8_t { stops, reloads };
  explicit StopSignals(Hangup hangup = Hangup::stops, SupervisedProcess* process = nullptr);
  [[nodiscard]] Event wait(std::chrono::milliseconds at_most);
  // Makes wait() return `done`. Any thread, once.
  void raise_done() { done_ = true; }

 private:
  [[nodiscard]] Event next_signal(std::chrono::milliseconds at_most);

  Hangup hangup_;
  SupervisedProcess* process_;
  int taken_ = 0;
  sigset_t signals_{};
  std::atomic<bool> done_{false};
};

}  // namespace hapax::cli
