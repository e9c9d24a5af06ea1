#include "store/sqlite/live_row.hpp"

#include "model/retention.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/park.hpp"
#include "store/sqlite/waiters.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* live_row_delete_sql = "DELETE FROM live WHERE id = ?";
constexpr const char* live_row_delete_history_sql = "DELETE FROM history WHERE id = ?";
constexpr const char* live_row_wait_sql =
    "UPDATE live SET line = ?, state = ?, run_at = ?, attempt = ?, lost = ?, finish_kind = ?, session = NULL, "
    "claimed_at = NULL,"
    " progress = NULL, progress_message = NULL, counted = NULL WHERE id = ?";
constexpr const char* wait_workflow_sql =
    "UPDATE live SET line = ?, state = ?, run_at = ?, attempt = ?, lost = ?, finish_kind = ?, session = NULL, "
    "claimed_at = NULL, counted = NULL, stuck = ? WHERE id = ?";
constexpr const char* not_overtaken_sql = "DELETE FROM overtaken WHERE identity = ? AND execution = ?";
constexpr const char* attempt_sql =
    "INSERT OR REPLACE INTO attempts(execution, fence, number, worker, started_at, ended_at, outcome, error)"
    " VALUES (?,?,?,?,?,?,?,?)";

std::optional<int> code_of(const std::optional<FinishKind>& kind) {
  return kind ? std::optional(static_cast<int>(*kind)) : std::nullopt;
}

const char* find_live_sql() {
  static const char* const sql =
      columns::kept_text("SELECT " + columns::names(columns::read_columns) + " FROM live WHERE id = ?");
  return sql;
}

const char* insert_history_sql() {
  constexpr int size = columns::size(columns::copied_columns) + columns::size(columns::ended_columns);
  static const char* const sql =
      columns::kept_text("INSERT INTO history(" + columns::names(columns::copied_columns) + ", " +
                         columns::names(columns::ended_columns) + ") VALUES (" + numbered("?", size) + ")");
  return sql;
}

void bind_history(Cursor& cursor, const LiveRow& row, const EndedRow& ended) {
  int index = 0;
  std::apply([&](const auto&... one) { (cursor.put(++index, row.*(one.raw)), ...); }, columns::copied_columns);
  std::apply([&](const auto&... one) { (cursor.put(++index, ended.*(one.raw)), ...); }, columns::ended_columns);
}

}  // namespace

LiveRow read_live(const Cursor& cursor) {
  LiveRow row;
  columns::read_columns_at(columns::read_columns, cursor, 0,
                           [&](const auto& column, const auto& value) { row.*(column.raw) = value; });
  return row;
}

FoundLive::FoundLive(WriteTransaction& tx, const Uuid& id) : cursor_(tx.db().prepared(find_live_sql())) { reload(id); }

void FoundLive::reload(const Uuid& id) {
  cursor_.reset();
  found_ = cursor_.bind(id).next();
  if (found_) {
    row_ = read_live(cursor_);
  } else {
    cursor_.reset();
  }
}

void end_execution(WriteTransaction& tx, FoundLive& found, const Ending& ending) {
  LiveRow row = *found;
  const Expiry kept_until =
      expiry(tx.queues().by_id(row.queue_id).settings, row.kind, ending.status, ending.keep, tx.now());
  EndedRow ended{.expires_at = kept_until.at, .status = ending.status, .started_at = ending.started_at};
  // An execution that ends while pending keeps the kind of its last finish: its worker may still repeat that finish.
  ended.finish_kind = ending.finish_kind ? code_of(ending.finish_kind) : row.finish_kind;
  ended.dead = is_dead_letter(row.kind, ending.status);
  ended.superseded = row.superseded;
  if (ending.started_at && row.session) {
    ended.session = row.session;
    if (const std::string* const label = tx.worker_of(*row.session)) { ended.worker = *label; }
  }
  ended.finished_at = tx.now();
  if (ending.error) { ended.error = *ending.error; }
  ended.result = ending.result;
  ended.continued_as = ending.continued_as;
  row.lost = ending.lost.value_or(row.lost);
  if (kept_until.stub) {
    ended.stub = 1;
    row.input = "null";
  }
  Cursor insert = tx.db().use(insert_history_sql());
  bind_history(insert, row, ended);
  if (!insert.run_unless_taken()) {
    // The id was admitted once more after its first execution had ended: the later execution replaces the earlier
    // record.
    tx.db().use(live_row_delete_history_sql).bind(row.id).run();
    insert.run();
  }
  tx.note_expiry(row.id, kept_until.at);
  const std::optional<std::string> limit_key(row.limit_key);
  found.close();
  tx.db().use(live_row_delete_sql).bind(row.id).run();
  if (row.counted) { uncount_running(tx, row.id); }
  if (limit_key) { leave_key(tx, row.id, row.queue_id, *limit_key); }
  if (row.superseded) { tx.db().use(not_overtaken_sql).bind(row.identity, row.id).run(); }
  if (row.waited && ending.continued_as) {
    pass_waiters(tx, row.id, *ending.continued_as);
  } else if (row.waited) {
    notify_waiters(tx, row.id, ending);
  }
}

