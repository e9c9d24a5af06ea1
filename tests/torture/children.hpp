// The controller's child processes: starts, stops, continues and kills them by their process ID.
//
// Used by one thread. Children die with the controller (each asks the kernel for that), and the destructor kills the
// rest.
#pragma once

#include "torture/options.hpp"

#include <sys/types.h>

#include <chrono>
#include <string>
#include <vector>

namespace hapax::torture {

using Ticks = std::chrono::steady_clock;

struct Child {
  pid_t pid = 0;
  int number = 0;
  std::string role;
  std::string fault;                // value of HAPAX_FAULT, or empty
  bool killed = false;              // by the controller
  bool stopped = false;             // by the controller or by a fault
  bool asked_to_end = false;        // SIGTERM was sent, perhaps before the child had its handler
  Ticks::time_point continue_at{};  // for a stopped child
};

struct Ended {
  Child child;
  bool by_kill = false;  // by SIGKILL from the controller, a fault or the child itself
  bool failed = false;   // ended other than by SIGKILL or exit 0
  std::string how;
};

struct StartChild {
  std::string role;
  std::string fault;
  std::vector<std::string> queues;
  Duration lease = torture::lease;
};

class Children {
 public:
  Children(const Options& options, std::string url, std::string folder);
  ~Children();
  Children(const Children&) = delete;
  Children& operator=(const Children&) = delete;

  int start(const StartChild& what);  // returns the child's number
  [[nodiscard]] std::vector<Child>& living() { return living_; }
  [[nodiscard]] Child* find(int number);
  [[nodiscard]] int count(const std::string& role) const;

  void kill(Child& child);
  void stop(Child& child, Duration for_how_long);
  void resume(Child& child);
  void resume_due(bool all);
  void terminate(Child& child);  // sends SIGTERM: the child stops gracefully

  // Returns the children that have ended since the last call, and notices those that a fault stopped.
  [[nodiscard]] std::vector<Ended> reap();
  // Waits until no child of `role` is left and kills the late ones. Returns the children that ended.
  [[nodiscard]] std::vector<Ended> wait_for_end(const std::string& role, Duration at_most);

 private:
  const Options& options_;
  std::string url_;
  std::string folder_;
  int next_number_ = 1;
  std::vector<Child> living_;
};

}  // namespace hapax::torture
