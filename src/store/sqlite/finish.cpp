// Outcomes. A finish that ends its execution: 1 SELECT, 1 INSERT, 1 DELETE; many plain completions share statements
// (finish_many.cpp). A retry or snooze: 1 SELECT, 1 INSERT, 1 UPDATE. A stale one: 1 or 2 SELECTs. A turn: 1 INSERT
// more for each entry and, if it starts executions, 1 SELECT and their cost (turn.cpp). Waiting: 1 SELECT, 1 UPDATE.
#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "base/text.hpp"
#include "model/labels.hpp"
#include "store/sqlite/live_row.hpp"
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

constexpr const char* finish_ended_sql = "SELECT fence, finish_kind FROM history WHERE id = ? AND expires_at > ?";

// Whether a finish of the same kind has already ended the attempt under this fence, so that this one is a repetition.
// An expired record counts as absent.
bool is_repeated(WriteTransaction& tx, const FoundLive& found, const Finish& finish) {
  const int kind = static_cast<int>(finish.kind);
  if (found) { return found->fence == finish.fence && found->finish_kind == kind; }
  Cursor cursor = tx.db().use(finish_ended_sql);
  return cursor.bind(finish.id, tx.now()).next() && cursor.integer(0) == finish.fence && !cursor.is_null(1) &&
         cursor.small(1) == kind;
}

bool goes_on(FinishKind kind) {
  return kind == FinishKind::retry || kind == FinishKind::snoozed || kind == FinishKind::released ||
         kind == FinishKind::waiting;
}

std::optional<std::string> given_error(const Finish& finish) {
  return finish.error ? std::optional(encode_error(*finish.error)) : std::nullopt;
}

// The error of a cancelled finish: the reason comes from cancel(), the detail from the worker.
std::string cancellation(const LiveRow& row, const Finish& finish) {
  const std::string_view reason = row.cancel_reason.value_or("");
  if (!finish.error) { return cancelled_error(reason); }
  if (reason.empty() || row.is_workflow()) { return encode_error(*finish.error); }
  return encode_error({.type = "Cancelled", .message = std::string(reason), .detail = finish.error->detail});
}

Ending ending_of(const LiveRow& row, const Finish& finish, Time now) {
  Ending ending;
  ending.started_at = now - finish.ran_for;
  ending.finish_kind = finish.kind;
  switch (finish.kind) {
    case FinishKind::completed:
      ending.status = Status::completed;
      ending.result = finish.result;
      ending.keep = finish.keep;
      return ending;
    case FinishKind::continued:
      ending.status = Status::completed;
      ending.result = "null";
      return ending;
    case FinishKind::failed:
      ending.status = Status::failed;
      ending.error = given_error(finish);
      ending.keep = finish.keep;
      return ending;
    case FinishKind::timed_out:
      ending.status = Status::timed_out;
      ending.error = given_error(finish);
      return ending;
    case FinishKind::cancelled: ending.error = cancellation(row, finish); break;
    case FinishKind::retry:
    case FinishKind::snoozed:
    case FinishKind::released:
    case FinishKind::waiting: break;  // reached only when the execution is to be cancelled
  }
  ending.status = Status::cancelled;
  if (!ending.error) { ending.error = cancelled_error(row.cancel_reason.value_or("")); }
  return ending;
}

bool runs_under(const FoundLive& found, std::int64_t fence) {
  return found && found->state == LiveState::running && found->fence == fence;
}

// Appends the turn's entries and admits the executions that they start. False when the turn is stale.
bool take_turn(WriteTransaction& tx, FoundLive& found, const Finish& finish) {
  const std::vector<JournalEntry>& entries = finish.turn->entries;
  if (!append_entries(tx, finish.id, finish.fence, entries)) { return false; }
  if (!starts_something(entries)) { return true; }
  found.close();
  start_children(tx, finish.id, entries);
  found.reload(finish.id);
  // A started execution may have taken this workflow's identity and ended it.
  return runs_under(found, finish.fence);
}

void wait_for_events(Waiting& waiting, const LiveRow& row, const Turn& turn, Time now) {
  waiting.run_at = turn.wake_at.value_or(never_due);
  if (turn.wake_in) { waiting.run_at = std::min(waiting.run_at, now + *turn.wake_in); }
  if (turn.seen < row.inbox) { waiting.run_at = now; }
  waiting.lost = 0;
  waiting.stuck = base::keep_head(base::escape_invalid(turn.stuck), limits::error_message_bytes);
}

}  // namespace

FinishVerdict finish(WriteTransaction& tx, const Finish& finish) {
  FoundLive found(tx, finish.id);
  if (!runs_under(found, finish.fence)) {
    return is_repeated(tx, found, finish) ? FinishVerdict::accepted : FinishVerdict::stale;
  }
  if (finish.turn && !take_turn(tx, found, finish)) { return FinishVerdict::stale; }
  if (finish.kind == FinishKind::continued) {
    continue_run(tx, found, ending_of(*found, finish, tx.now()), *finish.turn);
    return FinishVerdict::accepted;
  }
  if (!goes_on(finish.kind) || found->to_be_cancelled()) {
    end_execution(tx, found, ending_of(*found, finish, tx.now()));
    return FinishVerdict::accepted;
  }
  Waiting waiting = as_pending(*found, found->run_at, found->attempt - 1);
  waiting.finish_kind = finish.kind;
  waiting.stuck.clear();
  if (finish.kind == FinishKind::waiting) {
    wait_for_events(waiting, *found, *finish.turn, tx.now());
    if (waiting.run_at <= tx.now()) { tx.note_woken(waiting.queue_id); }
  } else if (finish.kind != FinishKind::released) {
    const bool snoozed = finish.kind == FinishKind::snoozed;
    add_attempt(tx, *found, snoozed ? "snoozed" : "failed", given_error(finish), tx.now() - finish.ran_for);
    waiting.run_at = tx.now() + finish.delay;
    waiting.attempt += snoozed ? 0 : 1;
  }
  found.close();
  make_pending(tx, finish.id, waiting);
  return FinishVerdict::accepted;
}

std::vector<FinishVerdict> finish(WriteTransaction& tx, std::span<const Finish> finishes) {
  static const bool plain = base::takes_plain_path("sqlite-many-finish");
  std::vector<FinishVerdict> verdicts;
  verdicts.reserve(finishes.size());
  for_chunks(finishes, completes_plainly, [&](std::span<const Finish> chunk) {
    if (!plain && chunk.size() > 1 && complete_together(tx, chunk)) {
      verdicts.resize(verdicts.size() + chunk.size(), FinishVerdict::accepted);
      return;
    }
    for (const Finish& one : chunk) { verdicts.push_back(finish(tx, one)); }
  });
  return verdicts;
}

}  // namespace hapax::store::sqlite
