#include "store/sqlite/live_row.hpp"

#include "model/labels.hpp"
#include "model/retention.hpp"
#include "store/sqlite/claim_order.hpp"
#include "store/sqlite/parking.hpp"
#include "store/sqlite/waiters.hpp"

namespace hapax::store::sqlite {

namespace {

constexpr const char* live_row_find_sql = "SELECT " HAPAX_LIVE_COLUMNS " FROM live WHERE id = ?";
constexpr const char* live_row_delete_sql = "DELETE FROM live WHERE id = ?";
constexpr const char* insert_history_sql =
    "INSERT INTO history(id, queue_id, expires_at, status, fence, finish_kind, dead, session, task, kind, priority, "
    "run_at,"
    " created_at, started_at, finished_at, attempt, max_attempts, lost, max_lost, run, worker, deadline, "
    "attempt_timeout,"
    " retry, identity, identity_key, effect_key, parent, labels, error, result, input, superseded, limit_key, weight,"
    " stub, continued_as)"
    " VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)";
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

std::optional<std::string_view> optional_text(const Cursor& cursor, int column) {
  return cursor.is_null(column) ? std::nullopt : std::optional(cursor.text(column));
}

std::optional<int> code_of(const std::optional<FinishKind>& kind) {
  return kind ? std::optional(static_cast<int>(*kind)) : std::nullopt;
}

}  // namespace

LiveRow read_live(const Cursor& cursor) {
  LiveRow row;
  row.id = cursor.uuid(0);
  row.queue_id = cursor.integer(1);
  row.state = static_cast<LiveState>(cursor.small(2));
  row.priority = cursor.small(3);
  row.run_at = cursor.time(4);
  row.lost = cursor.small(5);
  row.fence = cursor.integer(6);
  row.attempt = cursor.small(7);
  row.session = cursor.optional(8, &Cursor::uuid);
  row.claim_number = cursor.integer(9);
  row.claimed_at = cursor.optional(10, &Cursor::time);
  row.cancel_requested = cursor.flag(11);
  row.finish_kind = cursor.optional(12, &Cursor::small);
  row.deadline = cursor.optional(13, &Cursor::time);
  row.task = cursor.text(14);
  row.kind = cursor.small(15);
  row.created_at = cursor.time(16);
  row.max_attempts = cursor.small(17);
  row.max_lost = cursor.small(18);
  row.run = cursor.small(19);
  row.attempt_timeout = cursor.optional(20, &Cursor::duration);
  row.retry = optional_text(cursor, 21);
  row.identity = cursor.optional(22, &Cursor::digest);
  row.identity_key = optional_text(cursor, 23);
  row.effect_key = optional_text(cursor, 24);
  row.parent = cursor.optional(25, &Cursor::uuid);
  row.labels = optional_text(cursor, 26);
  row.cancel_reason = optional_text(cursor, 27);
  row.progress = cursor.optional(28, &Cursor::real);
  row.progress_message = cursor.text(29);
  row.input = cursor.text(30);
  row.limit_key = optional_text(cursor, 31);
  row.weight = cursor.optional(32, &Cursor::small);
  row.counted = cursor.flag(33);
  row.superseded = cursor.flag(34);
  row.inbox = cursor.integer(35);
  row.waited = cursor.flag(36);
  row.stuck = cursor.text(37);
  return row;
}

FoundLive::FoundLive(WriteTransaction& tx, const Uuid& id) : cursor_(tx.db().prepared(live_row_find_sql)) { again(id); }

void FoundLive::again(const Uuid& id) {
  cursor_.reset();
  found_ = cursor_.bind(id).next();
  if (found_) {
    row_ = read_live(cursor_);
  } else {
    cursor_.reset();
  }
}

void end_execution(WriteTransaction& tx, FoundLive& found, const Ending& ending) {
  const LiveRow& row = *found;
  const auto kind = static_cast<Kind>(row.kind);
  const Expiry kept_until =
      expiry(tx.queues().by_id(row.queue_id).settings, kind, ending.status, ending.keep, tx.now());
  const bool by_attempt = ending.started_at.has_value();
  std::optional<std::string_view> worker;
  if (by_attempt && row.session) {
    const std::string* const label = tx.worker_of(*row.session);
    worker = label != nullptr ? std::optional<std::string_view>(*label) : std::nullopt;
  }
  // An execution that ends while pending keeps the kind of its last finish: its worker may still repeat that finish.
  const std::optional<int> finish_kind = ending.finish_kind ? code_of(ending.finish_kind) : row.finish_kind;
  // A named variable, as a bound value must live until the statement has run.
  const std::optional<Uuid> session = by_attempt ? row.session : std::nullopt;
  Cursor insert = tx.db().use(insert_history_sql);
  insert.bind(row.id, row.queue_id, kept_until.at, static_cast<int>(ending.status), row.fence, finish_kind,
              is_dead_letter(kind, ending.status), session, row.task, row.kind, row.priority, row.run_at,
              row.created_at, ending.started_at, tx.now(), row.attempt, row.max_attempts,
              ending.lost.value_or(row.lost), row.max_lost, row.run, worker, row.deadline, row.attempt_timeout,
              row.retry, row.identity, row.identity_key, row.effect_key, row.parent, row.labels, ending.error,
              ending.result, kept_until.stub ? std::string_view("null") : row.input, row.superseded, row.limit_key,
              row.weight, kept_until.stub ? std::optional(1) : std::nullopt, ending.continued_as);
  if (!insert.run_unless_taken()) {
    // The id was admitted once more after its first execution had ended: the later execution replaces the earlier
    // record.
    tx.db().use(live_row_delete_history_sql).bind(row.id).run();
    insert.run();
  }
  tx.note_expiry(row.id, kept_until.at);
  const std::optional<std::string> limit_key(row.limit_key);
  found.done();
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

Waiting waiting_like(const LiveRow& row, Time run_at, int attempt) {
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

void wait_again(WriteTransaction& tx, const Uuid& id, const Waiting& waiting) {
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
  const Waiting waiting = waiting_like(row, row.run_at, row.attempt - 1);
  found.done();
  wait_again(tx, row.id, waiting);
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
