#include "store/postgres/claim.hpp"

#include "base/limits.hpp"
#include "model/claim_limits.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"

#include <algorithm>
#include <map>
#include <tuple>

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement promote{"hapax_promote", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
due AS MATERIALIZED (
  SELECT d.tid FROM unnest($2::text[], $3::text[]) u(ns, name)
  JOIN {s}.queues q ON q.ns = u.ns AND q.name = u.name AND NOT q.paused
  CROSS JOIN LATERAL (
    SELECT l.ctid AS tid FROM {s}.live l
    WHERE l.queue_id = q.id AND l.state = 2 AND l.run_at <= (SELECT now FROM t)
    ORDER BY l.run_at LIMIT $4::bigint FOR UPDATE SKIP LOCKED) d)
UPDATE {s}.live SET state = 0 WHERE ctid = ANY (ARRAY(SELECT tid FROM due)))"};

// How rows are claimed. The lateral subqueries walk the claim index of one queue after the other, in the request's
// order, and lock row by row. The outer LIMIT stops them, so no more rows are locked than claimed and the backlog is
// not read.
//
// Why ctid is right: FOR UPDATE returns the newest version of each row and locks it, so its ctid cannot change before
// this transaction ends. If that version is newer than the statement's snapshot (another transaction changed the row
// between snapshot and lock, and the row still qualifies), the outer UPDATE does not see it: the row stays ready for
// the next claim, and the answer says that more is due. No row is updated that was not locked and checked, and none
// twice.
//
// The inputs of one reply are bounded by bytes ($9): `light` is the part of `fresh`, in order, that begins before the
// bound. The rest stays ready, and the answer says that more is due. The size of an input is known without reading it.
//
// Queues with limits are passed over and named in the answer; they are claimed by limited_claim.hpp.
constexpr const char* claim_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
named AS MATERIALIZED (
  SELECT q.id, q.limited FROM unnest($2::text[], $3::text[]) WITH ORDINALITY u(ns, name, place)
  JOIN {s}.queues q ON q.ns = u.ns AND q.name = u.name AND NOT q.paused
  WHERE EXISTS (SELECT FROM {s}.sessions x WHERE x.id = $4::uuid)
  ORDER BY u.place),
q AS MATERIALIZED (SELECT id FROM named WHERE NOT limited),
suspect AS MATERIALIZED (
  SELECT s.tid FROM q CROSS JOIN LATERAL (
    SELECT l.ctid AS tid FROM {s}.live l
    WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0 AND (l.deadline IS NULL OR l.deadline > (SELECT now FROM t))
      AND ((cardinality($7::text[]) = 0 AND l.kind <> 1) OR l.task = ANY ($7::text[]))
    ORDER BY l.priority DESC, l.run_at, l.id LIMIT 1 FOR UPDATE SKIP LOCKED) s
  WHERE $8::boolean LIMIT 1),
fresh AS MATERIALIZED (
  SELECT f.tid, f.bytes FROM q CROSS JOIN LATERAL (
    SELECT l.ctid AS tid, octet_length(l.input) AS bytes FROM {s}.live l
    WHERE l.queue_id = q.id AND l.state = 0 AND l.lost = 0 AND (l.deadline IS NULL OR l.deadline > (SELECT now FROM t))
      AND ((cardinality($7::text[]) = 0 AND l.kind <> 1) OR l.task = ANY ($7::text[]))
    ORDER BY l.priority DESC, l.run_at, l.id LIMIT $6::bigint FOR UPDATE SKIP LOCKED) f
  WHERE NOT EXISTS (SELECT FROM suspect) LIMIT $6::bigint),
