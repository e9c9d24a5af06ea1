// EndLimit: when a process that was told to stop ends, whatever its store does.
//
// A call of a store that hangs cannot be ended from outside, and a thread that is in one cannot be waited for. All that was
// acknowledged is committed, and what a worker holds is taken over when its lease is over: the process may leave.
#pragma once

#include "cli/shell.hpp"

#include <hapax/time.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace hapax::cli {

class EndLimit {
 public:
  using Clock = std::chrono::steady_clock;

  // What a process may need after its grace period to tell its store of its end.
  static constexpr Duration after_grace = std::chrono::seconds(5);

  // `leave` says why, on a thread of its own, before the process ends; it is not called once this object is gone.
  explicit EndLimit(std::function<void()> leave);
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

  // From now on the process ends with exit_store at that time, unless it has ended by then. Called once.
  void set(Clock::time_point at);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Throws InvalidArgument for a grace that no clock can wait for: more than limits::delay_max, as in a hapax.toml.
void check_grace(Duration grace, const std::string& field);

// Whether the store is one that may hang: a server's. A file answers, or keeps the process from ending at all.
[[nodiscard]] bool may_hang(const Shell& shell);

}  // namespace hapax::cli
