// The values that engine and store exchange: executions as they are read, and acts on them. Requests are in
// model/new_execution.hpp, what a worker exchanges in model/claim.hpp. Plain values: no behaviour, no clock, no I/O.
#pragma once

#include "model/claim.hpp"
#include "model/new_execution.hpp"
#include "model/queue_settings.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hapax::model {

struct SweepRequest {
  int limit = 1000;        // rows per kind of work
  bool retention = false;  // also delete expired records and maintain partitions
};

struct SweepReport {
  int lost_sessions = 0;
  int requeued = 0;   // of lost sessions
  int dead = 0;       // lost too often: failed
  int timed_out = 0;  // deadlines
  int expired = 0;    // finished executions deleted
  bool more = false;  // a limit was reached: call again at once
  // Rows that the sweep skipped because it could not read or change them, and the first one's error.
  int bad = 0;
  std::string first_error;
  // Why a part of the sweep (lost sessions, deadlines, retention) failed as a whole; empty: no part did. The other
  // parts were done.
  std::string failure;
  friend bool operator==(const SweepReport&, const SweepReport&) = default;
};

using Attempt = AttemptRecord;

// An execution in full, live or finished.
struct Execution {
  Uuid id;
  QueueRef queue;
  std::string task;
  Kind kind = Kind::task;
  Status status = Status::pending;
  std::string input;
  std::optional<std::string> result;
  std::optional<ErrorInfo> error;
  int priority = 0;
  int run = 1;
  int attempt = 0;  // attempts made (counted at claim)
  int max_attempts = 4;
  int lost = 0;
  int max_lost = 4;
  std::int64_t fence = 0;
  Time created_at{};
  Time run_at{};
  std::optional<Time> started_at;  // of the latest attempt
  std::optional<Time> finished_at;
  std::optional<Time> expires_at;
  std::optional<Time> deadline;
  std::optional<Duration> attempt_timeout;
  std::optional<RetryPolicy> retry;
  std::optional<base::Digest> identity;
  std::string identity_key;
  std::string effect_key;
  std::optional<Uuid> parent;
  std::optional<Uuid> session;
  std::string worker;
  bool cancel_requested = false;
  std::optional<double> progress;
  std::string progress_message;
  bool dead = false;               // in its queue's dead-letter list
  std::optional<Uuid> retried_as;  // the run a dead letter was retried as
  std::string note;                // an operator's annotation
  Labels labels;
  std::optional<LimitKey> limit_key;
  int weight = 1;
  bool parked = false;               // pending and due, but behind others with its limit key
  bool waiting = false;              // a workflow, pending: it waits for an event or an instant
  std::string stuck;                 // why a workflow cannot go on with its worker's code; empty: nothing stops it
  std::optional<Uuid> continued_as;  // the next run of a workflow that continued as new
};

// The state of an execution as far as a waiter needs it.
struct Outcome {
  Uuid id;
  Status status = Status::pending;
  std::optional<std::string> result;
  std::optional<ErrorInfo> error;
  std::optional<Uuid> continued_as;  // completed, but this next run has the result
  bool overdue = false;              // live with its deadline passed: the next sweep ends it
};

using MetadataMatch = MetadataFilter;

struct ListQuery {
  std::string namespace_name = "default";
  std::vector<Status> statuses;  // empty: all
  std::optional<std::string> queue;
  std::optional<std::string> task;
  std::optional<std::string> tag;
  std::vector<MetadataMatch> metadata;   // all must match; each adds a value to read for every row passed over
  std::optional<base::Digest> identity;  // only runs under this identity
  std::optional<Uuid> parent;            // only children of this workflow or activity
  std::optional<Kind> kind;              // none: all but guards, unless `queue` is the guards' queue (model/guard.hpp)
  std::optional<Time> created_from;      // inclusive
  std::optional<Time> created_before;    // exclusive
  bool dead_only = false;
  // Fill input and result. A page with payloads may be shorter than `limit` (limits::list_bytes); is_last_page tells
  // the last.
  bool payloads = true;
  std::optional<Uuid> after;  // cursor: continue below this ID
  int limit = 50;             // newest first (by ID)
  // Unless empty: only these, of every kind, guards included. At most limits::list_page.
  std::vector<Uuid> ids = {};
};

// A task's entry in the catalogue. `definition` is the JSON of model/task_definition.hpp.
struct TaskEntry {
  std::string namespace_name = "default";
  std::string name;
  std::string definition = "{}";
  std::string origin;  // "code", "file", "command", "api"
  Time updated_at{};   // set by the store
};

// A setting that belongs to no queue or task, by name: "identity.default".
struct Setting {
  std::string name;
  std::string value;
};

struct StoredCatalogue {
  std::vector<TaskEntry> tasks;
  std::vector<Setting> settings;
  std::int32_t version = 0;  // raised by each change of the namespace's tasks and settings; 0: never changed
};

struct QueueInfo {
  QueueRef queue;
  QueueSettings settings;
  std::int64_t ready = 0;
  std::int64_t delayed = 0;  // also executions that wait for a retry
  std::int64_t parked = 0;   // due, but behind others with its limit key
  std::int64_t running = 0;
  std::int64_t dead = 0;
  std::optional<Duration> oldest_ready;  // how long the oldest due execution has been waiting
  std::int64_t completed_last_minute = 0;
  std::int64_t failed_last_minute = 0;
  std::optional<Time> rate_arrival;  // the rate limit's state (model/rate.hpp)
};

using CancelVerdict = CancelAnswer;

struct CancelResult {
  CancelVerdict verdict = CancelVerdict::not_found;
  Status status = Status::pending;
};

struct RetryRequest {
  Uuid id;      // a failed, cancelled or timed-out execution
  Uuid new_id;  // of the run to create
  bool new_effect_key = false;
};

enum class RetryVerdict : std::uint8_t {
  created,
  not_found,
  not_finished,     // still pending or running
  completed,        // nothing to retry
  already_retried,  // `existing` is the run it was retried as
  identity_held,    // a newer run holds the identity: `existing`
  guarded,          // a guarded call, which no worker would claim: forget its record and call it again
};

struct RetryResult {
  RetryVerdict verdict = RetryVerdict::not_found;
  Uuid existing;
  Status status = Status::pending;
  int run = 1;
};

}  // namespace hapax::model
