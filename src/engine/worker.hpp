// Worker: claims executions of some queues, runs a handler for each on a pool of threads, and records the outcomes.
//
// The untyped worker under everything: typed handlers (App), `hapax work --exec` and the HTTP worker protocol.
//
//   auto engine = std::make_shared<engine::Engine>(store::open(url));
//   engine::Worker worker(engine, {.queues = {{"default", "emails"}}, .threads = 4},
//                         [](engine::Run& run) { return engine::Ending::completed(run.claim().input); });
//   worker.wait_until_empty();
//   worker.stop();
//
// Threads: a dispatcher (outcomes out, claims in: one Store::exchange a turn), a heartbeat, a watchdog once an attempt
// has a timeout, and `threads` pool threads that call the handler, several at once. Errors of the store are never fatal:
// outcomes are kept and tried again until the store answers, and the session is opened anew when it was lost.
#pragma once

#include "engine/run.hpp"
#include "model/execution.hpp"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::engine {

class Engine;
class WorkflowPool;

// Called on a pool thread, once per attempt. May throw: anything thrown is a failed attempt (hapax::Error's name, or the
// C++ type, is the error's type).
using Handler = std::function<Ending(Run&)>;

// For a live display. Each may be empty. Called on the worker's threads, several at once: quick and not throwing.
struct WorkerEvents {
  std::function<void(const model::Claim&)> started;
  // After the store answered. A stale verdict means that the outcome was refused.
  std::function<void(const model::Claim&, const model::Finish&, model::FinishVerdict)> finished;
  // Something a person may want to know: the store is away, the session was lost, a handler does not return.
  std::function<void(std::string_view)> trouble;
};

struct WorkerOptions {
  std::vector<model::QueueRef> queues = {model::QueueRef{}};  // at least one
  std::vector<std::string> tasks;                             // claims only these; empty: any
  int threads = 0;                                            // 0: as many as the machine has
  Duration lease = std::chrono::seconds(30);
  std::optional<Duration> heartbeat;          // none: a third of the lease
  Duration grace = std::chrono::seconds(30);  // how long stop() lets handlers finish
  int prefetch = 0;                           // executions held at once; 0: by measure, from `threads` up to 2,000
  std::string name;                           // a label for people; empty: host and process id
  std::string build;                          // a label of the program's version
  bool sweep = true;                          // also run the sweeper (lost sessions, deadlines, retention)
  std::optional<Duration> cleanup_interval;   // of the sweeper's retention; none: the store's setting, or an hour
  std::shared_ptr<WorkflowPool> workflows;    // where claimed workflows go on; none: there are no workflows
  std::optional<model::QueueRef> questions;   // where those are asked from afar; not one of its queues
  Duration stop_patience{0};  // a handler that was told to stop may take this long before it counts as stuck
  WorkerEvents events;
};

// Outcomes the store accepted since the start, and what is in hand now.
struct WorkerStats {
  std::int64_t completed = 0;
  std::int64_t failed = 0;   // dead letters
  std::int64_t retried = 0;  // failed attempts that will be tried again
  std::int64_t snoozed = 0;
  std::int64_t released = 0;
  std::int64_t cancelled = 0;
  std::int64_t timed_out = 0;
  std::int64_t stale = 0;  // outcomes refused
  std::int64_t sessions_lost = 0;
  int queued = 0;  // claimed, waiting for a thread
  int running = 0;
  bool store_away = false;  // the last call to the store failed
};

class WorkerCore;

// Starts in its constructor (throws what opening a session throws). Any thread may call its members.
class Worker {
 public:
  Worker(std::shared_ptr<Engine> engine, WorkerOptions options, Handler handler);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  // stop().
  ~Worker();

  // Stops claiming, waits for running handlers up to the grace period, releases the rest without spending their attempt
  // and closes the session. A handler that still does not return is left to its thread; its result is dropped.
  void stop();
  // The same with another grace period.
  void stop(Duration grace);

  // Returns true when this worker holds nothing and its queues have nothing pending (delayed and retrying included) or
  // running, false when `at_most` is over or the worker was stopped before that.
  bool wait_until_empty(std::optional<Duration> at_most = std::nullopt);

  // Replaces the task filter.
  void set_tasks(std::vector<std::string> tasks);

  // For a process that can be replaced as a whole: each handler that was told to stop (timeout, deadline, cancellation)
  // and has not returned after `patience` is told of, on a thread of the worker's; its outcome is recorded without it.
  // stop() then does not wait for such handlers.
  void tell_stuck(Duration patience, std::function<void(std::string_view)> on_stuck);

  [[nodiscard]] WorkerStats stats() const;
  [[nodiscard]] Uuid session() const;
  [[nodiscard]] const WorkerOptions& options() const;

 private:
  std::shared_ptr<WorkerCore> core_;
};

}  // namespace hapax::engine
