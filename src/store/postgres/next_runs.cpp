#include "store/postgres/next_runs.hpp"

#include "store/postgres/insert_rows.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

using namespace model;

// The dedup window stays. The fingerprint is cleared, as no request gave the next run's input.
constexpr Statement next_runs_repoint{"hapax_next_identities", R"(
UPDATE {s}.identities i
SET execution = u.next, run = l.run + 1, fingerprint = NULL, created_at = {now} + $1::bigint
FROM unnest($2::uuid[], $3::uuid[]) u(before, next) JOIN {s}.live l ON l.id = ANY (ARRAY[u.before])
WHERE i.identity = l.identity AND i.execution = u.before)"};

// Signals that the old run has not used, and a cancellation that it has not seen, come first in the new inbox, in their
// order. The keys of all other signals are kept under numbers below zero, so that a repeated signal still changes
// nothing.
constexpr Statement carry{"hapax_next_carry", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
run AS MATERIALIZED (
  SELECT * FROM unnest($2::uuid[], $3::uuid[], $4::bigint[], $5::boolean[]) u(before, next, seen, holds)),
wanted AS MATERIALIZED (SELECT DISTINCT * FROM unnest($6::uuid[], $7::bigint[]) u(before, number)),
signal AS MATERIALIZED (
  SELECT r.next, e.number, e.kind, e.name, e.data, e.error, e.signal_key,
         e.number > 0 AND (e.number > r.seen OR w.number IS NOT NULL) AS carried
  FROM run r JOIN {s}.events e ON e.execution = r.before AND (e.kind = 0 OR e.kind = 3 AND e.number > r.seen)
  LEFT JOIN wanted w ON w.before = r.before AND w.number = e.number),
carried AS (
  INSERT INTO {s}.events (execution, number, at, kind, name, data, error, signal_key)
  SELECT s.next, row_number() OVER (PARTITION BY s.next ORDER BY s.number), t.now, s.kind, s.name, s.data, s.error,
         s.signal_key
  FROM signal s CROSS JOIN t WHERE s.carried
  RETURNING execution),
remembered AS (
  INSERT INTO {s}.events (execution, number, at, kind, signal_key)
  SELECT s.next, -row_number() OVER (PARTITION BY s.next ORDER BY s.number), t.now, 0, s.signal_key
  FROM signal s CROSS JOIN t WHERE NOT s.carried AND s.signal_key LIKE 'k:%')
UPDATE {s}.live n
SET run = o.run + 1, identity = CASE WHEN r.holds THEN o.identity END, identity_key = o.identity_key,
    effect_key = o.effect_key, parent = o.parent, labels = o.labels,
    waiters = o.waiters, waiter_positions = o.waiter_positions,
    inbox = (SELECT nullif(count(*), 0) FROM carried c WHERE c.execution = r.next)
FROM run r JOIN {s}.live o ON o.id = ANY (ARRAY[r.before])
WHERE n.id = ANY (ARRAY[r.next]))"};

}  // namespace

NewExecution as_next_run(const NewExecution& next) {
  NewExecution item = next;
  item.identity.reset();
  item.effect_key.reset();
  item.parent.reset();
  item.labels = {};
  item.born_running.reset();
  item.seed.reset();
  return item;
}

void add_next_run_calls(std::vector<Call>& calls, const std::vector<NextRun>& runs, const QueueIds& queues,
                        std::int64_t offset_us) {
  std::vector<NewRow> rows;
  Array held(Type::uuid), held_next(Type::uuid);
  Array before(Type::uuid), next(Type::uuid), seen(Type::int8), holds(Type::boolean);
  Array wanted(Type::uuid), numbers(Type::int8);
  for (const NextRun& run : runs) {
    rows.push_back({.item = run.item});
    before.uuid(run.before);
    next.uuid(run.item->id);
    seen.int8(run.turn->seen);
    holds.boolean(run.holds);
    if (run.holds) {
      held.uuid(run.before);
      held_next.uuid(run.item->id);
    }
    for (const std::int64_t number : run.turn->carried) {
      wanted.uuid(run.before);
      numbers.int8(number);
    }
  }
  if (std::any_of(runs.begin(), runs.end(), [](const NextRun& run) { return run.holds; })) {
    calls.push_back({&next_runs_repoint, Params().int8(offset_us).array(std::move(held)).array(std::move(held_next))});
  }
  calls.push_back(insert_past_draining_call(rows, queues, offset_us));
  Params params;
  params.int8(offset_us);
  for (Array* array : {&before, &next, &seen, &holds, &wanted, &numbers}) { params.array(std::move(*array)); }
  calls.push_back({&carry, std::move(params)});
}

}  // namespace hapax::store::postgres
