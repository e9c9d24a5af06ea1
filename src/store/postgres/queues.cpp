#include "model/claim_limits.hpp"
#include "model/queue_key.hpp"
#include "model/queue_patch.hpp"
#include "store/postgres/audit.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/postgres_store.hpp"

namespace hapax::store::postgres {

namespace {

// Runs after the statement that locks the queue's row, so that it sees what the lock waited for.
constexpr Statement read_settings{"hapax_queue_settings", R"(
SELECT paused, draining, retention_us, failed_retention_us, dedup_window_us, limits
FROM {s}.queues WHERE id = $1::int)"};

constexpr Statement write_settings{"hapax_queue_configure", R"(
UPDATE {s}.queues
SET paused = $3::boolean, draining = $4::boolean, retention_us = $5::bigint, failed_retention_us = $6::bigint,
    dedup_window_us = $7::bigint, limits = $8::text,
    limited_since = CASE WHEN limited OR $8::text IS NULL THEN limited_since ELSE {now} + $1::bigint END
WHERE id = $2::int)"};

// For rates that were replaced, caps how long the starts spent under the old rate count against the new one: $3 for the
// queue's rate, $4 for each key's; NULL forgets them. $5 and $6 say which of the two rates changed.
constexpr Statement carry_rates_over{"hapax_carry_rates", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
changed AS MATERIALIZED (
  SELECT r.limit_key, t.now + CASE WHEN r.limit_key = '' THEN $3::bigint ELSE $4::bigint END AS latest
  FROM t, {s}.rates r
  WHERE r.queue_id = $2::int AND CASE WHEN r.limit_key = '' THEN $5::boolean ELSE $6::boolean END),
dropped AS (
  DELETE FROM {s}.rates r USING changed c WHERE r.queue_id = $2::int AND r.limit_key = c.limit_key AND c.latest IS NULL)
UPDATE {s}.rates r SET arrival = c.latest FROM changed c
WHERE r.queue_id = $2::int AND r.limit_key = c.limit_key AND r.arrival > c.latest)"};

constexpr const char* list_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
q AS MATERIALIZED (SELECT * FROM {s}.queues WHERE ns = $2::text),
going AS (
  SELECT queue_id,
         count(*) FILTER (WHERE state = 0 OR (state = 2 AND run_at <= t.now)) AS ready,
         count(*) FILTER (WHERE state = 2 AND run_at > t.now) AS delayed,
         count(*) FILTER (WHERE state = 1) AS running,
         count(*) FILTER (WHERE state = 3) AS parked,
         min(run_at) FILTER (WHERE state = 0 OR (state = 2 AND run_at <= t.now)) AS oldest
  FROM {s}.live, t WHERE queue_id IN (SELECT id FROM q) GROUP BY queue_id),
dead AS (
  SELECT queue_id, count(*) AS letters FROM {s}.history
  WHERE dead AND queue_id IN (SELECT id FROM q) AND expires_at > (SELECT now FROM t) GROUP BY queue_id),
stats AS (
  SELECT queue_id, sum(completed)::bigint AS completed, sum(failed)::bigint AS failed FROM {s}.queue_stats, t
  WHERE queue_id IN (SELECT id FROM q) AND at > t.now - 60000000 AND at <= t.now GROUP BY queue_id)
SELECT q.name, q.paused, q.draining, q.retention_us, q.failed_retention_us, q.dedup_window_us, q.limits,
       coalesce(g.ready, 0), coalesce(g.delayed, 0), coalesce(g.parked, 0), coalesce(g.running, 0), t.now - g.oldest, coalesce(d.letters, 0),
       coalesce(s.completed, 0), coalesce(s.failed, 0),
       (SELECT r.arrival FROM {s}.rates r WHERE r.queue_id = q.id AND r.limit_key = '')
FROM q CROSS JOIN t LEFT JOIN going g ON g.queue_id = q.id LEFT JOIN dead d ON d.queue_id = q.id
LEFT JOIN stats s ON s.queue_id = q.id ORDER BY q.name)";

// Executions with ordered keys, key by key and by sequence, whatever their state; with $3 also workflows that have
// begun. The result says which could be locked. After one that could not, the key's later executions are left alone, as
// another transaction is using the key.
constexpr Statement ordered_statement{"hapax_queue_ordered", R"(
WITH RECURSIVE key AS (
  (SELECT l.limit_key FROM {s}.live l
   WHERE l.queue_id = $1::int AND l.limit_key IS NOT NULL AND l.limit_key >= 'o:' ORDER BY l.limit_key LIMIT 1)
  UNION ALL
  SELECT n.limit_key FROM key k CROSS JOIN LATERAL (
    SELECT l.limit_key FROM {s}.live l
    WHERE l.queue_id = $1::int AND l.limit_key IS NOT NULL AND l.limit_key > k.limit_key
    ORDER BY l.limit_key LIMIT 1) n),
first AS MATERIALIZED (
  SELECT m.id, k.limit_key, m.sequence FROM key k CROSS JOIN LATERAL (
    SELECT p.id, p.sequence FROM unnest('{0,2,3}'::smallint[]) s(state) CROSS JOIN LATERAL (
      SELECT l.id, l.sequence FROM {s}.live l
      WHERE l.queue_id = $1::int AND l.limit_key = k.limit_key AND l.limit_key IS NOT NULL AND l.state = s.state
        AND ($3::boolean OR l.kind <> 1 OR l.fence = 0)
      ORDER BY l.sequence LIMIT $2::bigint) p
    ORDER BY p.sequence LIMIT $2::bigint) m
  LIMIT $2::bigint),
locked AS MATERIALIZED (
  SELECT l.id FROM {s}.live l
  WHERE l.id = ANY (ARRAY(SELECT id FROM first)) AND l.queue_id = $1::int AND l.state IN (0, 2, 3)
    AND ($3::boolean OR l.kind <> 1 OR l.fence = 0)
  FOR UPDATE SKIP LOCKED)
SELECT f.id, f.limit_key, k.id IS NOT NULL FROM first f LEFT JOIN locked k ON k.id = f.id
ORDER BY f.limit_key, f.sequence)"};

// All other pending executions, due ones first. Passes over an execution that a claim has locked, as it is about to
// run.
constexpr Statement pending_statement{"hapax_queue_pending", R"(
WITH ready AS MATERIALIZED (
  SELECT id, limit_key FROM {s}.live
  WHERE queue_id = $1::int AND state = 0 AND lost = 0 AND (limit_key IS NULL OR limit_key < 'o:')
    AND ($3::boolean OR kind <> 1 OR fence = 0)
  ORDER BY priority DESC, run_at, id LIMIT $2::bigint FOR UPDATE SKIP LOCKED),
suspects AS MATERIALIZED (
  SELECT id, limit_key FROM {s}.live
  WHERE queue_id = $1::int AND state = 0 AND lost > 0 AND (limit_key IS NULL OR limit_key < 'o:')
    AND ($3::boolean OR kind <> 1 OR fence = 0)
  ORDER BY priority DESC, run_at, id LIMIT greatest($2::bigint - (SELECT count(*) FROM ready), 0)
  FOR UPDATE SKIP LOCKED),
parked AS MATERIALIZED (
  SELECT id, limit_key FROM {s}.live WHERE queue_id = $1::int AND state = 3 AND limit_key < 'o:'
    AND ($3::boolean OR kind <> 1 OR fence = 0)
  ORDER BY limit_key, priority DESC, run_at, id
  LIMIT greatest($2::bigint - (SELECT count(*) FROM ready) - (SELECT count(*) FROM suspects), 0)
  FOR UPDATE SKIP LOCKED),
delayed AS MATERIALIZED (
  SELECT id, limit_key FROM {s}.live
  WHERE queue_id = $1::int AND state = 2 AND (limit_key IS NULL OR limit_key < 'o:')
    AND ($3::boolean OR kind <> 1 OR fence = 0) ORDER BY run_at
  LIMIT greatest($2::bigint - (SELECT count(*) FROM ready) - (SELECT count(*) FROM suspects)
                 - (SELECT count(*) FROM parked), 0)
  FOR UPDATE SKIP LOCKED)
SELECT id, limit_key FROM ready UNION ALL SELECT id, limit_key FROM suspects
UNION ALL SELECT id, limit_key FROM parked UNION ALL SELECT id, limit_key FROM delayed)"};

// Moves each to the tail of its key in the other queue, in the order given.
constexpr Statement move_statement{"hapax_queue_move", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
item AS MATERIALIZED (
  SELECT u.id, CASE WHEN u.keyed THEN {next} END AS sequence FROM unnest($2::uuid[], $4::boolean[]) u(id, keyed))
UPDATE {s}.live l
SET queue_id = $3::int, state = CASE WHEN l.run_at > (SELECT now FROM t) THEN 2 ELSE 0 END, sequence = item.sequence
FROM item WHERE l.id = item.id)"};

constexpr Statement queues_identities_statement{"hapax_queue_identities", R"(
SELECT task, identity, identity_key FROM {s}.live WHERE id = ANY ($1::uuid[]) AND identity IS NOT NULL)"};

constexpr Statement scopes_statement{"hapax_queue_scopes", R"(
SELECT name, definition FROM {s}.tasks WHERE ns = $1::text)"};

struct Pending {
  Uuid id;
  std::optional<std::string> limit_key;
};

// A purge leaves out workflows that have begun, and passes over locked rows. In a move, an execution must not overtake
// a locked one of the same key.
enum class LockPurpose : std::uint8_t { purge, move };

std::vector<Pending> lock_ordered(Connection& connection, std::int32_t queue, int limit, LockPurpose what) {
  const Result result =
      connection.query(ordered_statement, Params().int4(queue).int8(limit).boolean(what == LockPurpose::move));
  std::vector<Pending> ordered;
  std::string ended_key;
  for (RowReader reader : result) {
    Pending one{.id = reader.uuid(), .limit_key = std::nullopt};
    std::string key = reader.bytes();
    const bool locked = reader.boolean();
    if (!locked && what == LockPurpose::move) { ended_key = key; }
    if (!locked || key == ended_key) { continue; }
    one.limit_key = std::move(key);
    ordered.push_back(std::move(one));
  }
  return ordered;
}

// 2 round trips, 1 when executions with ordered keys fill the limit.
std::vector<Pending> lock_pending(Connection& connection, std::int32_t queue, int limit, LockPurpose what) {
  std::vector<Pending> pending = lock_ordered(connection, queue, limit, what);
  const std::int64_t left = limit - std::ssize(pending);
  if (left <= 0) { return pending; }
  const Result result =
      connection.query(pending_statement, Params().int4(queue).int8(left).boolean(what == LockPurpose::move));
  for (RowReader reader : result) {
    const Uuid id = reader.uuid();
    pending.push_back({.id = id, .limit_key = reader.optional_bytes()});
  }
  return pending;
}

// 2 round trips, 1 when none has an identity.
void check_leaving(Connection& connection, const QueueRef& from, const std::vector<Pending>& moving) {
  Array ids(Type::uuid, moving.size());
  for (const Pending& one : moving) { ids.uuid(one.id); }
  const Result held = connection.query(queues_identities_statement, Params().array(std::move(ids)));
  if (held.rows() == 0) { return; }
  StoredCatalogue tasks;
  const Result scopes = connection.query(scopes_statement, Params().text(from.namespace_name));
  for (RowReader reader : scopes) {
    TaskEntry& entry = tasks.tasks.emplace_back();
    entry.name = reader.bytes();
    entry.definition = reader.bytes();
  }
  const QueueKeys keys(from, tasks);
  for (RowReader reader : held) {
    LeavingQueue leaving;
    leaving.task = reader.bytes();
    leaving.identity = reader.optional_digest();
    leaving.key = reader.optional_bytes().value_or("");
    keys.check_leaving(leaving);
  }
}

QueueSettings read_queue_settings(RowReader& reader) {
  QueueSettings settings;
  settings.paused = reader.boolean();
  settings.draining = reader.boolean();
  settings.retention = reader.optional_duration();
  settings.failed_retention = reader.optional_duration();
  settings.dedup_window = reader.optional_duration();
  settings.limits = decode_limits(reader.bytes());
  return settings;
}

Call write_call(std::int32_t queue, const QueueSettings& settings, std::int64_t offset_us) {
  Params params;
  params.int8(offset_us).int4(queue).boolean(settings.paused).boolean(settings.draining);
  for (const auto& period : {settings.retention, settings.failed_retention, settings.dedup_window}) {
    period ? params.int8(period->count()) : params.null(Type::int8);
  }
  const std::string limits = encode_limits(settings.limits);
  limits.empty() ? params.null(Type::text) : params.text(limits);
  return {&write_settings, std::move(params)};
}

Call carry_rates_call(std::int32_t queue, const QueueLimits& before, const QueueLimits& now, std::int64_t offset_us) {
  Params params;
  params.int8(offset_us).int4(queue);
  for (const auto& rate : {now.rate, now.key_rate}) {
    rate ? params.int8(debt_carried_over(*rate).count()) : params.null(Type::int8);
  }
  params.boolean(before.rate != now.rate).boolean(before.key_rate != now.key_rate);
  return {&carry_rates_over, std::move(params)};
}

}  // namespace

