#include "store/postgres/postgres_store.hpp"

#include "base/limits.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

constexpr std::string_view columns =
    "a.ns, a.id, a.uuid, a.revision, a.version, a.definition, a.kind, a.paused, a.note, a.cursor, a.next_due,"
    " a.last_started, a.started, a.duplicates, a.missed, a.overlapped, a.refused, a.trouble, a.created_at, "
    "a.updated_at";

std::string with_columns(std::string_view text) {
  static constexpr std::string_view mark = "{columns}";
  std::string whole(text);
  return whole.replace(whole.find(mark), mark.size(), columns);
}

constexpr std::string_view page_text = R"(
SELECT {columns} FROM {s}.activities a
WHERE a.ns = $1::text AND a.id > $2::text AND NOT a.removed AND ($3::smallint IS NULL OR a.kind = $3::smallint)
ORDER BY a.id LIMIT $4::bigint)";

constexpr std::string_view one_text = R"(
SELECT {columns} FROM {s}.activities a
WHERE a.ns = $1::text AND a.id > $2::text AND NOT a.removed AND ($3::smallint IS NULL OR a.kind = $3::smallint)
  AND a.id = $5::text
LIMIT $4::bigint)";

constexpr Statement versions_statement{"hapax_activity_versions", R"(
SELECT version, definition, actor, at FROM {s}.activity_versions
WHERE ns = $1::text AND id = $2::text ORDER BY version DESC)"};

constexpr Statement generation_statement{"hapax_activity_generation",
                                         "SELECT generation FROM {s}.activity_generations WHERE ns = $1::text"};

// Reads one more than `limit`, as the next due one. When nothing is due the result still has one row, with the clock
// and the next due time.
constexpr std::string_view due_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
due AS MATERIALIZED (
  SELECT {columns} FROM {s}.activities a WHERE a.next_due <= (SELECT now FROM t)
  ORDER BY a.next_due, a.ns, a.id LIMIT $2::bigint + 1),
later AS MATERIALIZED (SELECT min(x.next_due) AS at FROM {s}.activities x WHERE x.next_due > (SELECT now FROM t))
SELECT t.now, later.at, due.id IS NOT NULL, due.* FROM t CROSS JOIN later LEFT JOIN due ON true
ORDER BY due.next_due, due.ns, due.id)";

constexpr Statement live_statement{"hapax_activity_live", R"(
SELECT u.place, r.id FROM unnest($1::uuid[]) WITH ORDINALITY u(parent, place)
CROSS JOIN LATERAL (SELECT l.id FROM {s}.live l WHERE l.parent = u.parent ORDER BY l.id LIMIT 1002) r)"};

// Looks at the newest 1,000 runs only, so that an activity which has failed for weeks is not searched back to its last
// result.
constexpr Statement results_statement{"hapax_activity_results", R"(
WITH t AS MATERIALIZED (SELECT {now} + $2::bigint AS now)
SELECT u.place, r.result FROM unnest($1::uuid[]) WITH ORDINALITY u(parent, place)
CROSS JOIN LATERAL (
  SELECT h.result FROM (
    SELECT x.id, x.status, x.continued_as, x.result, x.expires_at FROM {s}.history x
    WHERE x.parent = u.parent ORDER BY x.id DESC LIMIT 1000) h
  WHERE h.status = 2 AND h.continued_as IS NULL AND h.result IS NOT NULL AND h.expires_at > (SELECT now FROM t)
  ORDER BY h.id DESC LIMIT 1) r)"};

const Statement& page_statement() {
  static const std::string& text = keep_text(with_columns(page_text));
  static const Statement statement{"hapax_activity_page", text.c_str()};
  return statement;
}

const Statement& one_statement() {
  static const std::string& text = keep_text(with_columns(one_text));
  static const Statement statement{"hapax_activity_one", text.c_str()};
  return statement;
}

const Statement& due_statement() {
  static const std::string& text = keep_text(with_columns(due_text));
  static const Statement statement{"hapax_activity_due", text.c_str()};
  return statement;
}

