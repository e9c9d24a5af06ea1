// Supervisor: the parent of worker processes (hapax/supervisor.hpp has the contract).
//
// One thread forks, waits for signals and reaps children; the supervisor opens no store and starts no other thread. It
// receives its signals synchronously (sigtimedwait), so no code runs in a signal handler.
#pragma once

#include <hapax/supervisor.hpp>

#include "app/supervisor_slot.hpp"

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace hapax::app {

// The wait before the next start after `failures` failures in a row: doubled each time, up to restart_longest.
[[nodiscard]] Duration restart_delay(const SupervisorOptions& options, int failures);

class Supervisor {
 public:
  Supervisor(const SupervisorOptions& options, const ProcessMain& main);
  ~Supervisor();
  Supervisor(const Supervisor&) = delete;
  Supervisor& operator=(const Supervisor&) = delete;

  [[nodiscard]] SupervisorReport run();

 private:
  using Steady = std::chrono::steady_clock;

  struct Process {
    pid_t pid = 0;
    std::size_t slot = 0;
    Steady::time_point started;
    bool asked_to_end = false;  // was asked to end
    bool killed = false;
    std::optional<Steady::time_point> kill_at;
  };

  // The place of one process. During a rolling restart it has two processes: the old one and its replacement.
  struct Place {
    int number = 1;
    std::optional<Process> process;
    std::optional<Process> replacement;
    int failures = 0;  // in a row
    std::optional<Steady::time_point> start_at;
    bool roll = false;  // its process must be replaced
  };

  void start_due();
  // Returns none when fork() fails.
  [[nodiscard]] std::optional<Process> start(const Place& place, std::size_t slot);
  void start_later(Place& place, const std::string& why);
  void reap();
  void ended(Place& place, const Process& process, int status);
  void roll();
  void kill_due();
  void stop(int times);
  void end_roll(const std::string& why);
  void ask_to_end(Process& process);
  void handle_signal(int signal);
  void trouble(const std::string& text) const;
  [[nodiscard]] bool terminal_is_gone() const;
  [[nodiscard]] bool all_gone() const;
  [[nodiscard]] std::vector<Process*> alive();
  [[nodiscard]] SupervisorCounts counts();

  SupervisorOptions options_;
  const ProcessMain& main_;
  SupervisorSlots slots_;
  std::vector<Place> places_;
  pid_t self_;
  bool had_terminal_;
  sigset_t handled_signals_{};
  sigset_t mask_before_{};
  struct sigaction child_before_ {};
  bool rolling_ = false;
  int stops_ = 0;  // how often a signal asked all processes to end
  SupervisorReport report_;
  SupervisorCounts done_;  // of processes that have ended
};

}  // namespace hapax::app
