// Runs a program as a child process: writes its standard input, collects its standard output and error, and reports how
// it ended.
#pragma once

#include <hapax/time.hpp>

#include <sys/types.h>

#include <atomic>
#include <mutex>
#include <optional>
#include <set>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// The program to run. A command with blanks runs through /bin/sh -c, unless the whole command is the path of a program.
// A command without blanks runs directly and is looked up in PATH.
class Program {
 public:
  // Throws BadUsage for an empty command, MissingFile when there is no such program.
  explicit Program(std::string command);
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

// The process groups of live children, so that the worker can kill all of them before it ends. Any thread.
class ChildGroups {
 public:
  void add(pid_t group);
  void remove(pid_t group);
  // Sends the signal to every group.
  void signal(int number);
  [[nodiscard]] bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::set<pid_t> groups_;
};

struct ChildRequest {
  const Program& program;
  std::vector<std::string> environment;  // NAME=value: the program's whole environment
  std::string_view input;
  std::stop_token stop;             // on request: SIGTERM to the group, SIGKILL after `kill_after`
  std::optional<Duration> timeout;  // a child that runs longer is stopped in the same way
  Duration kill_after = std::chrono::seconds(5);
  std::size_t output_bytes = 0;  // kept of standard output; the rest is read and dropped
  std::size_t error_bytes = 0;   // kept of standard error: its tail
};

struct ChildResult {
  std::optional<int> exit_status;  // set if the child exited
  int signal = 0;                  // else the signal that killed it
  bool timed_out = false;
  std::string output;
  bool output_cut = false;
  std::string error_tail;
};

// Runs the program in a process group of its own and waits for its end. Throws std::system_error when it cannot be
// started. Processes that the program left running are not waited for, and are killed only if the program had to be
// stopped. Any thread.
[[nodiscard]] ChildResult run_child(const ChildRequest& request, ChildGroups& groups);

}  // namespace hapax::cli