// 2 round trips, 3 when the queue is new. When limits change, all parked executions are unparked, to be judged by the
// new limits.
void PostgresStore::configure_queue(const QueueRef& queue, const QueuePatch& patch) {
  run([&](Connection& connection) {
    queue_ids_.ensure(connection, {queue});
    const std::int32_t id = queue_ids_.id(queue);
    TransactionGuard guard(connection, TransactionGuard::Pipelined());
    std::vector<Call> calls;
    calls.push_back(TransactionGuard::begin_call());
    calls.push_back(lock_queues_call({id}));
    calls.push_back({&read_settings, Params().int4(id)});
    const Result row = std::move(connection.pipeline(calls).back());
    RowReader reader(row, 0);
    QueueSettings settings = read_queue_settings(reader);
    const QueueLimits before = settings.limits;
    apply_patch(settings, patch);
    calls.clear();
    calls.push_back(write_call(id, settings, offset_us()));
    if (settings.limits != before) {
      calls.push_back(unpark_all_call(id, offset_us()));
      calls.push_back(mark_held_call(id, offset_us()));
      calls.push_back(carry_rates_call(id, before, settings.limits, offset_us()));
    }
    if (!patch.actor.empty()) {
      calls.push_back(audit_call({.namespace_name = queue.namespace_name,
                                  .actor = patch.actor,
                                  .action = "queue.configure",
                                  .subject = queue.name,
                                  .detail = describe_patch(patch)},
                                 offset_us()));
    }
    calls.push_back(TransactionGuard::commit_call());
    connection.pipeline(calls);
    guard.committed();
    if (settings.limits != QueueLimits{}) { limited_.add(queue); }
  });
}

