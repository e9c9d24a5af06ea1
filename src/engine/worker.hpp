// Worker: claims executions of some queues, runs a handler for each on a pool of threads, and records the outcomes.
//
// Typed handlers (App), `hapax work --exec` and the HTTP worker protocol all use this untyped worker.
//
//   auto engine = std::make_shared<engine::Engine>(store::open(url));
//   engine::Worker worker(engine, {.queues = {{"default", "emails"}}, .threads = 4},
//                         [](engine::Run& run) { return engine::Ending::completed(run.claim().input); });
//   worker.wait_until_empty();
//   worker.stop();
//
// Threads: a dispatcher (outcomes out, claims in: one Store::exchange a turn), a heartbeat, a watchdog once an attempt
// has a timeout, and `threads` pool threads that call the handler, several at once. Errors of the store are never
// fatal: outcomes are kept and sent again until the store answers, and a lost session is replaced by a new one.
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

namespace hapax::store {
class WorkStore;
}

namespace hapax::engine {

class Engine;
class WorkflowPool;

// The handler is called on a pool thread, once per attempt. Any exception is a failed attempt, with hapax::Error's name
// or the C++ type as the error's type.
using Handler = std::function<Ending(Run&)>;

// Callbacks for a live display; each may be empty. The worker's threads call them, several at once, so they must be
// quick and must not throw.
struct WorkerEvents {
  std::function<void(const model::Claim&)> started;
  // Called after the store answered. A stale verdict means that the outcome was refused.
  std::function<void(const model::Claim&, const model::Finish&, model::FinishVerdict)> finished;
  // Messages for an operator: the store is away, the session was lost, a handler does not return.
  std::function<void(std::string_view)> trouble;
};

struct WorkerOptions {
  std::vector<model::QueueRef> queues = {model::QueueRef{}};  // at least one
  std::vector<std::string> tasks;                             // claims only these; empty: any
  int threads = 0;                                            // 0: as many as the machine has
  Duration lease = std::chrono::seconds(30);
  std::optional<Duration> heartbeat;          // none: a third of the lease
  Duration grace = std::chrono::seconds(30);  // how long stop() lets handlers finish
  int prefetch = 0;                           // executions held at once; 0: by measurement, from `threads` up to 2,000
  std::string name;                           // a label for people; empty: host and process id
  std::string build;                          // a label of the program's version
  bool sweep = true;                          // also run the sweeper (lost sessions, deadlines, retention)
  bool tells_sweep = true;                    // reports trouble with the sweep to events.trouble
  std::optional<Duration> cleanup_interval;   // how often retention deletes; none: the store's setting, or an hour
  std::shared_ptr<WorkflowPool> workflows;    // runs claimed workflows; none: the worker has no workflows
  std::optional<model::QueueRef> questions;   // queue of questions to workflows; not one of `queues`
  Duration stop_patience{0};  // a handler that was asked to stop may take this long before it counts as stuck
  WorkerEvents events;
};

// Counts of the outcomes that the store accepted since the start, and of the runs held now.
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

// A Worker starts in its constructor, which throws what opening a session throws. Any thread may call its members.
class Worker {
 public:
  Worker(std::shared_ptr<Engine> engine, WorkerOptions options, Handler handler);
  // Makes a worker of a server's store (api/remote_work_store.hpp). This worker does not sweep, and enqueuing code of
  // this process does not reserve its threads.
  Worker(std::shared_ptr<store::WorkStore> store, WorkerOptions options, Handler handler);
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;
  Worker(Worker&&) noexcept;
  Worker& operator=(Worker&&) noexcept;
  // Calls stop().
  ~Worker();

  // Stops claiming, waits for running handlers up to the grace period, releases the other runs without spending their
  // attempt, and closes the session. A handler that still does not return keeps its thread; its result is dropped.
  void stop();
  // As stop(), with another grace period.
  void stop(Duration grace);

  // Returns true when this worker holds no runs and its queues have nothing pending (delayed and retrying included) or
  // running. Returns false when `at_most` is over or the worker was stopped before that.
  bool wait_until_empty(std::optional<Duration> at_most = std::nullopt);

  // Replaces the task filter.
  void set_tasks(std::vector<std::string> tasks);

  // For a worker whose process can be replaced. A thread of the worker calls `on_stuck` for each handler that was asked
  // to stop (timeout, deadline, cancellation) and has not returned after `patience`; the handler's outcome is recorded
  // without waiting for it. stop() then does not wait for such handlers.
  void report_stuck(Duration patience, std::function<void(std::string_view)> on_stuck);

  [[nodiscard]] WorkerStats stats() const;
  [[nodiscard]] Uuid session() const;
  [[nodiscard]] const WorkerOptions& options() const;

 private:
  std::shared_ptr<WorkerCore> core_;
};

}  // namespace hapax::engine
