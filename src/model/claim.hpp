// The values that a worker and the store exchange: sessions, claims, outcomes and beats. Plain values: no behaviour, no
// clock, no I/O.
#pragma once

#include "model/new_execution.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hapax::model {

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
  Time due_at{};  // since when it could have been claimed; Time{}: not known here
  Time claimed_at{};
  std::optional<Time> deadline;
  std::optional<Duration> deadline_in;  // time left at the claim, by the store's clock; the worker counts it down
  std::optional<Duration> attempt_timeout;
  std::optional<RetryPolicy> retry;
  std::optional<base::Digest> identity;
  std::optional<std::string> effect_key;  // as stored; handlers get model::effect_key(claim)
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
  // How many claims the session could start at once. A queue with limits gives no more than that (no prefetch).
  int idle = 1;
  // The session holds nothing, so a lost execution (one whose worker died) may run here alone. True: if a lost
  // execution is due, the reply has that execution and no other. False: lost executions are skipped.
  bool alone = true;
  // The caller does not know what the session holds, because other callers claim for it too: the store ignores `alone`
  // and reads the session's executions. A session that runs a lost execution gets nothing beside it.
  bool by_holdings = false;
};

struct ClaimReply {
  std::vector<Claim> claims;
  // Lost executions are due that a claim with `alone` would get. With by_holdings also true if the session runs a lost
  // execution, beside which it gets nothing.
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
  // Whether the record holds the identity. If not, it is kept for people only, and the next request creates a new
  // guard.
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
  // Queues in which the finishes made an execution due (a waiting workflow, the next run, a task that a turn started).
  // Only a hint.
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

}  // namespace hapax::model
