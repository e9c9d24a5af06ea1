// EndLimit: ends a stopping process at a set time, even if its store hangs.
//
// A call that hangs in a store cannot be ended from outside, and its thread cannot be joined. Exiting anyway loses
// nothing: acknowledged writes are committed, and a worker's executions are taken over when its lease is over (decision
// 46).
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

  // How long after its grace period a process may take to close its session in the store.
  static constexpr Duration after_grace = std::chrono::seconds(5);

  // Just before the process ends, `leave` reports why, on a thread of its own. Once this object is destroyed, `leave`
  // is not called.
  explicit EndLimit(std::function<void()> leave);
  ~EndLimit();
  EndLimit(const EndLimit&) = delete;
  EndLimit& operator=(const EndLimit&) = delete;

  // The process ends with exit_store at `at`, unless it has ended before. Called once.
  void set(Clock::time_point at);

 private:
  struct State;
  std::shared_ptr<State> state_;
};

// Throws InvalidArgument for a grace period over limits::delay_max, the limit of hapax.toml too.
void check_grace(Duration grace, const std::string& field);

// Whether calls of the store may hang: true for PostgreSQL and for a server. A SQLite call that hangs (a stalled disk)
// keeps the process in the kernel, so a limit would not help.
[[nodiscard]] bool may_hang(const Shell& shell);

}  // namespace hapax::cli