// 1 round trip. Counts all live rows of the namespace.
std::vector<QueueInfo> PostgresStore::queues(std::string_view namespace_name) {
  return read(Planning::plain, [&](Connection& connection) {
    const Result result =
        connection.query_text(connection.sql(list_text), Params().int8(offset_us()).text(namespace_name));
    std::vector<QueueInfo> infos;
    for (RowReader reader : result) {
      QueueInfo info;
      info.queue = {.namespace_name = std::string(namespace_name), .name = reader.bytes()};
      info.settings = read_queue_settings(reader);
      info.ready = reader.int8();
      info.delayed = reader.int8();
      info.parked = reader.int8();
      info.running = reader.int8();
      info.oldest_ready = reader.optional_duration();
      info.dead = reader.int8();
      info.completed_last_minute = reader.int8();
      info.failed_last_minute = reader.int8();
      info.rate_arrival = reader.optional_time();
      infos.push_back(std::move(info));
    }
    return infos;
  });
}

int PostgresStore::purge(const QueueRef& queue, int limit, const Actor& by) {
  return run([&](Connection& connection) {
    const std::optional<std::int32_t> id = queue_ids_.find(connection, queue);
    if (!id) { return 0; }
    static const std::string& error = keep_text(cancelled_error("purged"));
    FreedKeys freed;
    TransactionGuard guard(connection);
    std::vector<Ending> endings;
    for (const Pending& pending : lock_pending(connection, *id, limit, LockPurpose::purge)) {
      endings.push_back({.id = pending.id, .status = Status::cancelled, .error = error});
    }
    if (!endings.empty()) {
      const Call call = end_call(endings, offset_us());
      freed.add_ended(connection.query(*call.statement, call.params));
    }
    const int purged = static_cast<int>(endings.size());
    if (purged > 0 && by.is_known()) {
      const Call note = audit_call({.namespace_name = queue.namespace_name,
                                    .actor = by.name,
                                    .action = "queue.purge",
                                    .subject = queue.name,
                                    .detail = describe_count(purged)},
                                   offset_us());
      connection.query(*note.statement, note.params);
    }
    guard.commit();
    unpark(connection, freed);
    return purged;
  });
}

