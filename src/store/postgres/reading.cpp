#include "store/postgres/executions.hpp"
#include "store/postgres/holders.hpp"
#include "store/postgres/postgres_store.hpp"

#include "base/limits.hpp"
#include "model/labels.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

// Searches live first: LIMIT ends the search there, before any partition is read.
constexpr const char* get_text = R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT * FROM (
  SELECT {live} FROM {s}.live l LEFT JOIN {s}.sessions x ON x.id = l.session WHERE l.id = $2::uuid
  UNION ALL
  SELECT {history} FROM {s}.history h WHERE h.id = $2::uuid AND h.expires_at > (SELECT now FROM t)) e LIMIT 1)";

constexpr Statement outcomes_statement{"hapax_outcomes", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now),
going AS MATERIALIZED (
  SELECT id, CASE state WHEN 1 THEN 1 ELSE 0 END::smallint AS status, coalesce(deadline <= (SELECT now FROM t), false) AS overdue
  FROM {s}.live WHERE id = ANY ($2::uuid[]))
SELECT id, status, NULL::bytea, NULL::text, NULL::uuid, overdue FROM going
UNION ALL
SELECT h.id, h.status, h.result, h.error, h.continued_as, false FROM {s}.history h
WHERE h.id = ANY (ARRAY(SELECT u FROM unnest($2::uuid[]) u WHERE u NOT IN (SELECT id FROM going)))
  AND h.expires_at > (SELECT now FROM t))"};

// Finds a record that is past its retention and not deleted yet, or a tombstone.
constexpr Statement expired_statement{"hapax_has_expired", R"(
WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now)
SELECT EXISTS (SELECT FROM {s}.history h JOIN {s}.queues q ON q.id = h.queue_id
               WHERE h.id = $3::uuid AND q.ns = $2::text AND h.expires_at <= (SELECT now FROM t))
    OR EXISTS (SELECT FROM {s}.identities i JOIN {s}.queues q ON q.id = i.queue_id
               WHERE i.execution = $3::uuid AND q.ns = $2::text AND i.hold_until IS NOT NULL
                 AND i.hold_until > (SELECT now FROM t)))"};

constexpr Statement attempts_statement{"hapax_attempts", R"(
SELECT number, worker, started_at, ended_at, outcome, error FROM {s}.attempts
WHERE execution = $1::uuid ORDER BY fence)"};

std::string fill(std::string text) {
  const auto replace = [&](std::string_view mark, std::string_view by) {
    for (std::size_t at = text.find(mark); at != std::string::npos; at = text.find(mark, at + by.size())) {
      text.replace(at, mark.size(), by);
    }
  };
  replace("{live}", live_columns);
  replace("{history}", history_columns);
  return text;
}

// Without `payloads`, inputs and results are not read at all. With them, the sizes of the rows before each row are
// summed, which are known without reading the payloads, and the page ends after the row that reaches
// limits::list_bytes.
std::string fill_page(const std::string& text, bool payloads) {
  std::string filled = fill(text);
  if (payloads) {
    const std::size_t at = filled.find("SELECT * FROM ((");
    return filled.substr(0, at) +
           "SELECT * FROM (SELECT p.*, sum(octet_length(p.input) + coalesce(octet_length(p.result), 0))"
           " OVER (ORDER BY p.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (" +
           filled.substr(at) + ") p) b WHERE coalesce(b.before, 0) < " + std::to_string(limits::list_bytes) +
           " ORDER BY b.id DESC";
  }
  for (const auto& [column, by] : {std::pair<std::string_view, std::string_view>{" l.input,", " ''::bytea AS input,"},
                                   {" h.input, h.result,", " ''::bytea AS input, NULL::bytea AS result,"}}) {
    filled.replace(filled.find(column), column.size(), by);
  }
  return filled;
}

const Statement& get_statement() {
  static const std::string& text = keep_text(fill(get_text));
  static const Statement statement{"hapax_get", text.c_str()};
  return statement;
}

// Conditions on live and history, with their parameters.
struct Filter {
  std::string live;
  std::string history;
  Params params;
  int count = 0;

  std::string next() { return "$" + std::to_string(++count); }
  void both(const std::string& column_and_operator, const std::string& cast) {
    const std::string parameter = next() + cast;
    live += " AND l." + column_and_operator + " " + parameter;
    history += " AND h." + column_and_operator + " " + parameter;
  }
};

