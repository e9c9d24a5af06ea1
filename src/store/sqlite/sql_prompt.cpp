// Read-only SQL for operators, on a connection of its own that cannot write, attach or change settings.
#include "store/sqlite/verbs.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <array>

namespace hapax::store::sqlite {

namespace {

constexpr Duration sql_prompt_busy_timeout = std::chrono::seconds(10);

// Pragmas that only read, with or without a table's name.
constexpr std::array<std::string_view, 8> reading_pragmas = {"table_info", "table_xinfo", "table_list",   "index_list",
                                                             "index_info", "index_xinfo", "data_version", "page_count"};

int authorize(void* /*context*/, int action, const char* first, const char* second, const char* /*database*/,
              const char* /*trigger*/) {
  switch (action) {
    case SQLITE_SELECT:
    case SQLITE_READ:
    case SQLITE_RECURSIVE: return SQLITE_OK;
    case SQLITE_FUNCTION:
      return second != nullptr && std::string_view(second) == "load_extension" ? SQLITE_DENY : SQLITE_OK;
    case SQLITE_PRAGMA:
      return std::find(reading_pragmas.begin(), reading_pragmas.end(), std::string_view(first)) != reading_pragmas.end()
                 ? SQLITE_OK
                 : SQLITE_DENY;
    default: return SQLITE_DENY;
  }
}

// The one statement of the text. Throws InvalidArgument unless it is a single statement that only reads.
class ReadOnlyStatement {
 public:
  ReadOnlyStatement(Connection& db, std::string_view text) : db_(db) {
    sqlite3_set_authorizer(db.handle(), authorize, nullptr);
    const char* tail = nullptr;
    const int code = sqlite3_prepare_v2(db.handle(), text.data(), static_cast<int>(text.size()), &handle_, &tail);
    if (code != SQLITE_OK) {
      refuse(code == SQLITE_AUTH ? "only statements that read are allowed" : sqlite3_errmsg(db.handle()));
    }
    const std::string_view rest(tail, static_cast<std::size_t>(text.data() + text.size() - tail));
    if (handle_ == nullptr || rest.find_first_not_of(" \t\r\n;") != std::string_view::npos) {
      sqlite3_finalize(handle_);
      refuse(handle_ == nullptr ? "expected a statement" : "expected one statement");
    }
    if (sqlite3_stmt_readonly(handle_) == 0) {
      sqlite3_finalize(handle_);
      refuse("only statements that read are allowed");
    }
  }
  ~ReadOnlyStatement() { sqlite3_finalize(handle_); }
  ReadOnlyStatement(const ReadOnlyStatement&) = delete;
  ReadOnlyStatement& operator=(const ReadOnlyStatement&) = delete;

  [[nodiscard]] sqlite3_stmt* handle() { return handle_; }
  [[nodiscard]] bool next() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) { return true; }
    if (code == SQLITE_ERROR || code == SQLITE_AUTH) { throw InvalidArgument("sql", sqlite3_errmsg(db_.handle())); }
    if (code != SQLITE_DONE) { db_.fail(code, "running a statement"); }
    return false;
  }

 private:
  [[noreturn]] static void refuse(const std::string& why) { throw InvalidArgument("sql", why); }

  Connection& db_;
  sqlite3_stmt* handle_ = nullptr;
};

std::optional<std::string> cell(sqlite3_stmt* statement, int column) {
  const int type = sqlite3_column_type(statement, column);
  if (type == SQLITE_NULL) { return std::nullopt; }
  if (type == SQLITE_BLOB) {
    const auto* bytes = static_cast<const std::uint8_t*>(sqlite3_column_blob(statement, column));
    return base::to_hex(std::span(bytes, static_cast<std::size_t>(sqlite3_column_bytes(statement, column))));
  }
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  return std::string(text, static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
}

}  // namespace

TextTable run_sql(const std::string& path, std::string_view statement, int max_rows) {
  Connection db(path, Connection::Mode::reader, sql_prompt_busy_timeout);
  ReadOnlyStatement statement_to_run(db, statement);
  TextTable table;
  const int columns = sqlite3_column_count(statement_to_run.handle());
  for (int column = 0; column < columns; ++column) {
    table.columns.emplace_back(sqlite3_column_name(statement_to_run.handle(), column));
  }
  table.plain.assign(table.columns.size(), true);
  while (statement_to_run.next()) {
    if (std::ssize(table.rows) >= max_rows) {
      table.truncated = true;
      break;
    }
    auto& row = table.rows.emplace_back();
    for (int column = 0; column < columns; ++column) {
      // In SQLite values have types, columns do not.
      const int type = sqlite3_column_type(statement_to_run.handle(), column);
      if (type == SQLITE_TEXT || type == SQLITE_BLOB) { table.plain[static_cast<std::size_t>(column)] = false; }
      row.push_back(cell(statement_to_run.handle(), column));
    }
  }
  return table;
}

}  // namespace hapax::store::sqlite