light AS MATERIALIZED (
  SELECT w.tid FROM (
    SELECT tid, sum(bytes) OVER (ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM fresh) w
  WHERE w.before IS NULL OR w.before < $9::bigint),
taken AS (
  UPDATE {s}.live l
  SET state = 1, attempt = l.attempt + 1, fence = l.fence + 1, session = $4::uuid, claim_number = $5::bigint,
      claimed_at = (SELECT now FROM t), left_by = NULL
  WHERE l.ctid = ANY (ARRAY(SELECT tid FROM suspect UNION ALL SELECT tid FROM light))
  RETURNING {claimed})
SELECT (SELECT now FROM t),
       NOT $8::boolean AND EXISTS (
         SELECT FROM q CROSS JOIN LATERAL (
           SELECT FROM {s}.live l
           WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0
             AND (l.deadline IS NULL OR l.deadline > (SELECT now FROM t))
             AND ((cardinality($7::text[]) = 0 AND l.kind <> 1) OR l.task = ANY ($7::text[])) LIMIT 1) s),
       CASE WHEN EXISTS (SELECT FROM suspect) OR (SELECT count(*) FROM taken) >= $6::bigint THEN NULL
            WHEN (SELECT count(*) FROM fresh) > (SELECT count(*) FROM taken) THEN (SELECT now FROM t)
            ELSE (SELECT min(d.run_at) FROM q CROSS JOIN LATERAL (
                    SELECT l.run_at FROM {s}.live l WHERE l.queue_id = q.id AND l.state = 2
                    ORDER BY l.run_at LIMIT 1) d) END,
       ARRAY(SELECT id FROM named WHERE limited),
       taken.*
FROM (VALUES (1)) one(row) LEFT JOIN taken ON true)";

constexpr const char* read_back_text = R"(
SELECT {now} + $1::bigint, false, NULL::bigint, '{}'::int[], {claimed}
FROM {s}.live l WHERE l.session = $2::uuid AND l.state = 1 AND l.claim_number = $3::bigint)";

const Statement& claim_statement() {
  static const std::string& text = keep_text(with_claimed_columns(claim_text));
  static const Statement statement{"hapax_claim", text.c_str()};
  return statement;
}

const Statement& claim_read_back() {
  static const std::string& text = keep_text(with_claimed_columns(read_back_text));
  static const Statement statement{"hapax_claim_read_back", text.c_str()};
  return statement;
}

struct Names {
  Array spaces{Type::text};
  Array names{Type::text};
};

Names queue_names(const ClaimRequest& request) {
  Names names;
  for (const QueueRef& queue : request.queues) {
    names.spaces.bytes(queue.ns);
    names.names.bytes(queue.name);
  }
  return names;
}

// A row with its place in the request's order. Rows come back in the table's order.
struct Placed {
  std::size_t queue_place = 0;
  Time run_at{};
  Claim claim;
};

Placed read_claim(RowReader& reader, Time now) {
  Placed placed;
  Claim& claim = placed.claim;
  claim.id = reader.uuid();
  reader.skip();  // the queue's number, read by the caller
  claim.task = reader.bytes();
  claim.kind = static_cast<Kind>(reader.int2());
  claim.input = reader.bytes();
  claim.attempt = reader.int4();
  claim.max_attempts = reader.int4();
  claim.lost = reader.int4();
  claim.max_lost = reader.int4();
  claim.fence = reader.int8();
  claim.priority = reader.int2();
  claim.run = reader.int4();
  placed.run_at = reader.time();
  claim.created_at = reader.time();
  claim.claimed_at = now;
  claim.deadline = reader.optional_time();
  if (claim.deadline) { claim.deadline_in = *claim.deadline - now; }
  claim.attempt_timeout = reader.optional_duration();
  if (const auto retry = reader.optional_bytes()) { claim.retry = decode_retry(*retry); }
  claim.identity = reader.optional_digest();
  claim.effect_key = reader.optional_bytes();
  claim.parent = reader.optional_uuid();
  if (const auto labels = reader.optional_bytes()) { claim.labels = decode_labels(*labels); }
  if (const auto key = reader.optional_bytes()) { claim.limit_key = decode_limit_key(*key); }
  claim.inbox = reader.int8();  // NULL reads as 0
  return placed;
}