void filter_status(Filter& filter, const ListQuery& query) {
  if (query.statuses.empty()) { return; }
  const auto wants = [&](Status status) {
    return std::find(query.statuses.begin(), query.statuses.end(), status) != query.statuses.end();
  };
  std::string finished = "-1";
  for (const Status status : query.statuses) {
    finished += is_terminal(status) ? "," + std::to_string(static_cast<int>(status)) : "";
  }
  filter.history += " AND h.status IN (" + finished + ")";
  if (!wants(Status::pending)) {
    filter.live += wants(Status::running) ? " AND l.state = 1" : " AND false";
  } else if (!wants(Status::running)) {
    filter.live += " AND l.state <> 1";
  }
}

Filter make_filter(const ListQuery& query, std::int64_t offset_us) {
  Filter filter;
  filter.params.int8(offset_us);
  filter.next();  // $1
  filter.params.text(query.ns);
  std::string queues = "queue_id IN (SELECT id FROM {s}.queues WHERE ns = " + filter.next() + "::text";
  if (query.queue) {
    filter.params.text(*query.queue);
    queues += " AND name = " + filter.next() + "::text";
  }
  filter.live += "l." + queues + ")";
  filter.history += "h." + queues + ") AND h.expires_at > (SELECT now FROM t)";
  filter_status(filter, query);
  if (query.task) {
    filter.params.text(*query.task);
    filter.both("task =", "::text");
  }
  if (query.tag) {
    filter.params.text(*query.tag);
    const std::string has_tag = ".labels, " + filter.next() + "::text)";
    filter.live += " AND {s}.has_tag(l" + has_tag;
    filter.history += " AND {s}.has_tag(h" + has_tag;
  }
  for (const MetadataMatch& match : query.metadata) {
    filter.params.text(match.key);
    std::string has_metadata = ".labels, " + filter.next() + "::text, ";
    filter.params.text(match.value);
    has_metadata += filter.next() + "::text)";
    filter.live += " AND {s}.has_metadata(l" + has_metadata;
    filter.history += " AND {s}.has_metadata(h" + has_metadata;
  }
  if (query.identity) {
    filter.params.digest(*query.identity);
    filter.both("identity =", "::bytea");
  }
  if (query.parent) {
    filter.params.uuid(*query.parent);
    filter.both("parent =", "::uuid");
  }
  if (query.kind) {
    filter.params.int2(static_cast<int>(*query.kind));
    filter.both("kind =", "::smallint");
  }
  if (leaves_guards_out(query)) {
    filter.live += " AND l.kind <> 2";
    filter.history += " AND h.kind <> 2";
  }
  if (query.created_from) {
    filter.params.int8(query.created_from->time_since_epoch().count());
    filter.both("created_at >=", "::bigint");
  }
  if (query.created_before) {
    filter.params.int8(query.created_before->time_since_epoch().count());
    filter.both("created_at <", "::bigint");
  }
  if (query.after) {
    filter.params.uuid(*query.after);
    filter.both("id <", "::uuid");
  }
  if (!query.ids.empty()) {
    filter.params.array(uuid_array(query.ids));
    const std::string among = ".id = ANY (" + filter.next() + "::uuid[])";
    filter.live += " AND l" + among;
    filter.history += " AND h" + among;
  }
  if (query.dead_only) {
    filter.live += " AND false";
    filter.history += " AND h.dead";
  }
  return filter;
}

const char* attempt_outcome(int outcome) {
  switch (outcome) {
    case 0: return "failed";
    case 1: return "snoozed";
    default: return "lost";
  }
}

std::optional<Execution> read_one(Connection& connection, QueueIds& queues, const Uuid& id, std::int64_t offset_us) {
  const Result result = connection.query(get_statement(), Params().int8(offset_us).uuid(id));
  if (result.rows() == 0) { return std::nullopt; }
  ExecutionRow row = read_execution(result, 0);
  row.execution.queue = queues.name(connection, row.queue_id);
  return std::move(row.execution);
}

}  // namespace

// 1 round trip.
std::optional<Execution> PostgresStore::get(const Uuid& id) {
  return read([&](Connection& connection) { return read_one(connection, queue_ids_, id, offset_us()); });
}

