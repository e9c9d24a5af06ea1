#include "store/postgres/postgres_store.hpp"

#include "model/labels.hpp"

namespace hapax::store::postgres {

namespace {

// A live execution is not looked for in history.
constexpr std::string_view asked = R"(
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
  static const std::string& text = keep_text(std::string(asked) + std::string(entries_tail));
  static const Statement statement{"hapax_history_entries", text.c_str()};
  return statement;
}

const Statement& events_statement() {
  static const std::string& text = keep_text(std::string(asked) + std::string(events_tail));
  static const Statement statement{"hapax_history_events", text.c_str()};
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
    for (int row = 0; row < results[0].rows(); ++row) {
      RowReader reader(results[0], row);
      History& history = histories[static_cast<std::size_t>(reader.int4())];
      history.entries.push_back(read_entry(reader));
    }
    for (int row = 0; row < results[1].rows(); ++row) {
      RowReader reader(results[1], row);
      History& history = histories[static_cast<std::size_t>(reader.int4())];
      history.events.push_back(read_event(reader));
    }
    return histories;
  });
}

}  // namespace hapax::store::postgres
