// The values that travel between engine and store. No behaviour, no clock, no I/O.
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

// Persisted; never renumber.
enum class Kind : std::uint8_t { task = 0, workflow = 1, guard = 2 };

// How a request meets the holder of its identity (SPEC I16). Persisted nowhere.
enum class IdentityMode : std::uint8_t {
  hold,
  throttle,   // for a while after the holder's admission it answers; then a new run, whatever the holder does
  debounce,   // a holder that has not started gets the new input and waits anew; else a new run
  keep_last,  // the same, and the new run waits for the one before (the caller gives it an ordered key)
};

// Where guards are. No worker looks there: nothing in it is ever pending.
inline constexpr std::string_view guard_queue = "hapax.guard";

// A queue is named inside a namespace.
struct QueueRef {
  std::string ns = "default";
  std::string name = "default";
  friend auto operator<=>(const QueueRef&, const QueueRef&) = default;
};

// What made an attempt fail. `detail` is for people: a stack, the tail of standard error.
struct ErrorInfo {
  std::string type;
  std::string message;
  std::string detail;
  friend bool operator==(const ErrorInfo&, const ErrorInfo&) = default;
};

// Present on a request that has an identity (SPEC §3). The hash is what the store holds unique.
struct IdentityClaim {
  base::Digest hash{};
  std::string key;                          // as people know it: "payment-123"; used in messages only
  std::optional<base::Digest> fingerprint;  // none: never compared (SPEC I8)
  Reuse reuse = Reuse::failed_only;
  OnConflict on_conflict = OnConflict::return_existing;  // the store treats `wait` as return_existing
  std::optional<Duration> dedup_window;                  // held at least so long after the end; none: the queue's
  IdentityMode mode = IdentityMode::hold;
  Duration throttle{0};  // for IdentityMode::throttle: from the holder's admission
  // A name that at most one stored identity has (decision 58). A request whose name another identity has is not admitted
  // (AdmissionVerdict::name_taken), unless its own identity is held: then the holder answers as always.
  std::optional<base::Digest> name{};
};

// Executions of a queue that share a key run a limited number at a time (SPEC D13) or, ordered, strictly one after the
// other in the order of a store sequence (P6).
struct LimitKey {
  std::string text;
  bool ordered = false;
  friend auto operator<=>(const LimitKey&, const LimitKey&) = default;
};

// Admitted and claimed in one statement for a session of the caller, if the queue is neither paused nor has anything
// due; otherwise admitted as usual. A guard asks for it always, and is admitted so or not at all.
struct BornRunning {
  Uuid session;
  std::int64_t claim_number = 0;
};

// What people attach to an execution. Kept as one JSON object in the store, absent when all is empty.
struct Labels {
  std::vector<std::string> tags;
  std::string metadata;             // a JSON object, or empty
  std::string traceparent;          // W3C, or empty
  std::string actor;                // who asked for it, or empty (SPEC X8); a run that follows keeps it
  std::optional<Uuid> forked_from;  // the run that it, or the first of its chain, took up
  friend bool operator==(const Labels&, const Labels&) = default;
};

struct Seed;

// A request that has passed validation (engine/admission). The id is made by the client (UUIDv7).
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
  std::optional<Duration> attempt_timeout;  // of a guard: its session's lease; none: it is never taken over
  std::optional<Duration> deadline;         // for the whole execution, from admission
  std::optional<IdentityClaim> identity;
  std::optional<std::string> effect_key;  // none: derived (model/effect_key.hpp)
  std::optional<Uuid> parent;
  Labels labels;
  std::optional<BornRunning> born_running;
  std::optional<LimitKey> limit_key;
  int weight = 1;  // under rate limits
  // The version of the namespace's catalogue that the request was made by (StoredCatalogue::version): the store refuses the
  // request when its catalogue is newer (store::CatalogueChanged). no_catalogue: the catalogue decides nothing about it.
  std::int32_t catalogue_version = no_catalogue;
  std::shared_ptr<const Seed> seed;  // a workflow that begins in the middle: what it has behind it
};

// Persisted nowhere; the answer to one admission.
enum class AdmissionVerdict : std::uint8_t {
  created,
  deduplicated,       // `id` is the holder's
  already_exists,     // on_conflict reject, holder pending or running
  already_completed,  // on_conflict reject, holder completed
  already_finished,   // reuse reject, holder failed, cancelled or timed out
  mismatch,           // same key, other fingerprint
  queue_draining,     // nothing admitted
  taken_over,         // a guard's holder had lost its session: the caller runs it now, under `fence`
  session_gone,       // a guard's own session is not there or its lease is over; nothing admitted
  name_taken,         // another identity has the request's name (IdentityClaim::name); nothing admitted
};

