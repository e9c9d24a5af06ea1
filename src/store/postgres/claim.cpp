#include "store/postgres/claim.hpp"

#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "store/postgres/execution_row.hpp"

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

// Claims rows. The lateral subqueries walk the claim index of one queue after the other, in the request's order, and
// lock row by row. The outer LIMIT stops them, so no more rows are locked than claimed, and the backlog is not read.
//
// Updating by ctid is safe: FOR UPDATE returns the newest version of each row and locks it, so its ctid cannot change
// before this transaction ends. If that version is newer than the statement's snapshot (another transaction changed the
// row between snapshot and lock, and the row still qualifies), the outer UPDATE does not see it: the row stays ready
// for the next claim, and the answer says that more is due. No row is updated that was not locked and checked, and none
// twice.
//
// The inputs of one reply are bounded by bytes ($9): `light` is the part of `fresh`, in order, that begins before the
// bound. The rest stays ready, and the answer says that more is due. The size of an input is known without reading it.
//
// Queues with limits are passed over and named in the answer; claim_limited.cpp claims from them.
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
  static const Statement& statement = made_statement("hapax_claim", with_claimed_columns(claim_text));
  return statement;
}

const Statement& claim_read_back() {
  static const Statement& statement = made_statement("hapax_claim_read_back", with_claimed_columns(read_back_text));
  return statement;
}

struct Names {
  Array spaces{Type::text};
  Array names{Type::text};
};

Names queue_names(const ClaimRequest& request) {
  Names names;
  for (const QueueRef& queue : request.queues) {
    names.spaces.bytes(queue.namespace_name);
    names.names.bytes(queue.name);
  }
  return names;
}

// A claimed row with its place in the request's order, by which rows are sorted: they come back in the table's order.
struct PlacedClaim {
  std::size_t queue_place = 0;
  Claim claim;
};

}  // namespace

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
  std::vector<PlacedClaim> placed;
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
    if (reader.is_null()) { continue; }
    ClaimRow read = read_claimed(reader);
    auto place = places.find(read.queue_id);
    if (place == places.end()) {
      QueueRef name = queues.name(connection, read.queue_id);
      const auto at = std::find(request.queues.begin(), request.queues.end(), name);
      const auto index = static_cast<std::size_t>(at - request.queues.begin());
      place = places.emplace(read.queue_id, std::pair(std::move(name), index)).first;
    }
    read.claim.queue = place->second.first;
    read.claim.claimed_at = now;
    if (read.claim.deadline) { read.claim.deadline_in = *read.claim.deadline - now; }
    placed.push_back({.queue_place = place->second.second, .claim = std::move(read.claim)});
  }
  std::sort(placed.begin(), placed.end(), [](const PlacedClaim& a, const PlacedClaim& b) {
    return std::tie(a.queue_place, b.claim.priority, a.claim.due_at, a.claim.id) <
           std::tie(b.queue_place, a.claim.priority, b.claim.due_at, b.claim.id);
  });
  reply.claims.reserve(placed.size());
  for (PlacedClaim& one : placed) { reply.claims.push_back(std::move(one.claim)); }
  return group;
}

ClaimReply read_back_claims(Connection& connection, const ClaimRequest& request, QueueIds& queues,
                            std::int64_t offset_us) {
  const Result result =
      connection.query(claim_read_back(), Params().int8(offset_us).uuid(request.session).int8(request.claim_number));
  return read_claims(result, request, connection, queues).reply;
}

namespace {

using namespace model;

// Finds the request's queues, by place, that have a due suspect (an execution that was lost before).
constexpr Statement find_suspects{"hapax_claim_survey", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT u.place::int FROM t, unnest($2::text[], $3::text[]) WITH ORDINALITY u(ns, name, place)
JOIN {s}.queues q ON q.ns = u.ns AND q.name = u.name AND NOT q.paused
WHERE EXISTS (SELECT FROM {s}.live l
              WHERE l.queue_id = q.id AND l.state = 0 AND l.lost > 0
                AND (l.deadline IS NULL OR l.deadline > (SELECT now FROM t))
                AND ((cardinality($4::text[]) = 0 AND l.kind <> 1) OR l.task = ANY ($4::text[])))
ORDER BY u.place)"};

Call find_suspects_call(const ClaimRequest& request, std::int64_t offset_us) {
  Array spaces(Type::text), names(Type::text), tasks(Type::text);
  for (const QueueRef& queue : request.queues) {
    spaces.bytes(queue.namespace_name);
    names.bytes(queue.name);
  }
  for (const std::string& task : request.tasks) { tasks.bytes(task); }
  Params params;
  params.int8(offset_us).array(std::move(spaces)).array(std::move(names)).array(std::move(tasks));
  return {&find_suspects, std::move(params)};
}

class GroupedClaim {
 public:
  GroupedClaim(const ClaimWork& work, const ClaimRequest& request)
      : work_(work), request_(request), idle_(request.idle) {
    static const bool knows_limited = !base::takes_plain_path("pg-limited-hint");
    for (const QueueRef& queue : request.queues) {
      const bool limited = knows_limited && work.limited.contains(queue);
      if (groups_.empty() || limited || groups_.back().limited) { groups_.push_back({.limited = limited}); }
      groups_.back().queues.push_back(queue);
    }
  }

