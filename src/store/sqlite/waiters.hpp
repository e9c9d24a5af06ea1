// The table `waiters`: which workflows wait for the end of an execution. live.waited says whether the table has rows
// for the execution, so that the end of an execution without waiters reads nothing.
#pragma once

#include "store/sqlite/live_row.hpp"

namespace hapax::store::sqlite {

// The journal entry of a workflow that waits.
struct Waiter {
  Uuid execution;
  std::int32_t position = 0;
};

// Adds a waiter for an execution whose row was just made and marked as waited for. 1 INSERT.
void add_waiter(WriteTransaction& tx, const Uuid& awaited, const Waiter& waiter);
// Adds a waiter for an execution that existed before: 1 UPDATE, 1 INSERT. If that execution has ended, the waiter gets
// its event at once: 1 UPDATE that finds no row, 1 SELECT, and the cost of send_event(); for each run that was continued 1
// SELECT and 1 UPDATE more.
void wait_for(WriteTransaction& tx, const Uuid& awaited, const Waiter& waiter);

// Notifies the waiters of an execution that has left live; only live waiters get the event. 1 SELECT, 1 DELETE; for
// each waiter 1 SELECT and the cost of send_event().
void notify_waiters(WriteTransaction& tx, const Uuid& ended, const Ending& ending);
// Makes the waiters wait for the next run, whose row is marked when it is made. 1 UPDATE.
void pass_waiters(WriteTransaction& tx, const Uuid& from, const Uuid& to);

}  // namespace hapax::store::sqlite
