// supervise: runs workers in processes of their own and restarts those that die. A handler that crashes, or that
// ignores its timeout, then ends one process and not the program.
//
//   int main() {
//     return hapax::supervise({.processes = 4}, [](hapax::SupervisedProcess& process) {
//       auto app = hapax::open("sqlite:orders.db");
//       app.handle(charge_card, charge);
//       auto worker = app.work({.queues = {"payments"}, .threads = 8});
//       process.run(worker);
//       return 0;
//     }).exit_code;
//   }
//
// The function runs in each forked process: open stores and start threads in it, not before. Each process is a worker
// session of its own: when it dies, other workers run its executions after the lease.
#pragma once

#include <hapax/log.hpp>
#include <hapax/time.hpp>
#include <hapax/worker.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax {

// Counts over all processes, dead ones included.
struct SupervisorCounts {
  WorkerCounts work;
  int processes = 0;          // alive now
  std::int64_t started = 0;   // ever
  std::int64_t restarts = 0;  // after a process ended unexpectedly
  std::int64_t killed = 0;    // by SIGKILL, because they did not end when asked to
};

// Options of supervise(). Durations are 0 to one year.
struct SupervisorOptions {
  int processes = 0;  // 1 to 256; 0: as many as the machine has cores
  // How long running handlers may take when their process is asked to end; the rest is released without spending an
  // attempt.
  Duration grace = std::chrono::seconds(30);
  // How long after the grace period a process that has not ended is killed.
  Duration kill_after = std::chrono::seconds(10);
  // How long a handler may go on after it was asked to stop by its timeout, its deadline or a cancellation. Later than
  // that it counts as stuck: its outcome is recorded without it, and its process finishes its other handlers within the
  // grace period and ends.
  Duration patience = std::chrono::seconds(5);
  // A process that ends unasked is restarted after restart_after, doubled with each failure in a row up to
  // restart_longest. A process that lived for good_after resets the count.
  Duration restart_after = std::chrono::milliseconds(100);
  Duration restart_longest = std::chrono::seconds(30);
  Duration good_after = std::chrono::seconds(60);
  // Exit codes after which a restart would not help: usage, data, a missing file, configuration. The supervisor then
  // stops all processes, and supervise() returns the code.
  std::vector<int> fatal_exit_codes = {64, 65, 66, 78};
  // Called in the supervisor, on its one thread: on_log with what an operator may want to know (a process died, was
  // killed, is waited for), on_progress with the counts so far, about ten times a second. on_log not set: the lines go
  // nowhere.
  LogFunction on_log{};
  std::function<void(const SupervisorCounts&)> on_progress{};
};

// The result of supervise().
struct SupervisorReport {
  int exit_code = 0;   // 0: stopped as asked, or all processes ended with 0; else one of fatal_exit_codes
  std::string error;   // the name of the error that the failed process threw
  std::string reason;  // that error's message
  SupervisorCounts counts;
};

namespace detail {
class SupervisedState;
}

// One supervised process, seen from inside. supervise() makes and owns it; the process's function may use it on any
// thread.
class SupervisedProcess {
 public:
  explicit SupervisedProcess(detail::SupervisedState& state) : state_(state) {}
  SupervisedProcess(const SupervisedProcess&) = delete;
  SupervisedProcess& operator=(const SupervisedProcess&) = delete;

  // The number of this process, 1 to `processes`. A process that replaces another has the same number.
  [[nodiscard]] int number() const;

  // Runs until the process is asked to end or a handler is stuck, then stops the worker within the grace period.
  // Returns true when asked to end. Returns false for a stuck handler: the function then returns a non-zero code, or
  // does not return.
  bool run(Worker& worker);
  bool run(const std::vector<Worker*>& workers);

  // ---- The parts of run(), for functions with their own loop --------------------------------------------------------
  // Reports that the process works, so that a rolling restart continues with the next process.
  void ready();
  // Reports counts for SupervisorCounts; call it now and then, and before the end.
  void report(const WorkerCounts& counts);
  // Waits until the process is asked to end, or end() was called; false when `at_most` passes first.
  bool wait_stop(Duration at_most);
  // How often the process was asked to end. After the second time, end at once.
  [[nodiscard]] int times_told() const;
  // Asks this process to end, so that another takes its place; `why` is reported to on_log. The process has the
  // grace period to end, and is ended kill_after later in any case. Any thread.
  void end(std::string_view why);
  // Whether end() was called.
  [[nodiscard]] bool ending() const;
  [[nodiscard]] Duration grace() const;
  [[nodiscard]] Duration patience() const;

 private:
  detail::SupervisedState& state_;
};

// The function of a supervised process; returns the exit code. An exception is reported, and the exit code is 78 for
// ConfigurationError and SchemaMismatch, 64 for InvalidArgument, UsageError and ConflictingDeclaration, 75 for anything
// else.
using ProcessMain = std::function<int(SupervisedProcess&)>;

// Starts the processes and returns when all have ended. Call it from a process that has one thread. Throws UsageError
// if there are more threads, InvalidArgument for invalid options, StoreUnavailable when no process can be started.
//
// SIGTERM, SIGINT: all processes are asked to end, and killed if they do not. A second signal asks them again, a third
// kills them.
// SIGHUP: a rolling restart. Processes are replaced one at a time: the new process starts first, and when it is ready
// the old one is asked to end. The new process is a fork of this program as it is now; a new build needs a new
// supervisor. When the terminal is gone, SIGHUP means SIGTERM.
// A process that ends with 0 unasked is done and not restarted. When the supervisor dies, for whatever reason, its
// processes are asked to end. supervise() restores the signal handling that it changed. In the processes SIGINT and
// SIGHUP are blocked, and the library takes SIGTERM.
SupervisorReport supervise(const SupervisorOptions& options, const ProcessMain& main);

}  // namespace hapax