ActivityState read_state(RowReader& reader) {
  ActivityState state;
  state.ns = reader.bytes();
  state.id = reader.bytes();
  state.uuid = reader.uuid();
  state.revision = reader.int8();
  state.version = reader.int4();
  state.definition = reader.bytes();
  state.kind = static_cast<ActivityKind>(reader.int2());
  state.paused = reader.boolean();
  state.note = reader.bytes();
  state.cursor = reader.time();
  state.next_due = reader.optional_time();
  state.last_started = reader.optional_time();
  state.counts.started = reader.int8();
  state.counts.duplicates = reader.int8();
  state.counts.missed = reader.int8();
  state.counts.overlapped = reader.int8();
  state.counts.refused = reader.int8();
  state.trouble = reader.bytes();
  state.created_at = reader.time();
  state.updated_at = reader.time();
  return state;
}

void read_runs(Connection& connection, std::vector<DueActivity>& due, std::int64_t offset_us) {
  std::vector<Uuid> parents;
  for (const DueActivity& one : due) { parents.push_back(one.state.uuid); }
  std::vector<Call> calls;
  calls.push_back({&live_statement, Params().array(uuid_array(parents))});
  calls.push_back({&results_statement, Params().array(uuid_array(parents)).int8(offset_us)});
  const std::vector<Result> results = connection.pipeline(calls);
  const auto at = [&](RowReader& reader) -> DueActivity& { return due[static_cast<std::size_t>(reader.int8() - 1)]; };
  for (int row = 0; row < results[0].rows(); ++row) {
    RowReader reader(results[0], row);
    DueActivity& one = at(reader);
    one.live.push_back(reader.uuid());
  }
  for (int row = 0; row < results[1].rows(); ++row) {
    RowReader reader(results[1], row);
    DueActivity& one = at(reader);
    one.last_result = reader.optional_bytes();
  }
}

}  // namespace

// 1 round trip, as in the next two functions.
std::vector<ActivityState> PostgresStore::activities(const ActivityQuery& query) {
  return read([&](Connection& connection) {
    Params params;
    params.text(query.ns).text(query.after.value_or(""));
    query.kind ? params.int2(static_cast<int>(*query.kind)) : params.null(Type::int2);
    params.int8(std::clamp(query.limit, 0, limits::list_page));
    if (query.id) { params.text(*query.id); }
    const Result result = connection.query(query.id ? one_statement() : page_statement(), params);
    std::vector<ActivityState> page;
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      page.push_back(read_state(reader));
    }
    return page;
  });
}

std::vector<ActivityVersion> PostgresStore::activity_versions(std::string_view ns, std::string_view id) {
  return read([&](Connection& connection) {
    const Result result = connection.query(versions_statement, Params().text(ns).text(id));
    std::vector<ActivityVersion> versions;
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      ActivityVersion version;
      version.version = reader.int4();
      version.definition = reader.bytes();
      version.actor = reader.bytes();
      version.at = reader.time();
      versions.push_back(std::move(version));
    }
    return versions;
  });
}

std::int64_t PostgresStore::activity_generation(std::string_view ns) {
  return read([&](Connection& connection) {
    const Result result = connection.query(generation_statement, Params().text(ns));
    return result.rows() == 0 ? std::int64_t{0} : RowReader(result, 0).int8();
  });
}

// 1 statement in 1 round trip when nothing is due, else 3 in 2, however many are. If an activity changes between the
// two, its revision differs, so a change based on this reply is not applied.
DueActivities PostgresStore::due_activities(int limit) {
  return read([&](Connection& connection) {
    const auto most = static_cast<std::size_t>(std::clamp(limit, 0, limits::list_page));
    const Result result =
        connection.query(due_statement(), Params().int8(offset_us()).int8(static_cast<std::int64_t>(most)));
    DueActivities report;
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      report.now = reader.time();
      const std::optional<Time> later = reader.optional_time();
      if (row == 0) { report.next = later; }
      if (!reader.boolean()) { continue; }
      ActivityState state = read_state(reader);
      if (report.due.size() == most) {
        report.next = state.next_due;
      } else {
        report.due.emplace_back().state = std::move(state);
      }
    }
    if (!report.due.empty()) { read_runs(connection, report.due, offset_us()); }
    return report;
  });
}

}  // namespace hapax::store::postgres
