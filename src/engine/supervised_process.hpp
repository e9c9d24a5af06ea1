// One process of a supervisor, from its fork to its end.
#pragma once

#include <hapax/supervisor.hpp>

#include "engine/supervisor_slot.hpp"

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string_view>

namespace hapax::detail {

// A thread of it takes SIGTERM, and sees to it that the process ends: also when whatever it runs does not hear, and when the
// supervisor is dead. Lives as long as the process.
class SupervisedState {
 public:
  SupervisedState(int number, const SupervisorOptions& options, engine::SupervisorSlot& slot)
      : number_(number), options_(options), slot_(slot) {}

  void start_guard();

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const SupervisorOptions& options() const { return options_; }
  [[nodiscard]] engine::SupervisorSlot& slot() { return slot_; }
  [[nodiscard]] int times_told() const { return told_.load(); }
  [[nodiscard]] bool ending() const { return ending_.load(); }
  bool wait_stop(Duration at_most);
  void end(std::string_view why);

 private:
  [[noreturn]] void guard();
  void tell();

  const int number_;
  const SupervisorOptions& options_;
  engine::SupervisorSlot& slot_;
  std::atomic<int> told_{0};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable told_condition_;
};

}  // namespace hapax::detail

namespace hapax::engine {

// In the child of a fork: dies with `supervisor`, runs `main`, ends the process without the parent's atexit functions.
struct ProcessPlan {
  pid_t supervisor = 0;
  int number = 1;
  const SupervisorOptions& options;
  const ProcessMain& main;
  SupervisorSlot& slot;
};
[[noreturn]] void run_process(const ProcessPlan& plan);

// Exit codes that have a meaning between the two.
inline constexpr int exit_of_stuck = 75;     // it ended itself for another to take its place
inline constexpr int exit_of_unended = 137;  // it did not end in time, as if it had been killed

}  // namespace hapax::engine
