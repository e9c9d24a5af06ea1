// How executions leave `live` or become pending again: the statements behind finish, cancel, purge and sweep.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/journal.hpp"
#include "store/postgres/statement.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hapax::store::postgres {

// An execution that ends: its row moves from live to history.
struct Ending {
  Uuid id;
  std::int64_t fence = -1;                   // below zero: any fence, running or not
  std::optional<Status> status;              // none: ends only if its cancellation was requested, as cancelled
  std::optional<model::FinishKind> left_by;  // set by a worker's finish
  std::optional<std::string> result;
  std::optional<std::string> error;  // encoded; a cancelled one without it gets the canceller's reason
  std::optional<Duration> ran_for;   // none: the attempt began at its claim
  std::optional<Uuid> continued_as;  // the next run, which exists and has taken over the waiters
  std::optional<model::Keep> keep;   // of a guard; none: as its queue's retention says
};

// Options of a batch of endings.
struct EndingBatch {
  // True: the statement sends `ended` events to waiting workflows. False selects a cheaper statement for executions
  // that have no waiters and are not continued. Executions with waiters are not found.
  bool tells = true;
  std::vector<Uuid> later;  // rows that the same transaction changes later (inbox.hpp)
  EntryArrays entries;      // journal entries, written only for executions that end
};

// One statement that ends executions and, if the batch tells, sends an event to each waiter. Returns (id, queue, limit
// key and, if the batch tells, the queues in which a waiter became due) for each that ended. The caller passes the ids
// sorted, so that locks are taken in order.
[[nodiscard]] Call end_call(const std::vector<Ending>& endings, std::int64_t offset_us, EndingBatch batch = {});

// One statement for executions that all complete, each running under its fence, without waiters and without a limit
// key, as most do. Sends no events. Returns NULL when all ended, else the ids of those that did; the others are different.
[[nodiscard]] Call complete_all_call(const std::vector<Ending>& endings, std::int64_t offset_us, EntryArrays entries);

// Whether end_guard_call() can end it: a guard that completes with a retention of its own.
[[nodiscard]] bool is_plain_guard_end(const model::Finish& finish);
// One statement of plain values, with the columns of end_call(). An execution with waiters is not found.
[[nodiscard]] Call end_guard_call(const model::Finish& finish, std::int64_t offset_us);

enum class BackInLine : std::int16_t {
  retry = 4,  // values of FinishKind, where one exists
  snoozed = 5,
  released = 6,
  forgotten = -1,  // released by a beat or by the session's end
  lost = -2,
};

// A running execution that becomes pending again.
struct Waiting {
  Uuid id;
  std::int64_t fence = 0;
  BackInLine why = BackInLine::released;
  std::optional<std::string> error;  // encoded, retry
  Duration delay{0};                 // retry, snoozed
  Duration ran_for{0};               // retry, snoozed
};

// Returns (id, lost, max_lost, to be cancelled, queue, limit key) for each that became pending. A task whose
// cancellation was requested is left unchanged, for the caller to end, unless it was lost. Entries are written only for
// those that became pending.
[[nodiscard]] Call wait_call(const std::vector<Waiting>& waiting, std::int64_t offset_us, EntryArrays entries = {});

// A workflow that waits for events.
struct Pause {
  Uuid id;
  std::int64_t fence = 0;
  const model::Turn* turn = nullptr;
};

// Returns the columns of wait_call(), with "due at once" in place of "to be cancelled". Events that the run has not
// seen are looked for under the row's lock.
[[nodiscard]] Call pause_call(const std::vector<Pause>& pauses, std::int64_t offset_us, EntryArrays entries = {});

// In microseconds. A record that is kept for ever gets a value far beyond any record's expiry.
[[nodiscard]] std::int64_t keep_us(const model::Keep& keep);

// {"Cancelled", reason}, encoded.
[[nodiscard]] std::string cancelled_error(std::string_view reason);

}  // namespace hapax::store::postgres
