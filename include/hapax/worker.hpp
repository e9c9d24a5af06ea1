// Worker: runs the app's handlers for some queues until it is stopped or destroyed.
#pragma once

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace hapax {

// A worker's counts since its start, of outcomes that the store accepted, and its load now.
struct WorkerCounts {
  std::int64_t completed = 0;
  std::int64_t failed = 0;   // dead letters
  std::int64_t retried = 0;  // failed attempts that will be retried
  std::int64_t snoozed = 0;
  std::int64_t released = 0;
  std::int64_t cancelled = 0;
  std::int64_t timed_out = 0;
  std::int64_t stale = 0;  // outcomes refused because another worker had the execution
  std::int64_t sessions_lost = 0;
  int queued = 0;  // claimed, and waiting for a thread
  int running = 0;
  bool store_away = false;  // the last call to the store failed
};

namespace detail {
class AppState;
class WorkerState;
}  // namespace detail

class SupervisedProcess;

// A running worker: App::work makes it, the caller owns it. Any thread may call its members.
class Worker {
 public:
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  // Calls stop().
  ~Worker();

  // Stops claiming, waits up to the grace period for running handlers, and releases the rest without spending their
  // attempt. A handler that still does not return keeps its thread: objects it uses must outlive it.
  void stop();
  void stop(Duration grace);

  // Waits until the process receives SIGINT or SIGTERM, calls stop() and returns the signal's number: the end of a
  // worker program's main (docs/guides/worker-program.md). Several workers may wait at once, each on a thread; one
  // signal ends them all. A second signal ends the process at once. The previous signal handlers are restored on
  // return. Throws UsageError when the signal handlers cannot be set.
  int run_until_signal();

  // Waits until this worker's queues have nothing pending (delayed and retrying executions included) or running; true
  // then. False when `at_most` passes first or the worker is stopped.
  bool wait_until_empty(std::optional<Duration> at_most = std::nullopt);

  [[nodiscard]] WorkerCounts counts() const;
  // The ID of the worker's session in the store; another ID after a lost session was opened anew.
  [[nodiscard]] Uuid session() const;

 private:
  friend class App;
  friend class SupervisedProcess;
  explicit Worker(std::unique_ptr<detail::WorkerState> state);
  std::unique_ptr<detail::WorkerState> state_;
};

}  // namespace hapax