struct Admission {
  AdmissionVerdict verdict = AdmissionVerdict::created;
  Uuid id;                                // the new execution's or the holder's
  Status status = Status::pending;        // likewise
  int run = 1;                            // 1 for the first under an identity
  std::optional<Time> deduplicated_from;  // when not created: the holder's creation time
  std::optional<Time> finished_at;        // holder terminal
  std::optional<std::string> result;      // holder completed: its JSON; none when it has expired (a tombstone)
  bool expired = false;                   // the holder's record is gone, its identity is still held
  std::optional<std::int64_t> fence;      // born running was granted, or a guard taken over: the claim's fence
  Time created_at{};                      // of a new execution: the store's instant
  bool holds_name = true;                 // not created, and a name was asked for: whether the holder's identity has it
  [[nodiscard]] bool created() const { return verdict == AdmissionVerdict::created; }
};

// A worker incarnation as the store knows it.
struct NewSession {
  Uuid id;
  std::string worker;  // a label for people
  std::string host;
  std::int64_t pid = 0;
  Duration lease = std::chrono::seconds(30);
  std::vector<QueueRef> queues;
  std::vector<std::string> tasks;  // empty: any that is not a workflow
  std::string build;
};

struct SessionInfo : NewSession {
  Time started_at{};
  Time expires_at{};
  int running = 0;
};

// A leased execution. Attempt and fence were raised by the claim.
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
  std::optional<Duration> deadline_in;  // from the claim, by the store's clock: what a worker counts down
  std::optional<Duration> attempt_timeout;
  std::optional<RetryPolicy> retry;
  std::optional<base::Digest> identity;
  std::optional<std::string> effect_key;  // as given; model::effect_key(claim) is what handlers get
  std::optional<Uuid> parent;
  Labels labels;
  std::optional<LimitKey> limit_key;
  bool limited = false;    // its queue has limits, so that its outcome makes room
  std::int64_t inbox = 0;  // how many events it has been sent (Event::number of the newest)
};

struct ClaimRequest {
  Uuid session;
  // Grows with each claim a session makes. Kept on the claimed rows, so that a lost reply can be read back and a
  // forgotten claim released (SPEC D2).
  std::int64_t claim_number = 0;
  std::vector<QueueRef> queues;    // in the order to look; the caller rotates for fairness
  std::vector<std::string> tasks;  // empty: any that is not a workflow
  int limit = 1;
  // How many of them could start at once: a queue with limits gives no more (SPEC D12: no prefetch).
  int idle = 1;
  // The session holds nothing, so an execution that was lost before may run here alone. When one is due and this is
  // true, the reply has that one and nothing else. When false, such executions are passed over.
  bool alone = true;
  // The caller does not know what the session holds, as others hand out to it too: `alone` counts for nothing, and the
  // store looks. A session that runs an execution that was lost before is given nothing beside it (SPEC D3).
  bool by_holdings = false;
};

struct ClaimReply {
  std::vector<Claim> claims;
  // Lost-before executions are due that `alone` would give; by holdings, also when the session runs one and was given
  // nothing for that.
  bool suspects_due = false;
  std::optional<Duration> next_due;  // nothing more is ready: when the next delayed one will be, or a rate limit allows
};

// Persisted nowhere; what happened to an attempt.
enum class FinishKind : std::uint8_t {
  completed,  // terminal, with result
  failed,     // terminal, with error: a dead letter
  cancelled,  // terminal
  timed_out,  // terminal: the execution's deadline
  retry,      // failed attempt, pending again after `delay`, with error
  snoozed,    // pending again after `delay`, the attempt not spent
  released,   // pending again at once, the attempt not spent and not recorded
  waiting,  // a workflow waits: pending until an event, or until its turn says; the attempt not spent and not recorded
  continued,  // a workflow goes on as a new run (Turn::next): completed, with "null" as its result
};

struct Turn;

// How long the record of a guard is kept.
struct Keep {
  std::optional<Duration> period;  // after its end; none: for ever
  // False: for people only. Its identity is free at once, and the next request is a first one.
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
  Duration ran_for{0};               // how long the handler ran; the attempt's start is the store's now minus this
  std::shared_ptr<const Turn> turn;  // of a workflow; always given with waiting and continued
  std::optional<Keep> keep;          // of a guard that completed or failed; none: by its queue's retention
};

enum class FinishVerdict : std::uint8_t {
  accepted,  // also for a repeated finish with the accepted fence
  stale,     // nothing was changed
};