// 1 round trip.
std::vector<std::optional<Outcome>> PostgresStore::outcomes(std::span<const Uuid> ids) {
  std::vector<std::optional<Outcome>> outcomes(ids.size());
  if (ids.empty()) { return outcomes; }
  return read([&](Connection& connection) {
    const Result result =
        connection.query(outcomes_statement, Params().int8(offset_us()).array(uuid_array({ids.begin(), ids.end()})));
    std::unordered_map<Uuid, Outcome> found;
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      Outcome outcome;
      outcome.id = reader.uuid();
      outcome.status = static_cast<Status>(reader.int2());
      outcome.result = reader.optional_bytes();
      if (const auto error = reader.optional_bytes()) { outcome.error = decode_error(*error); }
      outcome.continued_as = reader.optional_uuid();
      outcome.overdue = reader.boolean();
      found.emplace(outcome.id, std::move(outcome));
    }
    for (std::size_t i = 0; i < ids.size(); ++i) {
      const auto at = found.find(ids[i]);
      outcomes[i] = at == found.end() ? std::nullopt : std::optional(at->second);
    }
    return outcomes;
  });
}

// 1 round trip.
bool PostgresStore::has_expired(std::string_view ns, const Uuid& id) {
  return run([&](Connection& connection) {
    Params params;
    params.int8(offset_us()).text(ns).uuid(id);
    return RowReader(connection.query(expired_statement, params), 0).boolean();
  });
}

// 1 round trip.
std::optional<Holding> PostgresStore::holding(const base::Digest& identity) {
  return read([&](Connection& connection) { return find_holding(connection, identity, offset_us()); });
}

// 1 round trip. Newest first by merging the tables' id indexes, so a page costs the rows it shows and those it filters
// out. With a parent, by merging the parent indexes.
std::vector<Execution> PostgresStore::list(const ListQuery& query) {
  return read(Planning::plain, [&](Connection& connection) {
    Filter filter = make_filter(query, offset_us());
    const std::string limit = std::to_string(std::clamp(query.limit, 0, limits::list_page));
    const std::string text = fill_page(
        "WITH t AS MATERIALIZED (SELECT {now} + $1::bigint AS now) SELECT * FROM (("
        "SELECT {live} FROM {s}.live l LEFT JOIN {s}.sessions x ON x.id = l.session WHERE " +
            filter.live + " ORDER BY l.id DESC LIMIT " + limit +
            ") UNION ALL (SELECT {history} FROM {s}.history h WHERE " + filter.history + " ORDER BY h.id DESC LIMIT " +
            limit + ")) e ORDER BY e.id DESC LIMIT " + limit,
        query.payloads);
    const Result result = connection.query_text(connection.sql(text), filter.params);
    std::vector<Execution> page;
    for (int row = 0; row < result.rows(); ++row) {
      ExecutionRow read = read_execution(result, row);
      read.execution.queue = queue_ids_.name(connection, read.queue_id);
      page.push_back(std::move(read.execution));
    }
    return page;
  });
}

// 2 round trips.
std::vector<Attempt> PostgresStore::attempts(const Uuid& id) {
  return read([&](Connection& connection) {
    std::vector<Attempt> attempts;
    const std::optional<Execution> execution = read_one(connection, queue_ids_, id, offset_us());
    if (!execution) { return attempts; }
    const Result result = connection.query(attempts_statement, Params().uuid(id));
    for (int row = 0; row < result.rows(); ++row) {
      RowReader reader(result, row);
      Attempt attempt;
      attempt.number = reader.int4();
      attempt.worker = reader.bytes();
      attempt.started_at = reader.optional_time();
      attempt.ended_at = reader.optional_time();
      attempt.outcome = attempt_outcome(reader.int2());
      if (const auto error = reader.optional_bytes()) { attempt.error = decode_error(*error); }
      attempts.push_back(std::move(attempt));
    }
    if (execution->session) {
      attempts.push_back({.number = execution->attempt,
                          .worker = execution->worker,
                          .started_at = execution->started_at,
                          .ended_at = execution->finished_at,
                          .outcome = std::string(to_string(execution->status)),
                          .error = execution->error});
    }
    return attempts;
  });
}

}  // namespace hapax::store::postgres
