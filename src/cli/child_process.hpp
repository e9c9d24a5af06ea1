// A program run as a child: bytes to its standard input, what it wrote to its standard output and error, how it ended.
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

// What to run. A command with blanks goes through /bin/sh -c, unless it is the path of a program; one without is run
// directly, looked up in PATH.
class Program {
 public:
  // Throws MissingFile when there is no such program.
  explicit Program(std::string command);
  [[nodiscard]] const std::vector<std::string>& words() const { return words_; }

 private:
  std::vector<std::string> words_;
};

// The process groups of children that are alive, so that none is left behind when the program ends. Any thread.
class ChildGroups {
 public:
  void add(pid_t group);
  void remove(pid_t group);
  // To each of them.
  void signal(int number);
  [[nodiscard]] bool empty() const;

 private:
  mutable std::mutex mutex_;
  std::set<pid_t> groups_;
};

struct ChildRequest {
  const Program& program;
  std::vector<std::string> environment;  // NAME=value: all that the program gets
  std::string_view input;
  std::stop_token stop;             // asked to stop: SIGTERM to its group, SIGKILL after `kill_after`
  std::optional<Duration> timeout;  // likewise when it runs longer
  Duration kill_after = std::chrono::seconds(5);
  std::size_t output_bytes = 0;  // of standard output kept; more is read and dropped
  std::size_t error_bytes = 0;   // of standard error kept: the tail
};

struct ChildResult {
  std::optional<int> exit_status;  // it exited
  int signal = 0;                  // or was killed by this
  bool timed_out = false;
  std::string output;
  bool output_cut = false;
  std::string error_tail;
};

// Runs it in a process group of its own and waits. Throws std::system_error when it cannot be started. What it started
// itself and left running is not waited for, and is killed only if it had to be stopped. Any thread.
[[nodiscard]] ChildResult run_child(const ChildRequest& request, ChildGroups& groups);

}  // namespace hapax::cli
