#include "store/sqlite/execution_row.hpp"

#include "model/effect_key.hpp"

namespace hapax::store::sqlite {

namespace {

// The first columns of both tables.
std::string shared_execution_columns(std::string_view prefix) {
  return columns::names(columns::shown_in_both, prefix) + ", " + std::string(prefix) +
         "effect_key, queues.ns, queues.name, ";
}

// Shows the column's value in the execution.
constexpr auto show_in(Execution& execution) {
  return [&execution](const auto& column, const auto& value) {
    execution.*(column.execution) = std::remove_cvref_t<decltype(column)>::Codec::get(value);
  };
}

// Returns the index after the columns that both tables have.
int read_shared(const Cursor& cursor, Execution& execution) {
  const int next = columns::read_columns_at(columns::shown_in_both, cursor, 0, show_in(execution));
  execution.effect_key = effect_key(cursor.optional(next, &Cursor::string), execution.identity, execution.id);
  execution.queue = {.namespace_name = cursor.string(next + 1), .name = cursor.string(next + 2)};
  return next + 3;
}

}  // namespace

const std::string& live_execution_columns() {
  static const std::string& columns =
      *new std::string(shared_execution_columns("live.") + columns::names(columns::shown_in_live, "live.") +
                       ", live.state, sessions.worker, live.finish_kind");
  return columns;
}

const std::string& ended_execution_columns() {
  static const std::string& columns =
      *new std::string(shared_execution_columns("history.") + columns::names(columns::shown_in_history, "history."));
  return columns;
}

const char* live_execution_sql() {
  static const char* const sql =
      columns::kept_text("SELECT " + live_execution_columns() +
                         " FROM live JOIN queues ON queues.id = live.queue_id"
                         " LEFT JOIN sessions ON sessions.id = live.session WHERE live.id = ?");
  return sql;
}

const char* ended_execution_sql() {
  static const char* const sql = columns::kept_text("SELECT " + ended_execution_columns() +
                                                    " FROM history JOIN queues ON queues.id = history.queue_id"
                                                    " WHERE history.id = ? AND history.expires_at > ?");
  return sql;
}

Execution read_live_execution(const Cursor& cursor) {
  Execution execution;
  const int next =
      columns::read_columns_at(columns::shown_in_live, cursor, read_shared(cursor, execution), show_in(execution));
  const auto state = static_cast<LiveState>(cursor.small(next));
  execution.status = state == LiveState::running ? Status::running : Status::pending;
  execution.parked = state == LiveState::parked;
  execution.worker = cursor.string(next + 1);
  execution.waiting = state != LiveState::running && !cursor.is_null(next + 2) &&
                      static_cast<FinishKind>(cursor.small(next + 2)) == FinishKind::waiting;
  return execution;
}

Execution read_ended_execution(const Cursor& cursor) {
  Execution execution;
  columns::read_columns_at(columns::shown_in_history, cursor, read_shared(cursor, execution), show_in(execution));
  return execution;
}

}  // namespace hapax::store::sqlite