  ClaimReply run() {
    const bool all_at_once = groups_.size() == 1;
    if (!all_at_once && request_.alone && take_suspect()) {
      reply_.suspects_due = false;
      reply_.next_due.reset();
      return std::move(reply_);
    }
    for (const Group& group : groups_) {
      if (left() <= 0) { break; }
      if (is_heavy()) { break; }
      const bool suspect = all_at_once && request_.alone;
      group.limited ? take_limited(group.queues.front(), suspect, true) : take_plain(group.queues, suspect);
    }
    if (is_heavy()) { reply_.next_due = Duration{0}; }
    const bool is_suspect = !reply_.claims.empty() && reply_.claims.front().lost > 0;
    if (left() <= 0 || is_suspect) { reply_.next_due.reset(); }
    if (request_.alone) { reply_.suspects_due = false; }
    return std::move(reply_);
  }

 private:
  struct Group {
    bool limited = false;
    std::vector<QueueRef> queues;
  };

  // Whether the reply's inputs have reached limits::claim_bytes. The rest is left to the next claim.
  [[nodiscard]] bool is_heavy() const { return bytes_ >= limits::claim_bytes; }
  [[nodiscard]] int left() const { return request_.limit - static_cast<int>(reply_.claims.size()); }

  bool take_suspect() {
    const std::vector<Call> calls{promote_call(request_, work_.offset_us),
                                  find_suspects_call(request_, work_.offset_us)};
    const Result places = std::move(work_.connection.pipeline(calls).back());
    for (int row = 0; row < places.rows() && reply_.claims.empty(); ++row) {
      const QueueRef& queue = request_.queues[static_cast<std::size_t>(RowReader(places, row).int4() - 1)];
      work_.limited.contains(queue) ? take_limited(queue, true, false) : take_plain({queue}, true);
    }
    return !reply_.claims.empty() && reply_.claims.front().lost > 0;
  }

  void take_limited(const QueueRef& queue, bool suspect, bool fresh) {
    if (idle_ <= 0) { return; }
    QueueReply given = claim_limited(
        work_, request_, {.queue = queue, .limit = left(), .idle = idle_, .suspect = suspect, .fresh = fresh});
    if (!given.is_limited) {
      work_.limited.remove(queue);
      take_plain({queue}, suspect);
      return;
    }
    idle_ -= static_cast<int>(given.claims.size());
    add({.claims = std::move(given.claims), .suspects_due = given.suspects_due, .next_due = given.next_due});
  }

  void take_plain(const std::vector<QueueRef>& queues, bool suspect) {
    ClaimRequest some = request_;
    some.queues = queues;
    some.limit = left();
    some.alone = suspect;
    const std::vector<Call> calls{promote_call(some, work_.offset_us), claim_call(some, work_.offset_us)};
    const std::vector<Result> results = work_.connection.pipeline(calls, "postgres.exchange.before_commit");
    GroupReply group = read_claims(results.back(), some, work_.connection, work_.queues);
    const bool is_suspect = !group.reply.claims.empty() && group.reply.claims.front().lost > 0;
    add(std::move(group.reply));
    for (const QueueRef& queue : group.limited) {
      work_.limited.add(queue);
      if (!is_suspect && left() > 0 && !is_heavy()) { take_limited(queue, suspect && reply_.claims.empty(), true); }
    }
  }

  void add(ClaimReply some) {
    for (Claim& claim : some.claims) {
      bytes_ += claim.input.size();
      reply_.claims.push_back(std::move(claim));
    }
    reply_.suspects_due = reply_.suspects_due || some.suspects_due;
    if (some.next_due) {
      reply_.next_due = reply_.next_due ? std::min(*reply_.next_due, *some.next_due) : *some.next_due;
    }
  }

  const ClaimWork& work_;
  const ClaimRequest& request_;
  int idle_;
  std::vector<Group> groups_;
  std::size_t bytes_ = 0;  // of inputs
  ClaimReply reply_;
};

}  // namespace

ClaimReply claim_in_groups(const ClaimWork& work, const ClaimRequest& request) {
  return GroupedClaim(work, request).run();
}

}  // namespace hapax::store::postgres
