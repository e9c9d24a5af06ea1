// A row of `live` as the verbs read it inside a write transaction, and the moves that an execution can make.
#pragma once

#include "store/sqlite/execution_row.hpp"
#include "store/sqlite/writer.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace hapax::store::sqlite {

[[nodiscard]] LiveRow read_live(const Cursor& cursor);

// FoundLive: one row, found by its id, with an open reader on it. 1 SELECT. One thread, inside one transaction.
class FoundLive {
 public:
  FoundLive(WriteTransaction& tx, const Uuid& id);

  [[nodiscard]] explicit operator bool() const { return found_; }
  [[nodiscard]] const LiveRow& operator*() const { return row_; }
  [[nodiscard]] const LiveRow* operator->() const { return &row_; }
  // Call close() when the row's text is no longer needed: the row may then be changed without an open reader on it.
  void close() { cursor_.reset(); }
  // Reads the row once more, when other statements may have changed it since. 1 SELECT.
  void reload(const Uuid& id);

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
// key, a queue that counts running executions, an identity that was taken over and waiters cost more (park.hpp,
// waiters.hpp). Every row leaves live through this function, which notifies the waiters, except through
// complete_together (verbs.hpp), which takes only executions without waiters.
void end_execution(WriteTransaction& tx, FoundLive& found, const Ending& ending);

// A pending execution's place in the claim order of `live`.
struct Place {
  std::int64_t line = 0;
  LiveState state = LiveState::ready;
};
[[nodiscard]] Place place_of(std::int64_t queue_id, int priority, int lost, Time run_at, Time now);

// A running execution that becomes pending again.
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
// The row's values with another run_at and attempt.
[[nodiscard]] Waiting as_pending(const LiveRow& row, Time run_at, int attempt);
// running → pending, due at run_at. 1 UPDATE, and the cost of limits (park.hpp).
// running → pending, due at run_at. 1 UPDATE, and the cost of limits (park.hpp).
void make_pending(WriteTransaction& tx, const Uuid& id, const Waiting& waiting);

// running → pending as if never claimed. A task whose cancellation was requested ends as cancelled instead.
void release_running(WriteTransaction& tx, FoundLive& found);

// Adds a row to attempts for the running attempt. 1 INSERT.
void add_attempt(WriteTransaction& tx, const LiveRow& row, std::string_view outcome,
                 const std::optional<std::string>& error, Time started_at);

// The error {"Cancelled", reason} as it is stored.
[[nodiscard]] std::string cancelled_error(std::string_view reason);

}  // namespace hapax::store::sqlite
