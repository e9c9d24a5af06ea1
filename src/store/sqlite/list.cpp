// Lists: one SELECT on live and one on history, each newest first and no longer than the page, merged. For a parent's
// ended executions the SELECT is a union by status, as the index is; SQLite merges it row by row.
#include "base/limits.hpp"
#include "model/list_page.hpp"
#include "store/sqlite/execution_row.hpp"
#include "store/sqlite/verbs.hpp"

#include <algorithm>
#include <functional>
#include <span>

namespace hapax::store::sqlite {

namespace {

// CROSS JOIN fixes the join order: rows come newest first until the page is full, each row's queue is looked up, and
// nothing is sorted. The few rows that an index of their own finds (dead letters, runs of an identity) are sorted
// instead.
constexpr const char* from_live =
    " FROM live CROSS JOIN queues ON queues.id = live.queue_id"
    " LEFT JOIN sessions ON sessions.id = live.session";
constexpr const char* from_history = " FROM history CROSS JOIN queues ON queues.id = history.queue_id";
constexpr const char* from_few_of_history = " FROM history JOIN queues ON queues.id = history.queue_id";
// The executions that a parent started, by indexes that have them newest first.
constexpr const char* from_live_children =
    " FROM live INDEXED BY live_parent CROSS JOIN queues ON queues.id = live.queue_id"
    " LEFT JOIN sessions ON sessions.id = live.session";
constexpr const char* from_history_children =
    " FROM history INDEXED BY history_parent CROSS JOIN queues ON queues.id = history.queue_id";

// The search reads no payloads; payloads are read by id, only for the rows of the page.
constexpr const char* live_payload_sql = "SELECT input FROM live WHERE id = ?";
constexpr const char* ended_payloads_sql = "SELECT input, result FROM history WHERE id = ?";

std::string without_payloads(std::string columns) {
  for (const auto& [column, by] : {std::pair<std::string_view, std::string_view>{"live.input", "''"},
                                   {"history.input", "''"},
                                   {"history.result", "NULL"}}) {
    if (const std::size_t at = columns.find(column); at != std::string::npos) {
      columns.replace(at, column.size(), by);
    }
  }
  return columns;
}

// Conditions and the values they bind, in one order.
class Filter {
 public:
  void add(std::string_view condition) { text_ += (text_.empty() ? " WHERE " : " AND ") + std::string(condition); }
  template <class Value>
  void add(std::string_view condition, const Value& value) {
    add(condition);
    bind_.push_back([value](Cursor& cursor, int index) { cursor.put(index, value); });
  }
  // Continues the last condition with another value.
  template <class Value>
  void add_more(std::string_view rest, const Value& value) {
    text_ += rest;
    bind_.push_back([value](Cursor& cursor, int index) { cursor.put(index, value); });
  }
  [[nodiscard]] const std::string& text() const { return text_; }
  // Binds the values after the first `index` parameters; returns how many parameters are bound then.
  [[nodiscard]] int bind(Cursor& cursor, int index) const {
    for (const auto& put : bind_) { put(cursor, ++index); }
    return index;
  }