constexpr int id_column = 4;
constexpr int queue_column = 5;

}  // namespace

std::string with_claimed_columns(std::string text) {
  static constexpr std::string_view mark = "{claimed}";
  static constexpr std::string_view columns =
      "l.id, l.queue_id, l.task, l.kind, l.input, l.attempt, l.max_attempts, l.lost, l.max_lost, l.fence, l.priority,"
      " l.run, l.run_at, l.created_at, l.deadline, l.attempt_timeout, l.retry, l.identity, l.effect_key, l.parent,"
      " l.labels, l.limit_key, l.inbox";
  return text.replace(text.find(mark), mark.size(), columns);
}

Call promote_call(const ClaimRequest& request, std::int64_t offset_us) {
  Names names = queue_names(request);
  Params params;
  params.int8(offset_us).array(std::move(names.spaces)).array(std::move(names.names)).int8(limits::claim_batch);
  return {&promote, std::move(params)};
}

Call claim_call(const ClaimRequest& request, std::int64_t offset_us) {
  Names names = queue_names(request);
  Array tasks(Type::text);
  for (const std::string& task : request.tasks) { tasks.bytes(task); }
  Params params;
  params.int8(offset_us).array(std::move(names.spaces)).array(std::move(names.names)).uuid(request.session);
  params.int8(request.claim_number).int8(request.limit).array(std::move(tasks)).boolean(request.alone);
  params.int8(static_cast<std::int64_t>(limits::claim_bytes));
  return {&claim_statement(), std::move(params)};
}

GroupReply read_claims(const Result& result, const ClaimRequest& request, Connection& connection, QueueIds& queues) {
  GroupReply group;
  ClaimReply& reply = group.reply;
  std::vector<Placed> placed;
  std::map<std::int32_t, std::pair<QueueRef, std::size_t>> places;
  for (int row = 0; row < result.rows(); ++row) {
    RowReader reader(result, row);
    const Time now = reader.time();
    reply.suspects_due = reader.boolean();
    if (const auto due = reader.optional_time()) { reply.next_due = std::max(*due - now, Duration{0}); }
    const std::vector<std::int32_t> limited = reader.int4s();
    if (row == 0) {
      for (const std::int32_t id : limited) { group.limited.push_back(queues.name(connection, id)); }
    }
    if (PQgetisnull(result.get(), row, id_column) != 0) { continue; }
    RowReader queue_reader(result, row);
    queue_reader.skip(queue_column);
    const std::int32_t queue_id = queue_reader.int4();
    auto place = places.find(queue_id);
    if (place == places.end()) {
      QueueRef name = queues.name(connection, queue_id);
      const auto at = std::find(request.queues.begin(), request.queues.end(), name);
      const auto index = static_cast<std::size_t>(at - request.queues.begin());
      place = places.emplace(queue_id, std::pair(std::move(name), index)).first;
    }
    Placed one = read_claim(reader, now);
    one.claim.queue = place->second.first;
    one.queue_place = place->second.second;
    placed.push_back(std::move(one));
  }
  std::sort(placed.begin(), placed.end(), [](const Placed& a, const Placed& b) {
    return std::tie(a.queue_place, b.claim.priority, a.run_at, a.claim.id) <
           std::tie(b.queue_place, a.claim.priority, b.run_at, b.claim.id);
  });
  reply.claims.reserve(placed.size());
  for (Placed& one : placed) { reply.claims.push_back(std::move(one.claim)); }
  return group;
}

ClaimReply read_back_claims(Connection& connection, const ClaimRequest& request, QueueIds& queues,
                            std::int64_t offset_us) {
  const Result result =
      connection.query(claim_read_back(), Params().int8(offset_us).uuid(request.session).int8(request.claim_number));
  return read_claims(result, request, connection, queues).reply;
}

}  // namespace hapax::store::postgres
