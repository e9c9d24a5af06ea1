// What App tells about executions, queues and the store: plain values for people and programs.
#pragma once

#include <hapax/policy.hpp>
#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hapax {

struct ErrorDetails {
  std::string type{};
  std::string message{};
  std::string detail{};
};

// An execution in full, live or finished. Payloads are JSON text.
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
  int attempt = 0;  // attempts made
  int max_attempts = 4;
  int lost = 0;  // workers lost while they ran it
  std::int64_t fence = 0;
  Time created_at{};
  Time run_at{};
  std::optional<Time> started_at{};  // of the latest attempt
  std::optional<Time> finished_at{};
  std::optional<Time> expires_at{};
  std::optional<Time> deadline{};
  bool workflow = false;
  bool waiting = false;                // a workflow that waits for an event or an instant
  std::string stuck_reason{};          // why a workflow cannot go on; empty: it can
  std::optional<Uuid> continued_as{};  // the run it went on as
  std::optional<Uuid> parent{};        // the workflow that started it
  std::string task_id{};               // the caller's key, or empty
  std::string identity{};              // 64 hex digits, or empty: what is held while it is kept
  std::string concurrency_key{};
  std::string ordering_key{};
  bool parked = false;  // due, and behind others of its concurrency or ordering key
  std::string effect_key{};
  std::string worker{};  // that has or had it
  bool cancel_requested = false;
  std::optional<double> progress{};
  std::string progress_message{};
  bool dead = false;                 // stands in its queue's dead-letter list
  std::optional<Uuid> retried_as{};  // the run a dead letter was retried as
  std::string note{};
  std::vector<std::string> tags{};
  std::string metadata{};  // a JSON object, or empty
  std::string traceparent{};
  std::string enqueued_by{};  // who asked for it, if that was told
};

struct AttemptRecord {
  int number = 1;
  std::string worker{};
  std::optional<Time> started_at{};
  std::optional<Time> ended_at{};
  std::string outcome{};  // completed, failed, lost, snoozed, cancelled, timed_out, running
  std::optional<ErrorDetails> error{};
};

// A top-level member of an execution's metadata and what it must be: the text of a string, or a number, true, false or
// null as it was written. Objects and arrays meet nothing.
struct MetadataFilter {
  std::string key{};
  std::string value{};
};

// Newest first; what is not set does not filter.
struct ListOptions {
  std::vector<Status> statuses{};
  std::optional<std::string> queue{};
  std::optional<std::string> task{};
  std::optional<std::string> tag{};
  std::vector<MetadataFilter> metadata{};  // all of them
  std::optional<Uuid> parent{};            // what a workflow or an activity started
  std::optional<Time> created_from{};      // inclusive
  std::optional<Time> created_before{};    // exclusive
  bool dead_only = false;
  // With input and result. A page with them ends at 16 MiB and may be shorter than `limit`: only an empty page is
  // certainly the last. Without them, a page shorter than `limit` is the last.
  bool payloads = true;
  std::optional<Uuid> after{};  // a cursor: continue below the last id of the page before
  int limit = 50;               // 1 to 1,000
};

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
  std::int64_t delayed = 0;  // also waiting for a retry
  std::int64_t parked = 0;   // due, but others of its key are before it
  std::int64_t running = 0;
  std::int64_t dead = 0;
  std::optional<Duration> oldest_ready{};  // how long the oldest due one has been waiting
  std::int64_t completed_last_minute = 0;
  std::int64_t failed_last_minute = 0;
};

// What a purge did. A workflow that has begun is asked to end, as cancel() asks it, so that it can put right what it did.
struct PurgeAnswer {
  std::size_t cancelled = 0;
  std::size_t requested = 0;
};

// Only what is set is changed. A setting that may be absent is taken away by an empty value: `.rate_limit = std::nullopt`
// says nothing, `.rate_limit = std::optional<RateLimit>()` takes the limit away.
struct QueueChange {
  std::optional<bool> paused{};
  std::optional<bool> draining{};
  // Of what completed, and of the rest when failed_retention is not set. 0: the payload goes at completion.
  std::optional<std::optional<Duration>> retention{};
  std::optional<std::optional<Duration>> failed_retention{};
  std::optional<std::optional<Duration>> dedup_window{};     // keys are held at least so long after the end
  std::optional<std::optional<RateLimit>> rate_limit{};      // starts, over all workers
  std::optional<std::optional<RateLimit>> key_rate_limit{};  // starts of one concurrency or ordering key
  std::optional<std::optional<int>> concurrency{};           // running at once, over all workers
  std::optional<std::optional<int>> worker_concurrency{};    // running at once on one worker
  std::optional<std::optional<int>> key_concurrency{};       // running at once of one concurrency key; none: 1
};

// One thing a workflow did, for people (SPEC W7).
struct TimelineEntry {
  int position = 0;
  std::string kind{};  // step, task, workflow, timer, signal, choice, now, random, uuid, patch, cancelled
  std::string name{};
  std::string status{};  // completed, failed, cancelled, timed_out, refused, waiting, retrying; recorded for the rest
  Time at{};             // when it was recorded, or sent
  std::optional<Time> ended_at{};
  int attempts = 1;
  std::optional<Uuid> child{};         // of a task or workflow
  std::optional<std::string> input{};  // JSON, while the child's record is kept
  std::optional<std::string> result{};
  std::optional<ErrorDetails> error{};
  std::string detail{};  // e.g. "fires 2026-03-01T09:00:00Z"
};

// A reason why an execution is where it is, and what would change it (SPEC D18).
struct Explanation {
  std::string code{};  // for programs: delayed, retrying, paused, no_worker, running, completed, …
  std::string sentence{};
  std::string remedy{};  // empty when nothing need be done
};

}  // namespace hapax
