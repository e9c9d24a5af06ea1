#include "store/postgres/park.hpp"

#include "base/limits.hpp"
#include "store/postgres/postgres_store.hpp"

#include <limits>
#include <set>

namespace hapax::store::postgres {

namespace {

constexpr Statement lock_queues{"hapax_queues_lock", R"(
SELECT id FROM {s}.queues WHERE id = ANY ($1::int[]) ORDER BY id FOR NO KEY UPDATE)"};

// Only chosen rows are locked, so no other row is written. A row that another transaction has locked is left to the
// sweep. `state + 0` keeps the planner from reading all parked rows, which seem few while the table is empty.
constexpr std::string_view unpark_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
freed AS MATERIALIZED (
  SELECT u.queue_id, u.limit_key, u.places, u.heaviest, u.limit_key LIKE 'o:%' AS ordered,
         CASE WHEN u.limit_key LIKE 'o:%' THEN 1
              ELSE coalesce((nullif(q.limits, '')::jsonb ->> 'key_concurrency')::int, 1) END - (
           SELECT count(*) FROM {s}.live l WHERE l.queue_id = u.queue_id AND l.limit_key = u.limit_key
                                             AND l.limit_key IS NOT NULL AND l.state = 1) AS room
  FROM unnest($2::int[], $3::text[], $4::int[], $5::int[]) u(queue_id, limit_key, places, heaviest)
  LEFT JOIN {s}.queues q ON q.id = u.queue_id {condition}),
line AS MATERIALIZED (
  SELECT c.id FROM freed f CROSS JOIN LATERAL (
    SELECT p.*, row_number() OVER (PARTITION BY p.task ORDER BY p.priority DESC, p.run_at, p.id) AS place
    FROM (SELECT l.id, l.task, l.priority, l.run_at, coalesce(l.weight, 1) AS weight FROM {s}.live l
          WHERE l.queue_id = f.queue_id AND l.limit_key = f.limit_key AND l.state = 3
          ORDER BY l.priority DESC, l.run_at, l.id LIMIT f.places + $6::int) p) c
  WHERE NOT f.ordered AND f.room > 0 AND c.weight <= f.heaviest AND c.place <= least(f.room, f.places)
    AND c.place + (SELECT count(*) FROM (
          SELECT FROM {s}.live k
          WHERE k.queue_id = f.queue_id AND k.limit_key = f.limit_key AND k.limit_key IS NOT NULL
            AND k.state = ANY ('{0,2}'::smallint[]) AND k.run_at <= (SELECT now FROM t) AND k.task = c.task
            AND (-k.priority, k.run_at, k.id) < (-c.priority, c.run_at, c.id)
          LIMIT greatest(f.room, 0)) b) <= f.room),
heads AS MATERIALIZED (
  SELECT p.id FROM freed f CROSS JOIN LATERAL (
    SELECT l.id, l.sequence, coalesce(l.weight, 1) AS weight FROM {s}.live l
    WHERE l.queue_id = f.queue_id AND l.limit_key = f.limit_key AND l.limit_key IS NOT NULL AND l.state = 3
    ORDER BY l.sequence LIMIT 1) p
  WHERE f.ordered AND f.room > 0 AND p.weight <= f.heaviest AND NOT EXISTS (
    SELECT FROM unnest('{0,1,2}'::smallint[]) w(state) CROSS JOIN LATERAL (
      SELECT FROM {s}.live k WHERE k.queue_id = f.queue_id AND k.limit_key = f.limit_key AND k.limit_key IS NOT NULL
                               AND k.state = w.state AND k.sequence < p.sequence LIMIT 1) one)),
chosen AS MATERIALIZED (
  SELECT l.id FROM {s}.live l
  WHERE l.id = ANY (ARRAY(SELECT id FROM line UNION ALL SELECT id FROM heads)) AND l.state + 0 = 3
  FOR UPDATE SKIP LOCKED)
UPDATE {s}.live SET state = CASE WHEN run_at > (SELECT now FROM t) THEN 2 ELSE 0 END
WHERE id = ANY (ARRAY(SELECT id FROM chosen)) AND state + 0 = 3)";

const Statement& unpark() {
  static const Statement& statement = made_statement("hapax_unpark", fill(unpark_text, {{"{condition}", ""}}));
  return statement;
}

const Statement& unpark_unlocked() {
  static const Statement& statement = made_statement(
      "hapax_unpark_unlocked",
      fill(unpark_text, {{"{condition}", "WHERE current_setting('transaction_isolation') = 'read committed'"}}));
  return statement;
}

constexpr Statement unpark_all{"hapax_unpark_all", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
found AS MATERIALIZED (
  SELECT id FROM {s}.live WHERE queue_id = $2::int AND state = 3 FOR UPDATE SKIP LOCKED)
UPDATE {s}.live SET state = CASE WHEN run_at > (SELECT now FROM t) THEN 2 ELSE 0 END
WHERE id = ANY (ARRAY(SELECT id FROM found)) AND state = 3)"};

// Steps from key to key with one index probe each, however many executions are parked under a key.
constexpr Statement parked_keys{"hapax_parked_keys", R"(
WITH RECURSIVE key AS (
  (SELECT l.queue_id, l.limit_key FROM {s}.live l
   WHERE l.state = 3 AND (l.queue_id, l.limit_key) > ($1::int, $2::text) AND l.queue_id <= $3::int
   ORDER BY l.queue_id, l.limit_key LIMIT 1)
  UNION ALL
  SELECT n.queue_id, n.limit_key FROM key k CROSS JOIN LATERAL (
    SELECT l.queue_id, l.limit_key FROM {s}.live l
    WHERE l.state = 3 AND (l.queue_id, l.limit_key) > (k.queue_id, k.limit_key) AND l.queue_id <= $3::int
    ORDER BY l.queue_id, l.limit_key LIMIT 1) n),
found AS MATERIALIZED (SELECT * FROM key LIMIT $4::bigint)
SELECT k.queue_id, k.limit_key,
       (SELECT count(*) FROM {s}.live l WHERE l.queue_id = k.queue_id AND l.limit_key = k.limit_key
                                          AND l.limit_key IS NOT NULL AND l.state = 1),
       CASE WHEN k.limit_key LIKE 'o:%' THEN (
         SELECT coalesce(p.weight, 1) FROM {s}.live p WHERE p.queue_id = k.queue_id AND p.limit_key = k.limit_key
                                                        AND p.limit_key IS NOT NULL AND p.state = 3
         ORDER BY p.sequence LIMIT 1) ELSE (
         SELECT coalesce(p.weight, 1) FROM {s}.live p
         WHERE p.queue_id = k.queue_id AND p.limit_key = k.limit_key AND p.state = 3
         ORDER BY p.priority DESC, p.run_at, p.id LIMIT 1) END,
       NOT EXISTS (SELECT FROM {s}.live l WHERE l.queue_id = k.queue_id AND l.limit_key = k.limit_key
                                            AND l.limit_key IS NOT NULL AND l.state = ANY ('{0,1,2}'::smallint[])
                                            AND l.sequence < (
          SELECT p.sequence FROM {s}.live p WHERE p.queue_id = k.queue_id AND p.limit_key = k.limit_key
                                              AND p.limit_key IS NOT NULL AND p.state = 3
          ORDER BY p.sequence LIMIT 1)),
       r.arrival, q.limits, {now} + $5::bigint
FROM found k JOIN {s}.queues q ON q.id = k.queue_id
LEFT JOIN {s}.rates r ON r.queue_id = k.queue_id AND r.limit_key = k.limit_key)"};

Call freed_call(const Statement& statement, const FreedKeys& freed, std::int64_t offset_us) {
  Array queues(Type::int4), keys(Type::text), places(Type::int4), heaviest(Type::int4);
  for (const auto& [key, one] : freed.keys()) {
    queues.int4(key.first);
    keys.bytes(key.second);
    places.int4(one.places);
    heaviest.int4(one.heaviest);
  }
  Params params;
  params.int8(offset_us).array(std::move(queues)).array(std::move(keys)).array(std::move(places));
  params.array(std::move(heaviest)).int4(model::parked_considered_max);
  return {&statement, std::move(params)};
}

}  // namespace

