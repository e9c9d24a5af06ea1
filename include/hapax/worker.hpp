// Worker: runs the app's handlers for some queues until it is stopped or destroyed.
#pragma once

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstdint>
#include <memory>
#include <optional>

namespace hapax {

// Since the worker's start, as the store accepted it, and what is in hand now.
struct WorkerCounts {
  std::int64_t completed = 0;
  std::int64_t failed = 0;   // dead letters
  std::int64_t retried = 0;  // failed attempts that are tried again
  std::int64_t snoozed = 0;
  std::int64_t released = 0;
  std::int64_t cancelled = 0;
  std::int64_t timed_out = 0;
  std::int64_t stale = 0;  // outcomes refused: somebody else had the execution
  std::int64_t sessions_lost = 0;
  int queued = 0;  // claimed, waiting for a thread
  int running = 0;
  bool store_away = false;
};

namespace detail {
class AppState;
class WorkerState;
}  // namespace detail

class SupervisedProcess;

// Made by App::work. Any thread may call its members.
class Worker {
 public:
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  // stop().
  ~Worker();

  // Stops claiming, waits for running handlers up to the grace period, and releases the rest without spending their
  // attempt. A handler that still does not return is left to its thread: what it uses must outlive it.
  void stop();
  void stop(Duration grace);

  // Waits until the process is sent SIGINT or SIGTERM, then stop(); returns the signal's number. What the main function of a
  // worker program ends with (docs/guides/worker-program.md). Several workers may wait at once, each on a thread: one signal
  // ends them all. A second signal ends the process at once, as if nobody waited. The signals' handlers are those of before
  // when it returns. Throws UsageError when the signals cannot be taken.
  int run_until_signal();

  // True when this worker's queues have nothing pending (delayed and retrying included) or running.
  bool wait_until_empty(std::optional<Duration> at_most = std::nullopt);

  [[nodiscard]] WorkerCounts counts() const;
  // The session the store knows this worker by; another one after it was lost.
  [[nodiscard]] Uuid session() const;

 private:
  friend class App;
  friend class SupervisedProcess;
  explicit Worker(std::unique_ptr<detail::WorkerState> state);
  std::unique_ptr<detail::WorkerState> state_;
};

}  // namespace hapax
