// A row of `live` as the verbs read it inside a write transaction, and the moves that an execution can make.
#pragma once

#include "store/sqlite/write_transaction.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::store::sqlite {

// Persisted; never renumber.
enum class LiveState : std::uint8_t { ready = 0, running = 1, delayed = 2, parked = 3 };

// Text fields are views into the statement that read the row: valid until that statement is reset.
struct LiveRow {
  Uuid id;
  std::int64_t queue_id = 0;
  LiveState state = LiveState::ready;
  int priority = 0;
  Time run_at{};
  int lost = 0;
  std::int64_t fence = 0;
  int attempt = 0;
  std::optional<Uuid> session;
  std::int64_t claim_number = 0;
  std::optional<Time> claimed_at;
  bool cancel_requested = false;
  std::optional<int> finish_kind;
  std::optional<Time> deadline;
  std::string_view task;
  int kind = 0;
  Time created_at{};
  int max_attempts = 0;
  int max_lost = 0;
  int run = 1;
  std::optional<Duration> attempt_timeout;
  std::optional<std::string_view> retry;
  std::optional<base::Digest> identity;
  std::optional<std::string_view> identity_key;
  std::optional<std::string_view> effect_key;
  std::optional<Uuid> parent;
  std::optional<std::string_view> labels;
  std::optional<std::string_view> cancel_reason;
  std::optional<double> progress;
  std::string_view progress_message;
  std::string_view input;
  std::optional<std::string_view> limit_key;
  std::optional<int> weight;
  bool counted = false;
  bool superseded = false;
  std::int64_t inbox = 0;
  bool waited = false;
  std::string_view stuck;

  [[nodiscard]] Status status() const { return state == LiveState::running ? Status::running : Status::pending; }
  [[nodiscard]] bool is_workflow() const { return static_cast<Kind>(kind) == Kind::workflow; }
  [[nodiscard]] bool is_guard() const { return static_cast<Kind>(kind) == Kind::guard; }
  // Whether the execution ends as cancelled when it stops running without an end: its cancellation was requested, or a
  // newer request overtook it. A workflow ends by itself.
  [[nodiscard]] bool to_be_cancelled() const { return (cancel_requested || cancel_reason) && !is_workflow(); }
};

// The columns of `live` in the order read_live wants them.
#define HAPAX_LIVE_COLUMNS                                                                                         \
  "live.id, live.queue_id, live.state, live.priority, live.run_at, live.lost, live.fence, live.attempt, "          \
  "live.session, live.claim_number, live.claimed_at, live.cancel_requested, live.finish_kind, live.deadline, "     \
  "live.task, live.kind, live.created_at, live.max_attempts, live.max_lost, live.run, live.attempt_timeout, "      \
  "live.retry, live.identity, live.identity_key, live.effect_key, live.parent, live.labels, live.cancel_reason, "  \
  "live.progress, live.progress_message, live.input, live.limit_key, live.weight, live.counted, live.superseded, " \
  "live.inbox, live.waited, live.stuck"

[[nodiscard]] LiveRow read_live(const Cursor& cursor);

// One row, found by its id. 1 SELECT.
class FoundLive {
 public:
  FoundLive(WriteTransaction& tx, const Uuid& id);

  [[nodiscard]] explicit operator bool() const { return found_; }
  [[nodiscard]] const LiveRow& operator*() const { return row_; }
  [[nodiscard]] const LiveRow* operator->() const { return &row_; }
  // Call done() when the row's text is no longer needed: the row may then be changed without an open reader on it.
  void done() { cursor_.reset(); }
  // Reads the row once more, when other statements may have changed it since. 1 SELECT.
  void again(const Uuid& id);

 private:
  Cursor cursor_;
  bool found_ = false;
  LiveRow row_;
};

// How an execution ends.
struct Ending {
  Status status = Status::completed;
  std::optional<std::string_view> result;
  std::optional<std::string> error;       // as JSON
  std::optional<Time> started_at;         // of the attempt that ended the execution; none: it was pending or lost
  std::optional<FinishKind> finish_kind;  // none: the store ended the execution
  std::optional<int> lost;                // for an ending by a loss: the new count
  std::optional<Keep> keep;               // of a guard
  std::optional<Uuid> continued_as;       // the next run of a workflow: waiters now wait for that run
};

// Moves the row from live to history; `ending` has the columns that the live row lacks. 1 INSERT, 1 DELETE; a limit
// key, a queue that counts running executions, an identity that was taken over and waiters cost more (parking.hpp,
// waiters.hpp). Every row leaves live through this function, which notifies the waiters, except through
// complete_together (verbs.hpp), which takes only executions without waiters.
void end_execution(WriteTransaction& tx, FoundLive& found, const Ending& ending);

// A pending execution's place in the claim order of `live`.
struct Place {
  std::int64_t line = 0;
  LiveState state = LiveState::ready;
};
[[nodiscard]] Place place_of(std::int64_t queue_id, int priority, int lost, Time run_at, Time now);

// wait_again: running → pending, due at run_at. 1 UPDATE, and what limits cost (parking.hpp).
struct Waiting {
  std::int64_t queue_id = 0;
  int priority = 0;
  Time run_at{};
  int attempt = 0;
  int lost = 0;
  std::optional<FinishKind> finish_kind;
  std::optional<std::string> limit_key;
  bool counted = false;
  bool workflow = false;  // keeps its progress
  std::string stuck;      // of a workflow
};
// The row's present values, with another instant and attempt.
[[nodiscard]] Waiting waiting_like(const LiveRow& row, Time run_at, int attempt);
void wait_again(WriteTransaction& tx, const Uuid& id, const Waiting& waiting);

// running → pending as if never claimed. A task whose cancellation was requested ends as cancelled instead.
void release_running(WriteTransaction& tx, FoundLive& found);

// Adds a row to attempts for the running attempt. 1 INSERT.
void add_attempt(WriteTransaction& tx, const LiveRow& row, std::string_view outcome,
                 const std::optional<std::string>& error, Time started_at);

// The error {"Cancelled", reason} as it is stored.
[[nodiscard]] std::string cancelled_error(std::string_view reason);

}  // namespace hapax::store::sqlite