void FreedKeys::add_ended(const Result& result) {
  for (RowReader reader : result) {
    reader.skip();
    const std::int32_t queue = reader.int4();
    if (!reader.is_null()) { add(queue, reader.bytes()); }
  }
}

void FreedKeys::add_waiting(const Result& result) {
  for (RowReader reader : result) {
    reader.skip(4);
    const std::int32_t queue = reader.int4();
    if (reader.is_null()) { continue; }
    const std::string key = reader.bytes();
    if (!model::decode_limit_key(key).ordered) { add(queue, key); }
  }
}

Call lock_queues_call(const std::vector<std::int32_t>& queues) {
  Array ids(Type::int4, queues.size());
  for (const std::int32_t queue : queues) { ids.int4(queue); }
  return {&lock_queues, Params().array(std::move(ids))};
}

Call unpark_call(const FreedKeys& freed, std::int64_t offset_us) { return freed_call(unpark(), freed, offset_us); }

std::vector<Call> unpark_calls(const FreedKeys& freed, std::int64_t offset_us) {
  std::set<std::int32_t> queues;
  for (const auto& [key, one] : freed.keys()) { queues.insert(key.first); }
  std::vector<Call> calls;
  calls.push_back(lock_queues_call({queues.begin(), queues.end()}));
  calls.push_back(unpark_call(freed, offset_us));
  return calls;
}

