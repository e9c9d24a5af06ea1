// Reads of single executions by primary key, first in live, then in history, in one snapshot. No fdatasync, no lock.
#include "model/labels.hpp"
#include "store/sqlite/execution_row.hpp"
#include "store/sqlite/verbs.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* live_outcome_sql = "SELECT state, deadline FROM live WHERE id = ?";
constexpr const char* ended_outcome_sql =
    "SELECT status, result, error, continued_as FROM history WHERE id = ? AND expires_at > ?";
constexpr const char* attempts_sql =
    "SELECT number, worker, started_at, ended_at, outcome, error FROM attempts WHERE execution = ? ORDER BY fence";

}  // namespace

std::optional<Execution> get(ReadTransaction& tx, const Uuid& id) {
  {
    Cursor live = tx.db().use(live_execution_sql());
    if (live.bind(id).next()) { return read_live_execution(live); }
  }
  Cursor ended = tx.db().use(ended_execution_sql());
  return ended.bind(id, tx.now()).next() ? std::optional(read_ended_execution(ended)) : std::nullopt;
}

std::optional<Outcome> outcome(ReadTransaction& tx, const Uuid& id) {
  {
    Cursor live = tx.db().use(live_outcome_sql);
    if (live.bind(id).next()) {
      return Outcome{.id = id,
                     .status = live.small(0) == 1 ? Status::running : Status::pending,
                     .overdue = !live.is_null(1) && live.time(1) <= tx.now()};
    }
  }
  Cursor ended = tx.db().use(ended_outcome_sql);
  if (!ended.bind(id, tx.now()).next()) { return std::nullopt; }
  Outcome outcome{.id = id, .status = static_cast<Status>(ended.small(0))};
  outcome.result = ended.optional(1, &Cursor::string);
  if (!ended.is_null(2)) { outcome.error = decode_error(ended.text(2)); }
  outcome.continued_as = ended.optional(3, &Cursor::uuid);
  return outcome;
}

std::vector<Attempt> attempts(ReadTransaction& tx, const Uuid& id) {
  const std::optional<Execution> execution = get(tx, id);
  if (!execution) { return {}; }
  std::vector<Attempt> all;
  Cursor cursor = tx.db().use(attempts_sql);
  cursor.bind(id);
  while (cursor.next()) {
    Attempt attempt;
    attempt.number = cursor.small(0);
    attempt.worker = cursor.string(1);
    attempt.started_at = cursor.optional(2, &Cursor::time);
    attempt.ended_at = cursor.optional(3, &Cursor::time);
    attempt.outcome = cursor.string(4);
    if (!cursor.is_null(5)) { attempt.error = decode_error(cursor.text(5)); }
    all.push_back(std::move(attempt));
  }
  if (execution->session) {
    all.push_back({.number = execution->attempt,
                   .worker = execution->worker,
                   .started_at = execution->started_at,
                   .ended_at = execution->finished_at,
                   .outcome = std::string(to_string(execution->status)),
                   .error = execution->error});
  }
  return all;
}

}  // namespace hapax::store::sqlite
