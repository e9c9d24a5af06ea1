#include "store/postgres/execution_row.hpp"

#include "model/claim_limits.hpp"
#include "model/effect_key.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr std::string_view live_columns = R"(
l.id, l.queue_id, l.task, l.kind, CASE l.state WHEN 1 THEN 1 ELSE 0 END::smallint AS status, l.input,
NULL::bytea AS result, NULL::text AS error, l.priority, l.run, l.attempt, l.max_attempts, l.lost, l.max_lost, l.fence,
l.created_at, l.run_at, l.claimed_at AS started_at, NULL::bigint AS finished_at, NULL::bigint AS expires_at, l.deadline,
l.attempt_timeout, l.retry, l.identity, l.identity_key, l.effect_key, l.parent, l.session, x.worker, l.cancel_requested,
l.progress, l.progress_message, false AS dead, NULL::uuid AS retried_as, NULL::text AS note, l.labels,
l.limit_key, coalesce(l.weight, 1) AS weight, l.state = 3 AS parked, coalesce(l.left_by = 7, false) AND l.state <> 1 AS waiting,
l.stuck, NULL::uuid AS continued_as)";

constexpr std::string_view history_columns = R"(
h.id, h.queue_id, h.task, h.kind, h.status, h.input, h.result, h.error, h.priority, h.run, h.attempt, h.max_attempts,
h.lost, h.max_lost, h.fence, h.created_at, h.run_at, h.started_at, h.finished_at, h.expires_at, h.deadline,
h.attempt_timeout, h.retry, h.identity, h.identity_key, h.effect_key, h.parent, h.session, h.worker,
false AS cancel_requested, NULL::double precision AS progress, NULL::text AS progress_message, h.dead, h.retried_as,
h.note, h.labels, h.limit_key, coalesce(h.weight, 1) AS weight, false AS parked, false AS waiting,
NULL::text AS stuck, h.continued_as)";

}  // namespace

std::string with_execution_columns(std::string text) {
  for (const auto& [mark, by] :
       {std::pair<std::string_view, std::string_view>{"{live}", live_columns}, {"{history}", history_columns}}) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
      text.replace(at, mark.size(), by);
    }
  }
  return text;
}

ExecutionRow read_execution(const Result& result, int row) {
  RowReader reader(result, row);
  ExecutionRow read;
  Execution& execution = read.execution;
  execution.id = reader.uuid();
  read.queue_id = reader.int4();
  execution.task = reader.bytes();
  execution.kind = static_cast<Kind>(reader.int2());
  execution.status = static_cast<Status>(reader.int2());
  execution.input = reader.bytes();
  execution.result = reader.optional_bytes();
  if (const auto error = reader.optional_bytes()) { execution.error = decode_error(*error); }
  execution.priority = reader.int2();
  execution.run = reader.int4();
  execution.attempt = reader.int4();
  execution.max_attempts = reader.int4();
  execution.lost = reader.int4();
  execution.max_lost = reader.int4();
  execution.fence = reader.int8();
  execution.created_at = reader.time();
  execution.run_at = reader.time();
  execution.started_at = reader.optional_time();
  execution.finished_at = reader.optional_time();
  execution.expires_at = reader.optional_time();
  execution.deadline = reader.optional_time();
  execution.attempt_timeout = reader.optional_duration();
  if (const auto retry = reader.optional_bytes()) { execution.retry = decode_retry(*retry); }
  execution.identity = reader.optional_digest();
  execution.identity_key = reader.bytes();
  execution.effect_key = effect_key(reader.optional_bytes(), execution.identity, execution.id);
  execution.parent = reader.optional_uuid();
  execution.session = reader.optional_uuid();
  execution.worker = reader.bytes();
  execution.cancel_requested = reader.boolean();
  execution.progress = reader.optional_float8();
  execution.progress_message = reader.bytes();
  execution.dead = reader.boolean();
  execution.retried_as = reader.optional_uuid();
  execution.note = reader.bytes();
  if (const auto labels = reader.optional_bytes()) { execution.labels = decode_labels(*labels); }
  if (const auto key = reader.optional_bytes()) { execution.limit_key = decode_limit_key(*key); }
  execution.weight = reader.int4();
  execution.parked = reader.boolean();
  execution.waiting = reader.boolean();
  execution.stuck = reader.bytes();
  execution.continued_as = reader.optional_uuid();
  return read;
}

}  // namespace hapax::store::postgres
