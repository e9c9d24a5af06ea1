// One process of a supervisor, from its fork to its end.
#pragma once

#include <hapax/supervisor.hpp>

#include "app/supervisor_slot.hpp"

#include <sys/types.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <mutex>
#include <string_view>

namespace hapax::detail {

// The state of a supervised process. A guard thread waits for SIGTERM and makes sure that the process ends, even when
// the program does not react or the supervisor is dead. The state lives as long as the process.
class SupervisedState {
 public:
  SupervisedState(int number, const SupervisorOptions& options, app::SupervisorSlot& slot)
      : number_(number), options_(options), slot_(slot) {}

  void start_guard();

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] const SupervisorOptions& options() const { return options_; }
  [[nodiscard]] app::SupervisorSlot& slot() { return slot_; }
  [[nodiscard]] int times_told() const { return end_requests_.load(); }
  [[nodiscard]] bool ending() const { return ending_.load(); }
  bool wait_stop(Duration at_most);
  void end(std::string_view why);

 private:
  [[noreturn]] void guard();
  void count_end_request();

  const int number_;
  const SupervisorOptions& options_;
  app::SupervisorSlot& slot_;
  std::atomic<int> end_requests_{0};
  std::atomic<bool> ending_{false};
  std::mutex mutex_;
  std::condition_variable end_requested_;
};

}  // namespace hapax::detail

namespace hapax::app {

// Runs in the child of a fork: calls `main` and ends the process without the parent's atexit functions. The process
// gets SIGTERM when `supervisor` dies.
struct ProcessPlan {
  pid_t supervisor = 0;
  int number = 1;
  const SupervisorOptions& options;
  const ProcessMain& main;
  SupervisorSlot& slot;
};
[[noreturn]] void run_process(const ProcessPlan& plan);

// Exit codes with a meaning between a process and its supervisor.
inline constexpr int exit_of_stuck = 75;     // the process ended itself so that a new one takes its place
inline constexpr int exit_of_unended = 137;  // the process did not end in time, as if it had been killed

}  // namespace hapax::app
