// Who waits for the end of an execution: the table `waiters`. Whether anybody does is told by live.waited, so that the
// end of what nobody waits for never asks.
#pragma once

#include "store/sqlite/live_row.hpp"

namespace hapax::store::sqlite {

// A journal entry of a workflow.
struct Waiter {
  Uuid execution;
  std::int32_t position = 0;
};

// The execution's row has just been made, and marked as waited for. 1 INSERT.
void add_waiter(WriteTransaction& tx, const Uuid& awaited, const Waiter& waiter);
// Of an execution that was there before: 1 UPDATE, 1 INSERT. When it has ended, the waiter is told so: 1 UPDATE that
// finds nothing, 1 SELECT, and the telling; for each run that was continued 1 SELECT and 1 UPDATE more.
void wait_for(WriteTransaction& tx, const Uuid& awaited, const Waiter& waiter);

// It has left live: those who wait are told, each if it is live. 1 SELECT, 1 DELETE; a waiter 1 SELECT and the telling.
void tell_waiters(WriteTransaction& tx, const Uuid& ended, const Ending& ending);
// They wait for the next run, whose row is marked when it is made. 1 UPDATE.
void pass_waiters(WriteTransaction& tx, const Uuid& from, const Uuid& to);

}  // namespace hapax::store::sqlite
