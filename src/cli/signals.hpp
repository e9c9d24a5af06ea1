// SIGINT, SIGTERM and SIGHUP taken as events by one thread, instead of interrupting any.
#pragma once

#include <hapax/supervisor.hpp>

#include <atomic>
#include <chrono>
#include <csignal>
#include <cstdint>

namespace hapax::cli {

// Make it before other threads are started: it blocks the signals for them. They stay blocked until the program ends. In a
// process that has a supervisor, being told to end by it is the signal.
class StopSignals {
 public:
  enum class Event : std::uint8_t {
    none,    // time was over
    stop,    // a signal came; once for each
    done,    // raise_done() was called
    reload,  // SIGHUP, for who takes it so
  };

  // A worker stops when its terminal goes away; a server reads its files again (SIGHUP).
  enum class Hangup : std::uint8_t { stops, reloads };
  explicit StopSignals(Hangup hangup = Hangup::stops, SupervisedProcess* process = nullptr);
  [[nodiscard]] Event wait(std::chrono::milliseconds at_most);
  // From any thread, once: wait() answers `done`.
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
