#include "store/sqlite/execution_row.hpp"

#include "model/claim_limits.hpp"
#include "model/effect_key.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/sqlite/live_row.hpp"

namespace hapax::store::sqlite {

using namespace hapax::model;

namespace {

constexpr int own_columns = 26;  // the first column that live and history do not share

Execution read_options(const Cursor& cursor) {
  Execution execution;
  execution.id = cursor.uuid(0);
  execution.queue = {.ns = cursor.string(1), .name = cursor.string(2)};
  execution.task = cursor.string(3);
  execution.kind = static_cast<Kind>(cursor.small(4));
  execution.input = cursor.string(5);
  execution.priority = cursor.small(6);
  execution.run = cursor.small(7);
  execution.attempt = cursor.small(8);
  execution.max_attempts = cursor.small(9);
  execution.lost = cursor.small(10);
  execution.max_lost = cursor.small(11);
  execution.fence = cursor.integer(12);
  execution.created_at = cursor.time(13);
  execution.run_at = cursor.time(14);
  execution.deadline = cursor.optional(15, &Cursor::time);
  execution.attempt_timeout = cursor.optional(16, &Cursor::duration);
  if (!cursor.is_null(17)) { execution.retry = decode_retry(cursor.text(17)); }
  execution.identity = cursor.optional(18, &Cursor::digest);
  execution.identity_key = cursor.string(19);
  execution.effect_key = effect_key(cursor.optional(20, &Cursor::string), execution.identity, execution.id);
  execution.parent = cursor.optional(21, &Cursor::uuid);
  if (!cursor.is_null(22)) { execution.labels = decode_labels(cursor.text(22)); }
  execution.session = cursor.optional(23, &Cursor::uuid);
  if (!cursor.is_null(24)) { execution.limit_key = decode_limit_key(cursor.text(24)); }
  if (!cursor.is_null(25)) { execution.weight = cursor.small(25); }
  return execution;
}

}  // namespace

Execution read_live_execution(const Cursor& cursor) {
  Execution execution = read_options(cursor);
  const auto state = static_cast<LiveState>(cursor.small(own_columns));
  execution.status = state == LiveState::running ? Status::running : Status::pending;
  execution.parked = state == LiveState::parked;
  execution.started_at = cursor.optional(own_columns + 1, &Cursor::time);
  execution.worker = cursor.string(own_columns + 2);
  execution.cancel_requested = cursor.flag(own_columns + 3);
  execution.progress = cursor.optional(own_columns + 4, &Cursor::real);
  execution.progress_message = cursor.string(own_columns + 5);
  execution.waiting = state != LiveState::running && !cursor.is_null(own_columns + 6) &&
                      static_cast<FinishKind>(cursor.small(own_columns + 6)) == FinishKind::waiting;
  execution.stuck = cursor.string(own_columns + 7);
  return execution;
}

Execution read_ended_execution(const Cursor& cursor) {
  Execution execution = read_options(cursor);
  execution.status = static_cast<Status>(cursor.small(own_columns));
  execution.started_at = cursor.optional(own_columns + 1, &Cursor::time);
  execution.worker = cursor.string(own_columns + 2);
  execution.result = cursor.optional(own_columns + 3, &Cursor::string);
  if (!cursor.is_null(own_columns + 4)) { execution.error = decode_error(cursor.text(own_columns + 4)); }
  execution.finished_at = cursor.optional(own_columns + 5, &Cursor::time);
  execution.expires_at = cursor.optional(own_columns + 6, &Cursor::time);
  execution.dead = cursor.flag(own_columns + 7);
  execution.retried_as = cursor.optional(own_columns + 8, &Cursor::uuid);
  execution.note = cursor.string(own_columns + 9);
  execution.continued_as = cursor.optional(own_columns + 10, &Cursor::uuid);
  return execution;
}

}  // namespace hapax::store::sqlite