int PostgresStore::move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by) {
  if (from == to) { return 0; }
  return run([&](Connection& connection) {
    const std::optional<std::int32_t> source = queue_ids_.find(connection, from);
    if (!source) { return 0; }
    queue_ids_.ensure(connection, {to});
    FreedKeys freed;
    bool keyed = false;
    int moved = 0;
    {
      TransactionGuard guard(connection);
      Array ids(Type::uuid), with_key(Type::boolean);
      const std::vector<Pending> moving = lock_pending(connection, *source, limit, LockPurpose::move);
      if (!moving.empty()) { check_leaving(connection, from, moving); }
      for (const Pending& pending : moving) {
        ids.uuid(pending.id);
        with_key.boolean(pending.limit_key.has_value());
        if (pending.limit_key) { freed.add(*source, *pending.limit_key); }
        moved += 1;
      }
      keyed = !freed.empty();
      if (keyed) {
        const Call mark = mark_keyed_call({queue_ids_.id(to)}, offset_us());
        connection.query(*mark.statement, mark.params);
      }
      if (moved > 0) {
        Params params;
        params.int8(offset_us()).array(std::move(ids)).int4(queue_ids_.id(to)).array(std::move(with_key));
        connection.query(move_statement, params);
      }
      if (moved > 0 && by.is_known()) {
        const Call note = audit_call({.namespace_name = from.namespace_name,
                                      .actor = by.name,
                                      .action = "queue.move",
                                      .subject = from.name,
                                      .detail = describe_move(to, moved)},
                                     offset_us());
        connection.query(*note.statement, note.params);
      }
      guard.commit();
    }
    if (keyed) { limited_.add(to); }
    unpark(connection, freed);
    return moved;
  });
}

}  // namespace hapax::store::postgres
