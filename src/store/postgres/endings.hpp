// How executions leave `live`, or go back in line: the statements behind finish, cancel, purge and sweep.
#pragma once

#include "model/turn.hpp"
#include "store/postgres/entries.hpp"
#include "store/postgres/statement.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hapax::store::postgres {

// An execution that ends: its row moves from live to history.
struct Ending {
  Uuid id;
  std::int64_t fence = -1;                   // below zero: whatever it is, running or not
  std::optional<Status> status;              // none: only if its cancellation was asked for, as cancelled
  std::optional<model::FinishKind> left_by;  // set by a worker's finish
  std::optional<std::string> result;
  std::optional<std::string> error;  // encoded; cancelled without one: the canceller's reason
  std::optional<Duration> ran_for;   // none: the attempt began at its claim
  std::optional<Uuid> continued_as;  // the run that goes on, which is there and has its waiters
  std::optional<model::Keep> keep;   // of a guard; none: by its queue's retention
};

// What else a batch does.
struct EndingBatch {
  // False: nobody waits for any of them, and none is continued. If somebody does, the statement fails with a division by
  // zero. It is the cheaper one.
  bool tells = true;
  std::vector<Uuid> later;  // rows that the same transaction will touch after this (telling.hpp)
  EntryArrays entries;      // of those that end, kept only with the ending
};

// Returns (id, queue, limit key and, if it tells, queues in which somebody who waited became due) of those that ended. One statement, which
// tells all who waited; the caller has the ids in order, so that locks are taken in order.
[[nodiscard]] Call end_call(const std::vector<Ending>& endings, std::int64_t offset_us, EndingBatch batch = {});

// Executions that complete, each running under its fence, without anybody who waits for it and without a limit key: what
// most are. One statement for all of them, which tells nothing and fails with a division by zero if one is otherwise.
[[nodiscard]] Call complete_all_call(const std::vector<Ending>& endings, std::int64_t offset_us, EntryArrays entries);

enum class BackInLine : std::int16_t {
  retry = 4,  // the values of FinishKind where there is one
  snoozed = 5,
  released = 6,
  forgotten = -1,  // released by a beat or by the session's end
  lost = -2,
};

// A running execution that waits again.
struct Waiting {
  Uuid id;
  std::int64_t fence = 0;
  BackInLine why = BackInLine::released;
  std::optional<std::string> error;  // encoded, retry
  Duration delay{0};                 // retry, snoozed
  Duration ran_for{0};               // retry, snoozed
};

// Returns (id, lost, max_lost, to be cancelled, queue, limit key) of those that wait again. Tasks whose cancellation was
// asked for are left as they are, to be ended, except the lost. Entries are kept only of those that wait again.
[[nodiscard]] Call wait_call(const std::vector<Waiting>& waiting, std::int64_t offset_us, EntryArrays entries = {});

// A workflow that waits for events.
struct Pause {
  Uuid id;
  std::int64_t fence = 0;
  const model::Turn* turn = nullptr;
};

// The same columns. Whether there are events that it has not seen is looked at under the row's lock.
[[nodiscard]] Call pause_call(const std::vector<Pause>& pauses, std::int64_t offset_us, EntryArrays entries = {});

// In microseconds; far beyond any record's end, where it is kept for ever.
[[nodiscard]] std::int64_t keep_us(const model::Keep& keep);

// {"Cancelled", reason}, encoded.
[[nodiscard]] std::string cancelled_error(std::string_view reason);

}  // namespace hapax::store::postgres
