#include "store/sqlite/connection.hpp"

#include "store/sqlite/database_file.hpp"
#include "store/sqlite/sqlite_error.hpp"

#include "base/text.hpp"

#include <hapax/error.hpp>

#include <chrono>

namespace hapax::store::sqlite {

namespace {

// SQLite would read "file:…" as a URI and ":memory:" as no file; here both are paths.
std::string plain_path(const std::string& path) {
  return path.starts_with("file:") || path.starts_with(":") ? "./" + path : path;
}

}  // namespace

Statement::Statement(sqlite3* db, std::string_view path, std::string_view sql, bool persistent) : path_(path) {
  const unsigned flags = persistent ? SQLITE_PREPARE_PERSISTENT : 0;
  const int code = sqlite3_prepare_v3(db, sql.data(), static_cast<int>(sql.size()), flags, &handle_, nullptr);
  if (code != SQLITE_OK) { throw_sqlite_error(db, code, path, "preparing a statement"); }
}

void Cursor::fail(int code) {
  sqlite3* const db = sqlite3_db_handle(handle_);
  throw_sqlite_error(db, code, statement_->path(), "running a statement");
}

bool Cursor::run_unless_taken() {
  const int code = sqlite3_step(handle_);
  if ((code & 0xff) == SQLITE_CONSTRAINT) {
    reset();
    return false;
  }
  if (code != SQLITE_DONE) { fail(code); }
  reset();
  return true;
}

Connection::Connection(const std::string& path, Mode mode, Duration busy_timeout) : path_(path) {
  int flags = SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
  flags |= mode == Mode::reader ? SQLITE_OPEN_READONLY : SQLITE_OPEN_READWRITE;
  flags |= mode == Mode::writer ? SQLITE_OPEN_CREATE : 0;
  const char* const vfs = mode == Mode::reader ? nullptr : log_gathering_vfs();
  const int code = sqlite3_open_v2(plain_path(path).c_str(), &handle_, flags, vfs);
  try {
    if (code != SQLITE_OK) { fail(code, "opening the file"); }
    const auto busy_ms = std::chrono::duration_cast<std::chrono::milliseconds>(busy_timeout).count();
    sqlite3_busy_timeout(handle_, static_cast<int>(busy_ms));
    sqlite3_wal_autocheckpoint(handle_, 0);
    if (mode == Mode::reader) { leave_wal_alone(); }
  } catch (...) {
    sqlite3_close_v2(handle_);
    throw;
  }
}

Connection::~Connection() {
  statements_.clear();
  sqlite3_close_v2(handle_);
}

Statement& Connection::prepared(const char* sql) {
  std::unique_ptr<Statement>& slot = statements_[sql];
  if (!slot) { slot = std::make_unique<Statement>(handle_, path_, sql, true); }
  return *slot;
}

void Connection::execute(const char* sql) {
  const int code = sqlite3_exec(handle_, sql, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) { fail(code, "running a statement"); }
}

std::int64_t Connection::integer(const char* sql) {
  Statement statement(handle_, path_, sql, false);
  Cursor cursor(statement);
  return cursor.next() ? cursor.integer(0) : 0;
}

std::string Connection::text(const char* sql) {
  Statement statement(handle_, path_, sql, false);
  Cursor cursor(statement);
  return cursor.next() ? cursor.string(0) : std::string();
}

void Connection::fail(int code, std::string_view doing) const { throw_sqlite_error(handle_, code, path_, doing); }

void Connection::set_up_writer() {
  if (sqlite3_db_readonly(handle_, "main") == 1) { fail(SQLITE_READONLY, "opening the file"); }
  const std::string mode = text("PRAGMA journal_mode = WAL");
  if (mode != "wal") {
    throw StoreUnavailable("SQLite store " + base::echo(path_) +
                           ": write-ahead logging is not possible here (journal mode " + mode +
                           "); use a file on a local disk");
  }
  // synchronous = FULL: a commit is on the disk before it is acknowledged. journal_size_limit: a log that could not be
  // recycled for a while and grew gives its space back. cache_spill = OFF: pages of an open transaction stay in memory.
  // When SQLite 3.40 writes such pages to the log early, and a savepoint is rolled back that was made before they
  // changed, the log cannot be recovered (decision 22).
  execute(
      "PRAGMA synchronous = FULL; PRAGMA secure_delete = OFF; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -65536;"
      "PRAGMA cache_spill = OFF; PRAGMA journal_size_limit = 67108864");
}

void Connection::leave_wal_alone() { sqlite3_db_config(handle_, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, nullptr); }

void Connection::abandon() {
  for (auto& [sql, statement] : statements_) { static_cast<void>(statement.release()); }
  handle_ = nullptr;
}

}  // namespace hapax::store::sqlite