struct Exchange {
  std::vector<FinishVerdict> verdicts;  // one per finish, in order
  ClaimReply claim;
  // Queues in which the finishes made something due: a workflow that waited, the next run, what a turn started. A hint.
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

// What finished in a queue since the last beat, for throughput figures.
struct QueueCount {
  QueueRef queue;
  std::int64_t completed = 0;
  std::int64_t failed = 0;
  std::int64_t retried = 0;
};

struct Beat {
  Uuid session;
  Duration lease{0};
  // All claims numbered up to this one have been answered or given up. Rows of the session under such a number that are
  // not in `held` are unknown to it (a lost reply) and are released, the attempt not spent.
  std::int64_t settled_claim_number = 0;
  std::vector<Held> held;
  std::vector<Progress> progress;
  std::vector<QueueCount> counts;
};

struct BeatReply {
  bool session_lost = false;  // the session is gone: nothing it holds is its own any more
  std::vector<Uuid> cancel;   // held, and asked to be cancelled
  std::vector<Uuid> lost;     // in `held`, but no longer this session's under that fence
  int released = 0;
};

struct SweepRequest {
  int limit = 1000;        // rows per kind of work
  bool retention = false;  // also delete what has expired (and look after partitions)
};

struct SweepReport {
  int lost_sessions = 0;
  int requeued = 0;   // of lost sessions
  int dead = 0;       // lost too often: failed
  int timed_out = 0;  // deadlines
  int expired = 0;    // finished executions deleted
  bool more = false;  // a limit was hit: call again at once
  // Rows that the sweep left as they are because it could not read or change them, and what went wrong with the first.
  int bad = 0;
  std::string first_error;
  // Why one of the parts (lost sessions, deadlines, retention) failed as a whole; empty: none did. The others were done.
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
  bool dead = false;               // stands in the dead-letter list
  std::optional<Uuid> retried_as;  // the run a dead letter was retried as
  std::string note;                // an operator's annotation
  Labels labels;
  std::optional<LimitKey> limit_key;
  int weight = 1;
  bool parked = false;               // pending, due, and behind others of its limit key
  bool waiting = false;              // a workflow, pending: it waits for an event or an instant
  std::string stuck;                 // why a workflow cannot go on with the code it met; empty: it can
  std::optional<Uuid> continued_as;  // the run a workflow went on as
};

// Just enough for somebody who waits.
struct Outcome {
  Uuid id;
  Status status = Status::pending;
  std::optional<std::string> result;
  std::optional<ErrorInfo> error;
  std::optional<Uuid> continued_as;  // completed, but its result is that of this run
  bool overdue = false;              // live, and its deadline has passed: the next sweep ends it
};

// A top-level member of an execution's metadata, as text: what a string says, or a number, true, false or null as written.
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
  std::vector<MetadataMatch> metadata;   // all of them; one value more is looked at for each row that is passed over
  std::optional<base::Digest> identity;  // all runs under it
  std::optional<Uuid> parent;            // what a workflow or an activity started
  std::optional<Kind> kind;              // none: all but guards, unless their queue is asked for (model/guard.hpp)
  std::optional<Time> created_from;      // inclusive
  std::optional<Time> created_before;    // exclusive
  bool dead_only = false;
  // Fill input and result. A page with them may be shorter than `limit` (limits::list_bytes): is_last_page tells.
  bool payloads = true;
  std::optional<Uuid> after;  // cursor: continue below this id
  int limit = 50;             // newest first (by id)
  // Unless empty: these only, of every kind, guards too. At most limits::list_page.
  std::vector<Uuid> ids = {};
};

// A task's entry in the catalogue (SPEC I3). The definition is model/task_definition.hpp's JSON.
struct TaskEntry {
  std::string ns = "default";
  std::string name;
  std::string definition = "{}";
  std::string origin;  // "code", "file", "command", "api"
  Time updated_at{};   // set by the store
};

// Settings that are of no queue and no task, by name: "identity.default".
struct Setting {
  std::string name;
  std::string value;
};

struct StoredCatalogue {
  std::vector<TaskEntry> tasks;
  std::vector<Setting> settings;
  std::int32_t version = 0;  // raised by each change of the namespace's tasks and settings; 0: there was never any
};

struct QueueInfo {
  QueueRef queue;
  QueueSettings settings;
  std::int64_t ready = 0;
  std::int64_t delayed = 0;  // also waiting for a retry
  std::int64_t parked = 0;   // due, but others of its limit key are before it
  std::int64_t running = 0;
  std::int64_t dead = 0;
  std::optional<Duration> oldest_ready;  // how long the oldest due one has been waiting
  std::int64_t completed_last_minute = 0;
  std::int64_t failed_last_minute = 0;
  std::optional<Time> rate_arrival;  // the rate limit's state (model/rate.hpp)
};

enum class CancelVerdict : std::uint8_t {
  cancelled,  // was pending
  requested,  // is running: its worker will be told
  finished,   // had already ended (see status)
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
  guarded,          // a guarded call, which nobody would claim: it is forgotten, and called again
};

struct RetryResult {
  RetryVerdict verdict = RetryVerdict::not_found;
  Uuid existing;
  Status status = Status::pending;
  int run = 1;
};

}  // namespace hapax::model
