#include "store/postgres/journal.hpp"

#include "model/labels.hpp"
#include "store/postgres/postgres_store.hpp"

#include <array>

namespace hapax::store::postgres {

void EntryArrays::add(const Uuid& execution, std::int64_t fence, std::span<const model::JournalEntry> entries,
                      const Children& children) {
  for (const model::JournalEntry& entry : entries) {
    empty_ = false;
    executions_.uuid(execution);
    fences_.int8(fence);
    positions_.int4(entry.position);
    kinds_.int2(entry.kind);
    names_.bytes(entry.name);
    data_.bytes(entry.data);
    const auto child = children.find(&entry);
    child == children.end() ? children_.null() : children_.uuid(child->second);
  }
}

void EntryArrays::append_to(Params& params) {
  params.arrays({&executions_, &fences_, &positions_, &kinds_, &names_, &data_, &children_});
}

void EntryArrays::append_six_to(Params& params) {
  params.arrays({&executions_, &fences_, &positions_, &kinds_, &names_, &data_});
}

namespace {

constexpr std::array<std::string_view, 7> types{"uuid", "bigint", "int", "smallint", "text", "bytea", "uuid"};

// The first `count` types as parameters, numbered from `first`.
std::string arrays(int first, std::size_t count) {
  std::string text;
  for (std::size_t i = 0; i < count; ++i) {
    text += (i == 0 ? "$" : ", $") + std::to_string(first + static_cast<int>(i)) + "::" + std::string(types[i]) + "[]";
  }
  return text;
}

}  // namespace

// IS TRUE keeps the planner from turning IN into a join, which without hash joins would compare every pair. As a
// subplan it costs one hash table probe for each entry.
std::string append_sql(int first, std::string_view source) {
  return "INSERT INTO {s}.journal (execution, position, fence, at, kind, name, data, child)\n"
         "  SELECT e.execution, e.position, e.fence, t.now, e.kind, e.name, e.data, e.child\n"
         "  FROM t, unnest(" +
         arrays(first, 7) +
         ") e(execution, fence, position, kind, name, data, child)\n  WHERE (e.execution IN (SELECT id FROM " +
         std::string(source) + ")) IS TRUE";
}

std::string append_six_sql(int first, std::string_view condition) {
  return "INSERT INTO {s}.journal (execution, position, fence, at, kind, name, data)\n"
         "  SELECT e.execution, e.position, e.fence, t.now, e.kind, e.name, e.data\n"
         "  FROM t, unnest(" +
         arrays(first, 6) + ") e(execution, fence, position, kind, name, data)\n  WHERE " + std::string(condition);
}

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
  for (RowReader reader : result) {
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
    params.arrays({&executions, &fences, &positions, &kinds, &names, &data, &places});
    const bool again = asked_before;
    asked_before = true;
    const Result result = connection.query(append, params);
    std::set<std::pair<Uuid, std::int32_t>> kept;
    for (RowReader reader : result) {
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

namespace {

// A live execution is not looked for in history.
constexpr std::string_view history_request = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
asked AS MATERIALIZED (
  SELECT u.place, u.execution, u.start FROM unnest($2::int[], $3::uuid[], $4::bigint[]) u(place, execution, start)
  LEFT JOIN {s}.live l ON l.id = ANY (ARRAY[u.execution])
  LEFT JOIN LATERAL (
    SELECT x.id FROM {s}.history x
    WHERE l.id IS NULL AND x.id = u.execution AND x.expires_at > (SELECT now FROM t) LIMIT 1) h ON true
  WHERE l.id IS NOT NULL OR h.id IS NOT NULL))";

constexpr std::string_view entries_tail = R"(
SELECT a.place, j.execution, j.fence, j.position, j.kind, j.name, j.data, j.at, j.child
FROM asked a CROSS JOIN LATERAL (
  SELECT * FROM {s}.journal x WHERE x.execution = a.execution AND x.position >= a.start OFFSET 0) j
ORDER BY a.place, j.position)";

constexpr std::string_view events_tail = R"(
SELECT a.place, e.execution, e.number, e.kind, e.name, e.position, e.child, e.status, e.data, e.error, e.at
FROM asked a CROSS JOIN LATERAL (
  SELECT * FROM {s}.events x WHERE x.execution = a.execution AND x.number > a.start OFFSET 0) e
ORDER BY a.place, e.number)";

const Statement& entries_statement() {
  static const Statement& statement =
      made_statement("hapax_history_entries", std::string(history_request) + std::string(entries_tail));
  return statement;
}

const Statement& events_statement() {
  static const Statement& statement =
      made_statement("hapax_history_events", std::string(history_request) + std::string(events_tail));
  return statement;
}

JournalEntry read_entry(RowReader& reader) {
  JournalEntry entry;
  entry.execution = reader.uuid();
  entry.fence = reader.int8();
  entry.position = reader.int4();
  entry.kind = static_cast<std::uint8_t>(reader.int2());
  entry.name = reader.bytes();
  entry.data = reader.bytes();
  entry.at = reader.time();
  entry.child = reader.optional_uuid();
  return entry;
}

Event read_event(RowReader& reader) {
  Event event;
  event.execution = reader.uuid();
  event.number = reader.int8();
  event.kind = static_cast<EventKind>(reader.int2());
  event.name = reader.bytes();
  event.position = reader.int4();
  event.child = reader.optional_uuid();
  event.status = static_cast<Status>(reader.int2());
  event.data = reader.optional_bytes();
  if (const auto error = reader.optional_bytes()) { event.error = decode_error(*error); }
  event.at = reader.time();
  return event;
}

}  // namespace

// 2 statements in 1 round trip, whatever the number of requests.
std::vector<History> PostgresStore::histories(std::span<const HistoryRequest> requests) {
  if (requests.empty()) { return {}; }
  return read([&](Connection& connection) {
    Array places(Type::int4), ids(Type::uuid), positions(Type::int8), numbers(Type::int8);
    std::int32_t place = 0;
    for (const HistoryRequest& request : requests) {
      places.int4(place++);
      ids.uuid(request.execution);
      positions.int8(request.from_position);
      numbers.int8(std::max<std::int64_t>(request.after_event, 0));
    }
    Params params;
    params.int8(offset_us()).array(std::move(places)).array(std::move(ids));
    std::vector<Call> calls;
    calls.push_back({&entries_statement(), Params(params).array(std::move(positions))});
    calls.push_back({&events_statement(), std::move(params.array(std::move(numbers)))});
    const std::vector<Result> results = connection.pipeline(calls);
    std::vector<History> histories(requests.size());
    for (RowReader reader : results[0]) {
      History& history = histories[static_cast<std::size_t>(reader.int4())];
      history.entries.push_back(read_entry(reader));
    }
    for (RowReader reader : results[1]) {
      History& history = histories[static_cast<std::size_t>(reader.int4())];
      history.events.push_back(read_event(reader));
    }
    return histories;
  });
}

}  // namespace hapax::store::postgres
