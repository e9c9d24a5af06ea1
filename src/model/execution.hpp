// The values that engine and store exchange. Plain values: no behaviour, no clock, no I/O.
#pragma once

#include <hapax/policy.hpp>
#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"
#include "model/queue_settings.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::model {

// Persisted: never renumber.
enum class Kind : std::uint8_t { task = 0, workflow = 1, guard = 2 };

// How a request treats the holder of its identity. Never persisted.
enum class IdentityMode : std::uint8_t {
  hold,
  throttle,   // the holder answers for a time after its admission; then a new run, whatever the holder's status
  debounce,   // a holder that has not started gets the new input and a new delay; else a new run
  keep_last,  // the same, and the new run waits for the holder (the caller gives it an ordered key)
};

// The queue of guards. Workers never claim from it: nothing in it is ever pending.
inline constexpr std::string_view guard_queue = "hapax.guard";

// A queue's name in its namespace.
struct QueueRef {
  std::string ns = "default";
  std::string name = "default";
  friend auto operator<=>(const QueueRef&, const QueueRef&) = default;
};

// The error of a failed attempt. `detail` is for people: a stack, or the end of standard error.
struct ErrorInfo {
  std::string type;
  std::string message;
  std::string detail;
  friend bool operator==(const ErrorInfo&, const ErrorInfo&) = default;
};

// The identity of a request. The store keeps `hash` unique.
struct IdentityClaim {
  base::Digest hash{};
  std::string key;                          // for people: "payment-123"; used in messages only
  std::optional<base::Digest> fingerprint;  // none: never compared
  Reuse reuse = Reuse::failed_only;
  OnConflict on_conflict = OnConflict::return_existing;  // the store treats `wait` as return_existing
  std::optional<Duration> dedup_window;                  // held at least this long after the end; none: the queue's
  IdentityMode mode = IdentityMode::hold;
  Duration throttle{0};  // for IdentityMode::throttle, from the holder's admission
  // A name that at most one stored identity has (decision 58). A request whose name another identity has is not
  // admitted (AdmissionVerdict::name_taken), unless its own identity is held: then the holder answers.
  std::optional<base::Digest> name{};
};

// A key that executions of a queue share: a limited number of them run at a time or, if ordered, strictly one after the
// other in the order of a store sequence.
struct LimitKey {
  std::string text;
  bool ordered = false;
  friend auto operator<=>(const LimitKey&, const LimitKey&) = default;
};

// A request to admit and claim in one statement for a session of the caller. The store grants it if the queue is not
// paused and has nothing due, and admits as usual otherwise. A guard always asks for it, and is admitted this way or
// not at all.
struct BornRunning {
  Uuid session;
  std::int64_t claim_number = 0;
};

// Labels that callers attach to an execution. Stored as one JSON object, absent when all are empty.
struct Labels {
  std::vector<std::string> tags;
  std::string metadata;             // a JSON object, or empty
  std::string traceparent;          // W3C, or empty
  std::string actor;                // who enqueued it, or empty; later runs keep it
  std::optional<Uuid> forked_from;  // the run that this run, or the first of its chain, was forked from
  friend bool operator==(const Labels&, const Labels&) = default;
};

struct Seed;

// A validated request (engine/admission). The client makes the ID (UUIDv7).
struct NewExecution {
  static constexpr std::int32_t no_catalogue = -1;

  Uuid id;
  QueueRef queue;
  std::string task;
  Kind kind = Kind::task;
  std::string input = "null";  // JSON bytes, never parsed again
  int priority = 0;
  Duration delay{0};           // from the store's now
  std::optional<Time> run_at;  // an absolute instant instead of a delay
  int max_attempts = 4;
  int max_lost = 4;
  std::optional<RetryPolicy> retry;         // none: the default policy
  std::optional<Duration> attempt_timeout;  // of a guard: its session's lease; none: never taken over
  std::optional<Duration> deadline;         // for the whole execution, from admission
  std::optional<IdentityClaim> identity;
  std::optional<std::string> effect_key;  // none: derived (model/effect_key.hpp)
  std::optional<Uuid> parent;
  Labels labels;
  std::optional<BornRunning> born_running;
  std::optional<LimitKey> limit_key;
  int weight = 1;  // under rate limits
  // The catalogue version (StoredCatalogue::version) that the request was made with: the store refuses the request when
  // its catalogue is newer (store::CatalogueChanged). no_catalogue: the catalogue does not affect the request.
  std::int32_t catalogue_version = no_catalogue;
  std::shared_ptr<const Seed> seed;  // for a forked workflow: the journal entries it takes over
};

