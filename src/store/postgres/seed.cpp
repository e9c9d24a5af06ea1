#include "store/postgres/admit_identity.hpp"

#include "model/turn.hpp"

#include "model/labels.hpp"

namespace hapax::store::postgres {

namespace {

using namespace model;

constexpr Statement seed_statement{"hapax_seed", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
entries AS (
  INSERT INTO {s}.journal (execution, position, fence, at, kind, name, data, child)
  SELECT e.execution, e.position, 0, e.at, e.kind, e.name, e.data, e.child
  FROM unnest($2::uuid[], $3::int[], $4::bigint[], $5::smallint[], $6::text[], $7::bytea[], $8::uuid[])
         e(execution, position, at, kind, name, data, child)
  ON CONFLICT (execution, position) DO NOTHING),
events AS (
  INSERT INTO {s}.events (execution, number, at, kind, name, position, child, status, data, error)
  SELECT e.execution, e.number, t.now, e.kind, e.name, e.position, e.child, e.status, e.data, e.error
  FROM t, unnest($9::uuid[], $10::bigint[], $11::smallint[], $12::text[], $13::int[], $14::uuid[], $15::smallint[],
                 $16::bytea[], $17::text[]) e(execution, number, kind, name, position, child, status, data, error))
UPDATE {s}.live l SET inbox = u.many
FROM (SELECT e AS execution, count(*) AS many FROM unnest($9::uuid[]) e GROUP BY e) u WHERE l.id = ANY (ARRAY[u.execution]))"};

}  // namespace

void seed(Connection& connection, const std::vector<const NewExecution*>& fresh, std::int64_t offset_us) {
  Array of_entries(Type::uuid), positions(Type::int4), at(Type::int8), kinds(Type::int2), names(Type::text);
  Array data(Type::bytea), children(Type::uuid);
  Array of_events(Type::uuid), numbers(Type::int8), event_kinds(Type::int2), event_names(Type::text);
  Array event_positions(Type::int4), event_children(Type::uuid), statuses(Type::int2), event_data(Type::bytea);
  Array errors(Type::text);
  bool any = false;
  for (const NewExecution* item : fresh) {
    if (!item->seed) { continue; }
    any = true;
    for (const JournalEntry& entry : item->seed->entries) {
      of_entries.uuid(item->id);
      positions.int4(entry.position);
      at.int8(entry.at.time_since_epoch().count());
      kinds.int2(entry.kind);
      names.bytes(entry.name);
      data.bytes(entry.data);
      children.optional_uuid(entry.child);
    }
    std::int64_t number = 0;
    for (const Event& event : item->seed->events) {
      of_events.uuid(item->id);
      numbers.int8(++number);
      event_kinds.int2(static_cast<int>(event.kind));
      event_names.bytes(event.name);
      event_positions.int4(event.position);
      event_children.optional_uuid(event.child);
      statuses.int2(static_cast<int>(event.status));
      event_data.optional_bytes(event.data);
      errors.optional_bytes(event.error ? std::optional(encode_error(*event.error)) : std::nullopt);
    }
  }
  if (!any) { return; }
  Params params;
  params.int8(offset_us).arrays({&of_entries, &positions, &at, &kinds, &names, &data, &children, &of_events, &numbers,
                                 &event_kinds, &event_names, &event_positions, &event_children, &statuses, &event_data,
                                 &errors});
  connection.query(seed_statement, params);
}

}  // namespace hapax::store::postgres
