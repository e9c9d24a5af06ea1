// supervise: workers in processes of their own, started again when they end, so that a handler that crashes, or that ignores
// its timeout, takes one process with it and not the program.
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
// The function runs in each process, which is forked: open stores and start threads there and not before. A process is a
// worker session of its own, so what one held when it died is another's after the lease (SPEC D2, D3).
#pragma once

#include <hapax/time.hpp>
#include <hapax/worker.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax {

// What all processes did together; of the ones that died too.
struct SupervisorCounts {
  WorkerCounts work;
  int processes = 0;          // alive now
  std::int64_t started = 0;   // in all
  std::int64_t restarts = 0;  // because one ended that should not have
  std::int64_t killed = 0;    // by SIGKILL, because they did not end when they were told to
};

struct SupervisorOptions {
  int processes = 0;  // 0: as many as the machine has cores
  // What running handlers get when their process is told to end; the rest is released without spending an attempt.
  Duration grace = std::chrono::seconds(30);
  // A process that has not ended by so much after the grace period is killed.
  Duration kill_after = std::chrono::seconds(10);
  // A handler that was told to stop, by its timeout, deadline or cancellation, and has not returned after this is stuck: its
  // outcome is recorded without it, its process finishes what else it has within the grace period, and ends.
  Duration patience = std::chrono::seconds(5);
  // A process that ends unasked is started again after this, doubled each time up to the longest; one that had lived for
  // `good_after` begins anew.
  Duration restart_after = std::chrono::milliseconds(100);
  Duration restart_longest = std::chrono::seconds(30);
  Duration good_after = std::chrono::seconds(60);
  // Exit codes of a process that starting it again would not change: usage, data, a missing file, configuration. All others
  // are stopped then, and supervise() returns it.
  std::vector<int> fatal_exit_codes = {64, 65, 66, 78};
  // Both are called in the supervisor, on its one thread. Something a person may want to know: a process died, was killed,
  // is waited for. And what was done so far, about ten times a second.
  std::function<void(std::string_view)> on_trouble{};
  std::function<void(const SupervisorCounts&)> on_progress{};
};

struct SupervisorReport {
  int exit_code = 0;   // 0: stopped as asked, or every process ended with 0 by itself; else one of fatal_exit_codes
  std::string error;   // what the process threw that ended so: the error's name
  std::string reason;  // and its message
  SupervisorCounts counts;
};

namespace detail {
class SupervisedState;
}

// One of the processes, from inside. Made by supervise(); used by the function it is given to, on any thread.
class SupervisedProcess {
 public:
  explicit SupervisedProcess(detail::SupervisedState& state) : state_(state) {}
  SupervisedProcess(const SupervisedProcess&) = delete;
  SupervisedProcess& operator=(const SupervisedProcess&) = delete;

  // 1 to `processes`: whose place it has. A process that takes another's place has its number.
  [[nodiscard]] int number() const;

  // Runs until the process is told to end or a handler is stuck; then stops the worker within the grace period. Returns true
  // when it was told to, false for a stuck handler: then return anything but 0, or nothing at all, from the function.
  bool run(Worker& worker);
  bool run(const std::vector<Worker*>& workers);

  // ---- What run() is made of, for functions with a loop of their own -------------------------------------------------
  // It works: a rolling restart goes on to the next process.
  void ready();
  // For SupervisorCounts; call it now and then, and at the end.
  void report(const WorkerCounts& counts);
  // Waits until the process is told to end, or end() was called; false when `at_most` is over before that.
  bool wait_stop(Duration at_most);
  // How often it was told: after the second time nothing is worth waiting for.
  [[nodiscard]] int times_told() const;
  // Ends this process as if it had been told to, so that another takes its place: `why` is what people are told. It has the
  // grace period to end, and is ended after that. Any thread.
  void end(std::string_view why);
  // Whether end() was called.
  [[nodiscard]] bool ending() const;
  [[nodiscard]] Duration grace() const;
  [[nodiscard]] Duration patience() const;

 private:
  detail::SupervisedState& state_;
};

// The exit code of the process. What it throws is told, and is 78 for ConfigurationError and SchemaMismatch, 64 for other
// errors of the caller's, 75 for anything else.
using ProcessMain = std::function<int(SupervisedProcess&)>;

// Starts the processes and stays until all have ended. To be called by a process that has one thread, from it: throws
// UsageError otherwise, InvalidArgument for options that cannot be, StoreUnavailable when no process can be made.
//
// SIGTERM, SIGINT: all are told to end, and killed if they do not; a second one tells them again, a third kills them.
// SIGHUP: a rolling restart. One process at a time is replaced: a new one is started first, and when it is ready the old one
// is told to end. It is a fork of this program as it is now; a new build needs a new supervisor. When the terminal is gone,
// SIGHUP means SIGTERM. A process that ends with 0 unasked is done and not started again; supervise() returns when all are.
// When the supervisor dies, however it does, its processes are told to end. Signals it takes are as before when it returns;
// in the processes SIGINT and SIGHUP are blocked, and SIGTERM is taken for them.
SupervisorReport supervise(const SupervisorOptions& options, const ProcessMain& main);

}  // namespace hapax
