// Outcomes. One that ends its execution: 1 SELECT, 1 INSERT, 1 DELETE. A retry or snooze: 1 SELECT, 1 INSERT, 1 UPDATE.
// A refused one: 1 or 2 SELECTs.
#include "model/labels.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* ended_sql = "SELECT fence, finish_kind FROM history WHERE id = ?";

// A finish whose effect is already there: the execution left this very fence by a finish of the same kind.
bool is_repeated(WriteTransaction& tx, const FoundLive& found, const Finish& finish) {
  const int kind = static_cast<int>(finish.kind);
  if (found) { return found->fence == finish.fence && found->finish_kind == kind; }
  Cursor cursor = tx.db().use(ended_sql);
  return cursor.bind(finish.id).next() && cursor.integer(0) == finish.fence && !cursor.is_null(1) &&
         cursor.small(1) == kind;
}

bool goes_on(FinishKind kind) {
  return kind == FinishKind::retry || kind == FinishKind::snoozed || kind == FinishKind::released;
}

std::optional<std::string> given_error(const Finish& finish) {
  return finish.error ? std::optional(encode_error(*finish.error)) : std::nullopt;
}

Ending ending_of(const LiveRow& row, const Finish& finish, Time now) {
  Ending ending;
  ending.started_at = now - finish.ran_for;
  ending.finish_kind = finish.kind;
  switch (finish.kind) {
    case FinishKind::completed:
      ending.status = Status::completed;
      ending.result = finish.result;
      return ending;
    case FinishKind::failed:
      ending.status = Status::failed;
      ending.error = given_error(finish);
      return ending;
    case FinishKind::timed_out:
      ending.status = Status::timed_out;
      ending.error = given_error(finish);
      return ending;
    case FinishKind::cancelled: ending.error = given_error(finish); break;
    case FinishKind::retry:
    case FinishKind::snoozed:
    case FinishKind::released: break;  // only with a cancellation asked for
  }
  ending.status = Status::cancelled;
  if (!ending.error) { ending.error = cancelled_error(row.cancel_reason.value_or("")); }
  return ending;
}

}  // namespace

FinishVerdict finish(WriteTransaction& tx, const Finish& finish) {
  FoundLive found(tx, finish.id);
  if (!found || found->state != LiveState::running || found->fence != finish.fence) {
    return is_repeated(tx, found, finish) ? FinishVerdict::accepted : FinishVerdict::stale;
  }
  if (!goes_on(finish.kind) || found->cancel_requested) {
    end_execution(tx, found, ending_of(*found, finish, tx.now()));
    return FinishVerdict::accepted;
  }
  Waiting waiting = waiting_like(*found, found->run_at, found->attempt - 1);
  waiting.finish_kind = finish.kind;
  if (finish.kind != FinishKind::released) {
    const bool snoozed = finish.kind == FinishKind::snoozed;
    add_attempt(tx, *found, snoozed ? "snoozed" : "failed", given_error(finish), tx.now() - finish.ran_for);
    waiting.run_at = tx.now() + finish.delay;
    waiting.attempt += snoozed ? 0 : 1;
  }
  found.done();
  wait_again(tx, finish.id, waiting);
  return FinishVerdict::accepted;
}

}  // namespace hapax::store::sqlite
