#include "model/labels.hpp"
#include "store/postgres/postgres_store.hpp"

namespace hapax::store::postgres {

namespace {

// The row locks keep the executions from being lost or finished until the entries are committed.
constexpr Statement append{"hapax_journal_append", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
entry AS MATERIALIZED (
  SELECT u.* FROM unnest($2::uuid[], $3::bigint[], $4::int[], $5::smallint[], $6::text[], $7::bytea[], $8::int[])
                    u(execution, fence, position, kind, name, data, place)
  JOIN {s}.live l ON l.id = ANY (ARRAY[u.execution]) AND l.fence = u.fence AND l.state + 0 = 1 ORDER BY u.place FOR SHARE OF l)
INSERT INTO {s}.journal (execution, position, fence, at, kind, name, data)
SELECT e.execution, e.position, e.fence, t.now, e.kind, e.name, e.data FROM entry e, t
ON CONFLICT (execution, position) DO NOTHING RETURNING execution, position)"};

constexpr Statement relabel_statement{"hapax_relabel", R"(
UPDATE {s}.live SET labels = $3::text WHERE id = $1::uuid AND fence = $2::bigint AND state + 0 = 1 RETURNING id)"};

constexpr Statement read_statement{"hapax_journal_read", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT execution, fence, position, kind, name, data, at FROM {s}.journal
WHERE execution = $2::uuid AND (
  EXISTS (SELECT FROM {s}.live l WHERE l.id = $2::uuid)
  OR EXISTS (SELECT FROM {s}.history h WHERE h.id = $2::uuid AND h.expires_at > (SELECT now FROM t)))
ORDER BY position)"};

std::vector<JournalEntry> read_entries(Connection& connection, const Uuid& execution, std::int64_t offset_us) {
  const Result result = connection.query(read_statement, Params().int8(offset_us).uuid(execution));
  std::vector<JournalEntry> entries;
  for (int row = 0; row < result.rows(); ++row) {
    RowReader reader(result, row);
    JournalEntry entry;
    entry.execution = reader.uuid();
    entry.fence = reader.int8();
    entry.position = reader.int4();
    entry.kind = static_cast<std::uint8_t>(reader.int2());
    entry.name = reader.bytes();
    entry.data = reader.bytes();
    entry.at = reader.time();
    entries.push_back(std::move(entry));
  }
  return entries;
}

// Whether the entry is stored exactly as sent: an earlier try kept it although its answer was lost.
bool is_kept(Connection& connection, const JournalEntry& entry, std::int64_t offset_us) {
  for (const JournalEntry& kept : read_entries(connection, entry.execution, offset_us)) {
    if (kept.position == entry.position) {
      return kept.fence == entry.fence && kept.kind == entry.kind && kept.name == entry.name && kept.data == entry.data;
    }
  }
  return false;
}

}  // namespace

// 1 round trip.
std::vector<FinishVerdict> PostgresStore::journal_append(std::span<const JournalEntry> entries) {
  if (entries.empty()) { return {}; }
  bool asked_before = false;
  return run([&](Connection& connection) {
    Array executions(Type::uuid), fences(Type::int8), positions(Type::int4), kinds(Type::int2), names(Type::text);
    Array data(Type::bytea), places(Type::int4);
    std::int32_t place = 0;
    for (const JournalEntry& entry : entries) {
      executions.uuid(entry.execution);
      fences.int8(entry.fence);
      positions.int4(entry.position);
      kinds.int2(entry.kind);
      names.bytes(entry.name);
      data.bytes(entry.data);
      places.int4(place++);
    }
    Params params;
    params.int8(offset_us());
    for (Array* array : {&executions, &fences, &positions, &kinds, &names, &data, &places}) {
      params.array(std::move(*array));
    }
    const bool again = asked_before;
    asked_before = true;
    const Result result = connection.query(append, params);
    std::set<std::pair<Uuid, std::int32_t>> kept;
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      const Uuid id = reader.uuid();
      kept.emplace(id, reader.int4());
    }
    std::vector<FinishVerdict> verdicts;
    for (const JournalEntry& entry : entries) {
      // If a position has two entries, the first was kept and removes it from the set, so the second is stale.
      const bool accepted =
          kept.erase({entry.execution, entry.position}) > 0 || (again && is_kept(connection, entry, offset_us()));
      verdicts.push_back(accepted ? FinishVerdict::accepted : FinishVerdict::stale);
    }
    return verdicts;
  });
}

// 1 round trip.
FinishVerdict PostgresStore::relabel(const model::Held& held, const Labels& labels) {
  return run([&](Connection& connection) {
    Params params;
    params.uuid(held.id).int8(held.fence);
    const std::optional<std::string> encoded = encode_labels(labels);
    encoded ? params.text(*encoded) : params.null(Type::text);
    return connection.query(relabel_statement, params).rows() > 0 ? FinishVerdict::accepted : FinishVerdict::stale;
  });
}

// 1 round trip.
std::vector<JournalEntry> PostgresStore::journal_read(const Uuid& execution) {
  return read([&](Connection& connection) { return read_entries(connection, execution, offset_us()); });
}

}  // namespace hapax::store::postgres