Call unpark_unlocked_call(const FreedKeys& freed, std::int64_t offset_us) {
  return freed_call(unpark_unlocked(), freed, offset_us);
}

Call unpark_all_call(std::int32_t queue, std::int64_t offset_us) {
  return {&unpark_all, Params().int8(offset_us).int4(queue)};
}

Call parked_keys_call(std::int32_t queue, const std::string& limit_key, std::int32_t last, std::int64_t offset_us) {
  Params params;
  params.int4(queue).text(limit_key).int4(last).int8(limits::parked_keys_per_scan).int8(offset_us);
  return {&parked_keys, std::move(params)};
}

std::vector<ParkedKey> read_parked_keys(const Result& result) {
  std::vector<ParkedKey> keys;
  for (RowReader reader : result) {
    ParkedKey key;
    key.queue = reader.int4();
    key.limit_key = reader.bytes();
    key.load.running = reader.int8();
    key.weight = reader.int4();
    key.head_parked = reader.boolean();
    key.load.arrival = reader.optional_time();
    key.limits = reader.bytes();
    key.at = reader.time();
    keys.push_back(std::move(key));
  }
  return keys;
}

void PostgresStore::unpark(Connection& connection, const FreedKeys& freed) {
  if (freed.empty()) { return; }
  constexpr int attempts = 3;
  for (int attempt = 1; attempt <= attempts; ++attempt) {
    try {
      connection.pipeline(unpark_calls(freed, offset_us()));
      return;
    } catch (const SqlError&) { back_off(attempt); } catch (const ConnectionBroken&) {
      return;
    }
  }
}

// Unparks keys that no later event frees, because the process that should have unparked them died or failed. 1 round
// trip when nothing is parked, else 2. The unparking statement decides which keys have room for more than what is
// already claimable.
void PostgresStore::unpark_stranded(Connection& connection) {
  constexpr std::int32_t all_queues = 0;
  const ParkedScanPositions::Place from = looks_.get(all_queues);
  const Call look = parked_keys_call(from.first, from.second, std::numeric_limits<std::int32_t>::max(), offset_us());
  const std::vector<ParkedKey> found = read_parked_keys(connection.query(*look.statement, look.params));
  if (std::ssize(found) < limits::parked_keys_per_scan) {
    looks_.begin_anew(all_queues);
  } else {
    looks_.set(all_queues, {found.back().queue, found.back().limit_key});
  }
  FreedKeys freed;
  for (const ParkedKey& key : found) {
    const int heaviest = heaviest_start(decode_limits(key.limits), key.load, key.at);
    if (key.in_turn() && key.weight <= heaviest) { freed.add(key.queue, key.limit_key, heaviest); }
  }
  unpark(connection, freed);
}

}  // namespace hapax::store::postgres
