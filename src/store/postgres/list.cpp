#include "store/postgres/execution_row.hpp"
#include "store/postgres/postgres_store.hpp"

#include "base/limits.hpp"
#include "model/labels.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

// Without `payloads`, inputs and results are not read at all. With them, the sizes of the rows before each row are
// summed, which are known without reading the payloads, and the page ends after the row that reaches
// limits::list_bytes.
std::string fill_page(const std::string& text, bool payloads) {
  const std::string filled = with_execution_columns(text, payloads);
  if (!payloads) { return filled; }
  const std::size_t at = filled.find("SELECT * FROM ((");
  return filled.substr(0, at) +
         "SELECT * FROM (SELECT p.*, sum(octet_length(p.input) + coalesce(octet_length(p.result), 0))"
         " OVER (ORDER BY p.id DESC ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS before FROM (" +
         filled.substr(at) + ") p) b WHERE coalesce(b.before, 0) < " + std::to_string(limits::list_bytes) +
         " ORDER BY b.id DESC";
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
  filter.params.text(query.namespace_name);
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
  if (excludes_guards(query)) {
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

}  // namespace

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

}  // namespace hapax::store::postgres