// The answer to one admission. Never persisted.
enum class AdmissionVerdict : std::uint8_t {
  created,
  deduplicated,       // `id` is the holder's
  already_exists,     // on_conflict reject, holder pending or running
  already_completed,  // on_conflict reject, holder completed
  already_finished,   // reuse reject, holder failed, cancelled or timed out
  mismatch,           // same key, other fingerprint
  queue_draining,     // nothing admitted
  taken_over,         // the guard's holder had lost its session: the caller runs the guard now, under `fence`
  session_gone,       // the guard's own session is gone or its lease is over; nothing admitted
  name_taken,         // another identity has the request's name (IdentityClaim::name); nothing admitted
};

struct Admission {
  AdmissionVerdict verdict = AdmissionVerdict::created;
  Uuid id;                                // the new execution's or the holder's
  Status status = Status::pending;        // the new execution's or the holder's
  int run = 1;                            // 1 for the first execution under an identity
  std::optional<Time> deduplicated_from;  // not created: the holder's creation time
  std::optional<Time> finished_at;        // for a holder that has ended
  std::optional<std::string> result;      // JSON of a completed holder; none when expired (a tombstone)
  bool expired = false;                   // the holder's record is gone, but its identity is still held
  std::optional<std::int64_t> fence;      // born running or taken over: the claim's fence
  Time created_at{};                      // of a new execution, by the store's clock
  bool holds_name = true;  // not created, with a name in the request: whether the holder's identity has that name
  [[nodiscard]] bool created() const { return verdict == AdmissionVerdict::created; }
};

// A worker session: one worker from its start to its end or loss, as the store knows it.
struct NewSession {
  Uuid id;
  std::string worker;  // a label for people
  std::string host;
  std::int64_t pid = 0;
  Duration lease = std::chrono::seconds(30);
  std::vector<QueueRef> queues;
  std::vector<std::string> tasks;  // empty: all but workflows
  std::string build;
};

struct SessionInfo : NewSession {
  Time started_at{};
  Time expires_at{};
  int running = 0;
};

// A claimed execution. The claim has raised its attempt and fence.
struct Claim {
  Uuid id;
  QueueRef queue;
  std::string task;
  Kind kind = Kind::task;
  std::string input;
  int attempt = 1;
  int max_attempts = 4;
  int lost = 0;
  int max_lost = 4;
  std::int64_t fence = 1;
  int priority = 0;
  int run = 1;
  Time created_at{};
  Time claimed_at{};
  std::optional<Time> deadline;
  std::optional<Duration> deadline_in;  // time left at the claim, by the store's clock; the worker counts it down
  std::optional<Duration> attempt_timeout;
  std::optional<RetryPolicy> retry;
  std::optional<base::Digest> identity;
  std::optional<std::string> effect_key;  // as given; handlers get model::effect_key(claim)
  std::optional<Uuid> parent;
  Labels labels;
  std::optional<LimitKey> limit_key;
  bool limited = false;    // its queue has limits, so its outcome frees a place
  std::int64_t inbox = 0;  // events it was sent so far (Event::number of the newest)
};

struct ClaimRequest {
  Uuid session;
  // Grows with each claim of a session. Stored with the claimed rows, so that a claim whose reply was lost can be read
  // back or released.
  std::int64_t claim_number = 0;
  std::vector<QueueRef> queues;    // in claim order; the caller rotates them for fairness
  std::vector<std::string> tasks;  // empty: all but workflows
  int limit = 1;
  // How many claims could start at once: a queue with limits gives no more (no prefetch).
  int idle = 1;
  // The session holds nothing, so a lost execution (one whose worker died) may run here alone. When one is due and this
  // is true, the reply has that execution and no other. When false, lost executions are skipped.
  bool alone = true;
  // The caller does not know what the session holds, because other callers claim for it too: the store ignores `alone`
  // and looks. A session that runs a lost execution gets nothing beside it.
  bool by_holdings = false;
};

