#include "store/postgres/inbox.hpp"

#include "model/labels.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

// A row that this statement has deleted is neither locked nor updated: it ends here and needs no event. The count of
// `locked` forces the locks to be taken before the first update.
constexpr std::string_view events_part = R"(
locked AS MATERIALIZED (
  SELECT l.id FROM {s}.live l
  WHERE l.id = ANY (ARRAY(SELECT execution FROM told UNION ALL
                          SELECT r FROM unnest({later}) r WHERE EXISTS (SELECT FROM told)))
  ORDER BY l.id FOR UPDATE),
woken AS (
  UPDATE {s}.live l
  SET inbox = coalesce(l.inbox, 0) + n.many,
      state = CASE WHEN l.left_by = 7 AND l.state = 2 THEN 0 ELSE l.state END,
      run_at = CASE WHEN l.left_by = 7 AND l.state = 2 THEN least(l.run_at, t.now) ELSE l.run_at END
  FROM told n CROSS JOIN t
  WHERE l.id = ANY (ARRAY[n.execution]) AND (SELECT count(*) FROM locked) > 0
  RETURNING l.id, l.queue_id, l.state = 0 AND l.run_at = t.now AS due, l.inbox - n.many AS before, n.kinds, n.names,
            n.positions, n.children, n.statuses, n.data, n.errors, n.keys),
noted AS (
  INSERT INTO {s}.events (execution, number, at, kind, name, position, child, status, data, error, signal_key)
  SELECT w.id, w.before + e.nth, t.now, e.kind, e.name, e.position, e.child, e.status, e.data, e.error, e.key
  FROM t CROSS JOIN woken w
  CROSS JOIN LATERAL unnest(w.kinds, w.names, w.positions, w.children, w.statuses, w.data, w.errors, w.keys)
    WITH ORDINALITY e(kind, name, position, child, status, data, error, key, nth)))";

constexpr std::string_view events_head = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
told AS MATERIALIZED (
  SELECT u.execution, count(*) AS many, array_agg(u.kind ORDER BY u.place) AS kinds, array_agg(NULL::text) AS names,
         array_agg(u.position ORDER BY u.place) AS positions, array_agg(u.child ORDER BY u.place) AS children,
         array_agg(u.status ORDER BY u.place) AS statuses, array_agg(u.data ORDER BY u.place) AS data,
         array_agg(u.error ORDER BY u.place) AS errors, array_agg(NULL::text) AS keys
  FROM unnest($2::uuid[], $3::smallint[], $4::int[], $5::uuid[], $6::smallint[], $7::bytea[], $8::text[])
         WITH ORDINALITY u(execution, kind, position, child, status, data, error, place)
  GROUP BY u.execution),)";

constexpr std::string_view signals_head = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
item AS MATERIALIZED (
  SELECT u.* FROM unnest($2::uuid[], $3::text[], $4::bytea[], $5::text[]) WITH ORDINALITY u(execution, name, data, key, place)
  CROSS JOIN LATERAL (SELECT l.id FROM {s}.live l WHERE l.id = u.execution AND l.kind = 1 OFFSET 0) w
  LEFT JOIN {s}.events x ON x.execution = u.execution AND x.signal_key = u.key AND x.signal_key IS NOT NULL
  WHERE x.execution IS NULL),
told AS MATERIALIZED (
  SELECT u.execution, count(*) AS many, array_agg(0::smallint) AS kinds, array_agg(u.name ORDER BY u.place) AS names,
         array_agg(0) AS positions, array_agg(NULL::uuid) AS children, array_agg(0::smallint) AS statuses,
         array_agg(u.data ORDER BY u.place) AS data, array_agg(NULL::text) AS errors,
         array_agg(u.key ORDER BY u.place) AS keys
  FROM item u GROUP BY u.execution),)";

std::string events_query(std::string_view head) {
  return std::string(head) + events_sql("'{}'::uuid[]") + "\nSELECT id, queue_id, due FROM woken";
}

const Statement& send_events_statement() {
  static const Statement& statement = made_statement("hapax_tell", events_query(events_head));
  return statement;
}

const Statement& send_signals_statement() {
  static const Statement& statement = made_statement("hapax_send", events_query(signals_head));
  return statement;
}

}  // namespace

std::string events_sql(std::string_view later) { return fill(events_part, {{"{later}", later}}); }

Call events_call(const std::vector<Event>& events, std::int64_t offset_us) {
  Array executions(Type::uuid), kinds(Type::int2), positions(Type::int4), children(Type::uuid), statuses(Type::int2);
  Array data(Type::bytea), errors(Type::text);
  for (const Event& event : events) {
    executions.uuid(event.execution);
    kinds.int2(static_cast<int>(event.kind));
    positions.int4(event.position);
    children.optional_uuid(event.child);
    statuses.int2(static_cast<int>(event.status));
    data.optional_bytes(event.data);
    errors.optional_bytes(event.error ? std::optional(encode_error(*event.error)) : std::nullopt);
  }
  Params params;
  params.int8(offset_us).arrays({&executions, &kinds, &positions, &children, &statuses, &data, &errors});
  return {&send_events_statement(), std::move(params)};
}

void read_woken(const Result& result, std::set<std::int32_t>& woken) {
  for (RowReader reader : result) {
    reader.skip();
    const std::int32_t queue = reader.int4();
    if (reader.boolean()) { woken.insert(queue); }
  }
}

Call send_signals_call(const std::vector<SignalToSend>& signals, std::int64_t offset_us) {
  Array executions(Type::uuid), names(Type::text), data(Type::bytea), keys(Type::text);
  for (const SignalToSend& one : signals) {
    executions.uuid(one.execution);
    names.bytes(one.signal->name);
    data.bytes(one.signal->data);
    keys.bytes(one.key);
  }
  Params params;
  params.int8(offset_us).arrays({&executions, &names, &data, &keys});
  return {&send_signals_statement(), std::move(params)};
}

}  // namespace hapax::store::postgres
