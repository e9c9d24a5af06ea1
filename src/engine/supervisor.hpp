// Supervisor: the parent of worker processes (hapax/supervisor.hpp has the contract).
//
// One thread, which forks, waits for signals and reaps; no store, no other thread. Its signals are taken as events
// (sigtimedwait), so nothing ever runs in a handler.
#pragma once

#include <hapax/supervisor.hpp>

#include "engine/supervisor_slot.hpp"

#include <sys/types.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <string>
#include <vector>

namespace hapax::engine {

// The wait before the next start after that many failures in a row: doubled each time, up to the longest.
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
    bool told = false;  // to end
    bool killed = false;
    std::optional<Steady::time_point> kill_at;
  };

  // Where one process is to be. During a rolling restart it has two: the old one, and its replacement.
  struct Place {
    int number = 1;
    std::optional<Process> process;
    std::optional<Process> replacement;
    int failures = 0;  // in a row
    std::optional<Steady::time_point> start_at;
    bool roll = false;  // its process is to be replaced
  };

  void start_due();
  // None when the machine has no room for another process now.
  [[nodiscard]] std::optional<Process> start(const Place& place, std::size_t slot);
  void start_later(Place& place, const std::string& why);
  void reap();
  void ended(Place& place, const Process& process, int status);
  void roll();
  void kill_due();
  void stop(int times);
  void end_roll(const std::string& why);
  void tell(Process& process);
  void take(int signal);
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
  sigset_t taken_{};
  sigset_t mask_before_{};
  struct sigaction child_before_ {};
  bool rolling_ = false;
  int stops_ = 0;  // times somebody asked for the end of all
  SupervisorReport report_;
  SupervisorCounts done_;  // of processes that have ended
};

}  // namespace hapax::engine
