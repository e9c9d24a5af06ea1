// Plain values in which App reports on executions, queues and workflows.
#pragma once

#include <hapax/policy.hpp>
#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hapax {

// A recorded error. `detail` is for people: a stack, or the end of standard error.
struct ErrorDetails {
  std::string type{};
  std::string message{};
  std::string detail{};
  friend bool operator==(const ErrorDetails&, const ErrorDetails&) = default;
};

// The effect of a cancel on an execution.
enum class CancelAnswer : std::uint8_t {
  cancelled,  // it was pending and has ended now
  requested,  // it is running; its handler is told within about a second
  finished,   // it had ended before
  not_found,
};

// One execution in full, live or finished. Payloads are JSON text.
struct ExecutionRecord {
  Uuid id{};
  std::string task{};
  std::string queue{};
  Status status = Status::pending;
  std::string input{};
  std::optional<std::string> result{};
  std::optional<ErrorDetails> error{};
  int priority = 0;
  int run = 1;
  int attempt = 0;  // attempts made so far
  int max_attempts = 4;
  int lost = 0;  // times its worker was lost while it ran
  std::int64_t fence = 0;
  Time created_at{};
  Time run_at{};
  std::optional<Time> started_at{};  // of the latest attempt
  std::optional<Time> finished_at{};
  std::optional<Time> expires_at{};
  std::optional<Time> deadline{};
  bool workflow = false;
  bool waiting = false;                // a workflow that waits for an event or an instant
  std::string stuck_reason{};          // why a workflow cannot go on; empty: nothing stops it
  std::optional<Uuid> continued_as{};  // the next run of a workflow that continued as new
  std::optional<Uuid> parent{};        // the workflow or activity that started it
  std::string task_id{};               // the caller's key, or empty
  std::string identity{};              // 64 hex digits, or empty
  std::string concurrency_key{};
  std::string ordering_key{};
  bool parked = false;  // due, but behind other executions with its concurrency or ordering key
  std::string effect_key{};
  std::string worker{};  // the name of the worker that runs or ran it
  bool cancel_requested = false;
  std::optional<double> progress{};
  std::string progress_message{};
  bool dead = false;                 // in its queue's dead-letter list
  std::optional<Uuid> retried_as{};  // the run a dead letter was retried as
  std::string note{};
  std::vector<std::string> tags{};
  std::string metadata{};  // a JSON object, or empty
  std::string traceparent{};
  std::string tracestate{};
  std::string enqueued_by{};  // OpenOptions::actor or the token's name, if one was given
};

// One attempt of an execution.
struct AttemptRecord {
  int number = 1;
  std::string worker{};
  std::optional<Time> started_at{};
  std::optional<Time> ended_at{};
  std::string outcome{};  // completed, failed, lost, snoozed, cancelled, timed_out, running
  std::optional<ErrorDetails> error{};
};

// A condition on a top-level member of an execution's metadata: a string's text, or a number, true, false or null as it
// was written. A member that is an object or array never matches.
struct MetadataFilter {
  std::string key{};
  std::string value{};
};

// The filter of App::list; the page is newest first. An option that is not set does not filter.
struct ListOptions {
  std::vector<Status> statuses{};
  std::optional<std::string> queue{};
  std::optional<std::string> task{};
  std::optional<std::string> tag{};
  std::vector<MetadataFilter> metadata{};  // all of them must match
  std::optional<Uuid> parent{};            // only executions that this workflow or activity started
  std::optional<Time> created_from{};      // inclusive
  std::optional<Time> created_before{};    // exclusive
  bool dead_only = false;
  // Include input and result. A page with payloads ends at 16 MiB and may be shorter than `limit`, so only an empty
  // page is certainly the last. Without payloads, a page shorter than `limit` is the last.
  bool payloads = true;
  std::optional<Uuid> after{};  // cursor: the last ID of the previous page
  int limit = 50;               // 1 to 1,000
};

// A queue with its settings and figures.
struct QueueStats {
  std::string queue{};
  bool paused = false;
  bool draining = false;
  Duration retention{0};  // of tasks
  std::optional<Duration> failed_retention{};
  std::optional<Duration> dedup_window{};
  std::optional<RateLimit> rate_limit{};
  std::optional<RateLimit> key_rate_limit{};
  std::optional<int> concurrency{};
  std::optional<int> worker_concurrency{};
  std::optional<int> key_concurrency{};
  std::int64_t ready = 0;
  std::int64_t delayed = 0;  // not due yet, also those that wait for a retry
  std::int64_t parked = 0;   // due, but behind other executions with the same key
  std::int64_t running = 0;
  std::int64_t dead = 0;
  std::optional<Duration> oldest_ready{};  // how long the oldest due execution has been waiting
  std::int64_t completed_last_minute = 0;
  std::int64_t failed_last_minute = 0;
};

// A change of a queue's settings: only members that are set change anything. An inner empty value removes a setting:
// `.rate_limit = std::nullopt` changes nothing, `.rate_limit = std::optional<RateLimit>()` removes the limit.
struct QueueChange {
  std::optional<bool> paused{};
  std::optional<bool> draining{};
  // How long ended executions are kept; failed_retention, if set, applies to those that did not complete. 0: the
  // payload is deleted at completion.
  std::optional<std::optional<Duration>> retention{};
  std::optional<std::optional<Duration>> failed_retention{};
  std::optional<std::optional<Duration>> dedup_window{};     // keys are held at least this long after the end
  std::optional<std::optional<RateLimit>> rate_limit{};      // starts per period, over all workers
  std::optional<std::optional<RateLimit>> key_rate_limit{};  // starts per period of one concurrency or ordering key
  std::optional<std::optional<int>> concurrency{};           // running at once, over all workers
  std::optional<std::optional<int>> worker_concurrency{};    // running at once on one worker
  std::optional<std::optional<int>> key_concurrency{};       // running at once of one concurrency key; none: 1
};

// One journal entry of a workflow, for people.
struct TimelineEntry {
  int position = 0;
  std::string kind{};  // step, task, workflow, timer, signal, choice, now, random, uuid, patch, cancelled
  std::string name{};
  std::string status{};  // completed, failed, cancelled, timed_out, refused, waiting, retrying; else recorded
  Time at{};             // when the entry was recorded, or the task or child sent
  std::optional<Time> ended_at{};
  int attempts = 1;
  std::optional<Uuid> child{};         // the execution of a task or child workflow
  std::optional<std::string> input{};  // JSON; present while the child's record is kept
  std::optional<std::string> result{};
  std::optional<ErrorDetails> error{};
  std::string detail{};  // e.g. "fires 2026-03-01T09:00:00Z"
};

// A reason for an execution's status, and what would change it.
struct Explanation {
  std::string code{};  // stable: delayed, retrying, paused, no_worker, running, completed, …
  std::string sentence{};
  std::string remedy{};  // empty when you need do nothing
};

}  // namespace hapax