struct ClaimReply {
  std::vector<Claim> claims;
  // Lost executions are due that `alone` would give; with by_holdings also when the session runs one and therefore got
  // nothing.
  bool suspects_due = false;
  std::optional<Duration> next_due;  // nothing more is ready: time until an execution is due or a rate limit allows
};

// The end of an attempt. Never persisted.
enum class FinishKind : std::uint8_t {
  completed,  // terminal, with result
  failed,     // terminal, with error: a dead letter
  cancelled,  // terminal
  timed_out,  // terminal: the execution's deadline passed
  retry,      // failed attempt with error; pending again after `delay`
  snoozed,    // pending again after `delay`, the attempt not spent
  released,   // pending again at once, the attempt not spent and not recorded
  waiting,    // a workflow waits: pending until an event or an instant of its turn; attempt not spent, not recorded
  continued,  // a workflow continues as a new run (Turn::next): completed, with the result "null"
};

struct Turn;

// How long the record of an ended guard is kept.
struct Keep {
  std::optional<Duration> period;  // after its end; none: for ever
  // False: the record is kept for people only; the identity is free at once and the next request starts afresh.
  bool holds_identity = true;
  friend bool operator==(const Keep&, const Keep&) = default;
};

struct Finish {
  Uuid id;
  std::int64_t fence = 0;
  FinishKind kind = FinishKind::completed;
  std::string result = "null";       // completed
  std::optional<ErrorInfo> error;    // failed, retry, timed_out, cancelled (reason)
  Duration delay{0};                 // retry, snoozed
  Duration ran_for{0};               // how long the handler ran; the attempt started this long before the store's now
  std::shared_ptr<const Turn> turn;  // of a workflow; always present for waiting and continued
  std::optional<Keep> keep;          // of a guard that completed or failed; none: its queue's retention
};

enum class FinishVerdict : std::uint8_t {
  accepted,  // also for a repeated finish under the accepted fence
  stale,     // nothing was changed
};

struct Exchange {
  std::vector<FinishVerdict> verdicts;  // one per finish, in order
  ClaimReply claim;
  // Queues in which the finishes made something due (a waiting workflow, the next run, tasks that a turn started). A
  // hint.
  std::vector<QueueRef> woken;
};

struct Held {
  Uuid id;
  std::int64_t fence = 0;
};

struct Progress {
  Uuid id;
  std::int64_t fence = 0;
  double fraction = 0;
  std::string message;
};

// Outcomes in a queue since the last beat, for throughput figures.
struct QueueCount {
  QueueRef queue;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t retried = 0;
};

struct Beat {
  Uuid session;
  Duration lease{0};
  // All claims up to this number were answered or given up. Rows of the session with such a number that are not in
  // `held` come from a lost reply and are released; their attempt is not spent.
  std::int64_t settled_claim_number = 0;
  std::vector<Held> held;
  std::vector<Progress> progress;
  std::vector<QueueCount> counts;
};

struct BeatReply {
  bool session_lost = false;  // the session is gone, and with it everything it held
  std::vector<Uuid> cancel;   // held, with a cancellation request
  std::vector<Uuid> lost;     // in `held`, but no longer this session's under that fence
  int released = 0;
};

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
  // Why a part (lost sessions, deadlines, retention) failed as a whole; empty: none did. The other parts were done.
  std::string failure;
  friend bool operator==(const SweepReport&, const SweepReport&) = default;
};

// One attempt, for people.
struct Attempt {
  int number = 1;
  std::string worker;
  std::optional<Time> started_at;
  std::optional<Time> ended_at;
  std::string outcome;  // "completed", "failed", "lost", "snoozed", "cancelled", "timed_out", "running"
  std::optional<ErrorInfo> error;
};

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
  std::optional<Uuid> continued_as;  // completed, but the result is that of this next run
  bool overdue = false;              // live with its deadline passed: the next sweep ends it
};

// A condition on a top-level member of an execution's metadata: a string's text, or a number, true, false or null as
// written.
struct MetadataMatch {
  std::string key;
  std::string value;
};

struct ListQuery {
  std::string ns = "default";
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
  std::string ns = "default";
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

enum class CancelVerdict : std::uint8_t {
  cancelled,  // it was pending
  requested,  // it is running: its worker is notified
  finished,   // it had ended before (see status)
  not_found,
};

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