 private:
  std::string text_;
  std::vector<std::function<void(Cursor&, int)>> bind_;
};

bool asks_for(const ListQuery& query, Status status) {
  return query.statuses.empty() ||
         std::find(query.statuses.begin(), query.statuses.end(), status) != query.statuses.end();
}

// The conditions that live and history share. The closures keep views into the query, which outlives them.
void add_common(Filter& filter, const std::string& table, const ListQuery& query) {
  filter.add("queues.ns = ?", std::string_view(query.namespace_name));
  if (query.queue) { filter.add("queues.name = ?", std::string_view(*query.queue)); }
  if (query.task) { filter.add(table + ".task = ?", std::string_view(*query.task)); }
  // The condition may be evaluated on rows of other namespaces. json_each fails on text that is not JSON; CASE keeps
  // such labels away from it.
  const std::string if_labels_read = "CASE WHEN json_valid(" + table + ".labels) THEN EXISTS (SELECT 1 FROM json_each(";
  if (query.tag) {
    filter.add(if_labels_read + table + ".labels, '$.tags') WHERE json_each.value = ?) END",
               std::string_view(*query.tag));
  }
  for (const MetadataMatch& match : query.metadata) {
    filter.add(if_labels_read + table + ".labels, '$.metadata') AS m WHERE m.key = ?", std::string_view(match.key));
    // -> returns a number as it was written, where m.atom has its value; but -> does not find keys that contain a
    // quote.
    const std::string number = "coalesce(" + table + ".labels -> m.fullkey, CAST(m.atom AS TEXT))";
    filter.add_more(" AND CASE m.type WHEN 'text' THEN m.value WHEN 'integer' THEN " + number + " WHEN 'real' THEN " +
                        number + " WHEN 'object' THEN NULL WHEN 'array' THEN NULL ELSE m.type END = ?) END",
                    std::string_view(match.value));
  }
  if (query.parent) { filter.add(table + ".parent = ?", *query.parent); }
  if (query.kind) { filter.add(table + ".kind = ?", static_cast<int>(*query.kind)); }
  if (excludes_guards(query)) { filter.add(table + ".kind <> 2"); }
  if (query.created_from) { filter.add(table + ".created_at >= ?", *query.created_from); }
  if (query.created_before) { filter.add(table + ".created_at < ?", *query.created_before); }
  if (query.after) { filter.add(table + ".id < ?", *query.after); }
  if (!query.ids.empty()) {
    std::string places = "?";
    for (std::size_t i = 1; i < query.ids.size(); ++i) { places += ",?"; }
    filter.add(table + ".id IN (" + places + ")", query.ids.front());
    for (const Uuid& id : std::span(query.ids).subspan(1)) { filter.add_more("", id); }
  }
}

// An identity's runs: its holder, and the runs whose identity a later run took over.
void add_identity(Filter& filter, const std::string& table, const base::Digest& identity) {
  if (table == "live") {
    filter.add("live.id IN (SELECT execution FROM identities WHERE identity = ?", identity);
    filter.add_more(" UNION ALL SELECT execution FROM overtaken WHERE identity = ?)", identity);
  } else {
    filter.add("history.id IN (SELECT execution FROM identities WHERE identity = ?", identity);
    filter.add_more(" UNION ALL SELECT id FROM history WHERE superseded = 1 AND identity = ?)", identity);
  }
}

// The rows that pass any of the filters, newest first; no row passes two. The id is the first column.
std::vector<Execution> read(ReadTransaction& tx, const std::string& columns, std::span<const Filter> filters, int limit,
                            Execution (*row)(const Cursor&)) {
  std::string sql;
  for (const Filter& filter : filters) {
    sql += (sql.empty() ? "SELECT " : " UNION ALL SELECT ") + without_payloads(columns) + filter.text();
  }
  sql += " ORDER BY 1 DESC LIMIT " + std::to_string(limit);
  Statement statement(tx.db().handle(), tx.db().path(), sql, false);
  Cursor cursor(statement);
  int bound = 0;
  for (const Filter& filter : filters) { bound = filter.bind(cursor, bound); }
  std::vector<Execution> rows;
  while (cursor.next()) { rows.push_back(row(cursor)); }
  return rows;
}

std::vector<Execution> list_live(ReadTransaction& tx, const ListQuery& query, int limit) {
  const bool pending = asks_for(query, Status::pending);
  const bool running = asks_for(query, Status::running);
  if (query.dead_only || (!pending && !running)) { return {}; }
  Filter filter;
  add_common(filter, "live", query);
  if (query.identity) { add_identity(filter, "live", *query.identity); }
  if (!pending || !running) { filter.add(pending ? "live.state <> 1" : "live.state = 1"); }
  return read(tx, live_execution_columns() + (query.parent ? from_live_children : from_live), {&filter, 1}, limit,
              read_live_execution);
}

// The stored numbers of the terminal statuses that the query asks for.
std::vector<std::string> ended_statuses(const ListQuery& query) {
  std::vector<std::string> statuses;
  for (const Status status : {Status::completed, Status::failed, Status::cancelled, Status::timed_out}) {
    if (asks_for(query, status)) { statuses.push_back(std::to_string(static_cast<int>(status))); }
  }
  return statuses;
}

std::vector<Execution> list_ended(ReadTransaction& tx, const ListQuery& query, int limit) {
  const std::vector<std::string> statuses = ended_statuses(query);
  if (statuses.empty()) { return {}; }
  Filter filter;
  add_common(filter, "history", query);
  if (query.identity) { add_identity(filter, "history", *query.identity); }
  filter.add("history.expires_at > ?", tx.now());
  if (query.dead_only) { filter.add("history.dead = 1"); }
  if (query.parent) {
    std::vector<Filter> filters(statuses.size(), filter);
    for (std::size_t i = 0; i < statuses.size(); ++i) { filters[i].add("history.status = " + statuses[i]); }
    return read(tx, ended_execution_columns() + from_history_children, filters, limit, read_ended_execution);
  }
  if (!query.statuses.empty()) {
    std::string any = statuses[0];
    for (std::size_t i = 1; i < statuses.size(); ++i) { any += "," + statuses[i]; }
    filter.add("history.status IN (" + any + ")");
  }
  const bool few = query.dead_only || query.identity.has_value() || !query.ids.empty();
  return read(tx, ended_execution_columns() + (few ? from_few_of_history : from_history), {&filter, 1}, limit,
              read_ended_execution);
}

// Fills in payloads in order, up to limits::list_bytes; the page ends there.
void add_payloads(ReadTransaction& tx, std::vector<Execution>& page) {
  std::size_t bytes = 0;
  std::size_t filled = 0;
  while (filled < page.size() && bytes < limits::list_bytes) {
    Execution& execution = page[filled];
    const bool ended = is_terminal(execution.status);
    Cursor cursor = tx.db().use(ended ? ended_payloads_sql : live_payload_sql);
    if (cursor.bind(execution.id).next()) {
      execution.input = cursor.string(0);
      if (ended) { execution.result = cursor.optional(1, &Cursor::string); }
    }
    bytes += payload_bytes(execution);
    filled += 1;
  }
  page.resize(filled);
}

}  // namespace

std::vector<Execution> list(ReadTransaction& tx, const ListQuery& query) {
  const int limit = std::clamp(query.limit, 0, limits::list_page);
  std::vector<Execution> page = list_live(tx, query, limit);
  std::vector<Execution> ended = list_ended(tx, query, limit);
  page.insert(page.end(), std::make_move_iterator(ended.begin()), std::make_move_iterator(ended.end()));
  std::sort(page.begin(), page.end(), [](const Execution& a, const Execution& b) { return a.id > b.id; });
  if (std::ssize(page) > limit) { page.resize(static_cast<std::size_t>(limit)); }
  if (query.payloads) { add_payloads(tx, page); }
  return page;
}

}  // namespace hapax::store::sqlite