Waiting as_pending(const LiveRow& row, Time run_at, int attempt) {
  return {.queue_id = row.queue_id,
          .priority = row.priority,
          .run_at = run_at,
          .attempt = attempt,
          .lost = row.lost,
          .limit_key = std::optional<std::string>(row.limit_key),
          .counted = row.counted,
          .workflow = row.is_workflow(),
          .stuck = std::string(row.stuck)};
}

Place place_of(std::int64_t queue_id, int priority, int lost, Time run_at, Time now) {
  if (run_at > now) { return {.line = claim_order::delayed(queue_id), .state = LiveState::delayed}; }
  return {.line = claim_order::due(queue_id, priority, lost), .state = LiveState::ready};
}

void make_pending(WriteTransaction& tx, const Uuid& id, const Waiting& waiting) {
  const Place place = place_of(waiting.queue_id, waiting.priority, waiting.lost, waiting.run_at, tx.now());
  const int state = static_cast<int>(place.state);
  const std::optional<int> finish_kind = code_of(waiting.finish_kind);
  if (waiting.workflow) {
    const std::optional<std::string_view> stuck =
        waiting.stuck.empty() ? std::nullopt : std::optional<std::string_view>(waiting.stuck);
    tx.db()
        .use(wait_workflow_sql)
        .bind(place.line, state, waiting.run_at, waiting.attempt, waiting.lost, finish_kind, stuck, id)
        .run();
  } else {
    tx.db()
        .use(live_row_wait_sql)
        .bind(place.line, state, waiting.run_at, waiting.attempt, waiting.lost, finish_kind, id)
        .run();
  }
  if (waiting.counted) { uncount_running(tx, id); }
  if (waiting.limit_key) {
    key_waits(tx,
              {.id = id,
               .queue_id = waiting.queue_id,
               .key = *waiting.limit_key,
               .priority = waiting.priority,
               .run_at = waiting.run_at},
              true);
  }
}

void release_running(WriteTransaction& tx, FoundLive& found) {
  const LiveRow& row = *found;
  if (row.to_be_cancelled()) {
    end_execution(tx, found,
                  {.status = Status::cancelled,
                   .error = cancelled_error(row.cancel_reason.value_or("")),
                   .started_at = row.claimed_at});
    return;
  }
  const Waiting waiting = as_pending(row, row.run_at, row.attempt - 1);
  found.close();
  make_pending(tx, row.id, waiting);
}

void add_attempt(WriteTransaction& tx, const LiveRow& row, std::string_view outcome,
                 const std::optional<std::string>& error, Time started_at) {
  const std::string* const label = row.session ? tx.worker_of(*row.session) : nullptr;
  const std::optional<std::string_view> worker =
      label != nullptr ? std::optional<std::string_view>(*label) : std::nullopt;
  tx.db().use(attempt_sql).bind(row.id, row.fence, row.attempt, worker, started_at, tx.now(), outcome, error).run();
}

std::string cancelled_error(std::string_view reason) {
  return encode_error({.type = "Cancelled", .message = std::string(reason), .detail = ""});
}

}  // namespace hapax::store::sqlite
