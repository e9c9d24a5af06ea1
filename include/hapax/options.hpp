// Options of App's calls: plain structs with their defaults. Durations count from the store's current time.
#pragma once

#include <hapax/log.hpp>
#include <hapax/policy.hpp>
#include <hapax/time.hpp>

#include <nlohmann/json.hpp>

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hapax {

class Observer;

// Options of hapax::open().
struct OpenOptions {
  std::string namespace_name = "default";  // the namespace (tenant) this app works in
  // Whether to bring the store's schema up to date. None: SQLite yes, PostgreSQL no (run `hapax migrate`).
  std::optional<bool> migrate{};
  bool must_exist = false;  // SQLite: fail instead of creating the file
  // Path of a hapax.toml. Settings in the file are applied to the store when they differ from those applied last. An
  // empty URL is taken from the file.
  std::string config{};
  // The name under which this program acts: kept with what the program enqueues, and in the audit log with what it
  // cancels, retries and changes. Empty: "code" in the audit log, no name with executions.
  std::string actor{};
  // File with the keys that encrypt payloads (docs/operating/security.md). Empty: the key file that `config` names, if
  // any. A store whose payloads are encrypted cannot be opened without its keys.
  std::string encryption_key_file{};
  // The most bytes an input or a result may have, 1 KiB to 8 MiB; a larger one is refused with PayloadTooLarge. The
  // limit holds for the whole process, guards included. 0: the limit in `config`, else the process's current limit,
  // which starts at 1 MiB.
  std::size_t payload_limit = 0;
  // Called with what an operator may want to know: the store is unavailable, a session was lost, a handler does not
  // return, schedules wait. The field `component` says whose line it is (worker, sweep, schedules), the field `worker`
  // which worker's, if it has a name. Runs on the library's threads until the app, its copies and its workers are
  // gone; must not throw. Not set: the lines go to the observer alone, and nowhere without one. The library never
  // writes to the terminal.
  LogFunction on_log{};
  // Sees admissions, claims, attempts, steps and calls of the store (hapax/observer.hpp). None: costs nothing.
  std::shared_ptr<Observer> observer{};
};

// Options of one enqueue. An option that is not set comes from the task's TaskOptions.
struct EnqueueOptions {
  std::optional<std::string> task_id{};  // the key under which the execution is unique; 1 to 255 bytes of UTF-8
  std::optional<std::string> queue{};
  std::optional<Duration> delay{};  // start no earlier than this much later
  std::optional<Time> run_at{};     // start no earlier than this instant; not together with delay
  std::optional<int> priority{};
  std::optional<int> max_attempts{};
  OnConflict on_conflict = OnConflict::return_existing;  // when the execution that holds the key has not ended
  std::optional<Reuse> reuse{};                          // when the execution that holds the key has ended
  std::optional<Duration> wait_timeout{};                // for OnConflict::wait; none: wait without limit
  std::vector<std::string> tags{};
  nlohmann::json metadata{};  // an object, or null for none
  std::optional<Duration> timeout{};
  std::optional<Duration> deadline{};
  std::optional<RetryPolicy> retry{};
  std::optional<std::string> effect_key{};  // passed on by handlers; none: derived from the key, or from the execution

  // Other rules for a held key: set at most one, together with a key or an identity strategy.
  std::optional<Duration> throttle{};  // requests within this time of the first return the first; a later one runs
  std::optional<Duration> debounce{};  // runs this long after the last request, with the last request's input
  bool keep_last = false;              // at most one execution runs and one is pending: the latest

  // A key that executions of one queue share; set at most one. With a concurrency key, at most the queue's
  // key_concurrency (1 unless configured) run at once. With an ordering key they run strictly one after the other, in
  // the order of their admission.
  std::optional<std::string> concurrency_key{};
  std::optional<std::string> ordering_key{};
  int weight = 1;  // starts it counts as under a rate limit, 1 to 1,000
  // W3C trace context, passed to the handler. A malformed one is ignored, and a tracestate without a traceparent.
  std::string traceparent{};
  std::string tracestate{};
};

// Totals of a bulk enqueue so far.
struct BulkProgress {
  std::size_t admitted = 0;  // items answered so far, refused ones included
  std::size_t created = 0;
  std::size_t deduplicated = 0;
};

// Options of App::enqueue_many.
struct BulkOptions {
  int batch = 5000;       // executions per transaction, 1 to 5,000; a transaction admits all or none
  EnqueueOptions each{};  // for items without options of their own
  std::function<void(const BulkProgress&)> progress{};  // called after each batch, on the caller's thread
};

// Options of App::work.
struct WorkerOptions {
  std::vector<std::string> queues = {"default"};
  int threads = 0;                            // handlers that run at once; 0: as many as the machine has cores
  Duration lease = std::chrono::seconds(30);  // a crashed worker's executions run elsewhere after this time (+ 1 s)
  std::optional<Duration> heartbeat{};        // none: a third of the lease
  Duration grace = std::chrono::seconds(30);  // how long stop() lets handlers finish
  int prefetch = 0;             // executions claimed at once, running ones included; 0: set by measured handler times
  std::string name{};           // a label for people; empty: host and process ID
  std::string build{};          // a label of the program's version
  int workflow_cache = 1000;    // waiting workflows kept in memory, so that they resume without a replay
  std::size_t workflow_stack =  // stack bytes of a workflow's function; steps use the worker thread's stack
      256 << 10;
  bool sweep = true;      // also requeue lost workers' tasks, enforce deadlines and delete expired records
  bool schedules = true;  // also start due schedules
  // How often expired records are deleted. None: the store's [cleanup] interval, or one hour.
  std::optional<Duration> cleanup_interval{};
};

}  // namespace hapax
