// Connection, Statement and Cursor: the sqlite3 handles with their lifetimes.
//
// One thread at a time uses a Connection and its statements; the connection's owner ensures this.
#pragma once

#include "base/sha256.hpp"

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <sqlite3.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <unordered_map>

namespace hapax::store::sqlite {

// A prepared statement, kept for the life of its connection.
class Statement {
 public:
  Statement(sqlite3* db, std::string_view path, std::string_view sql, bool persistent);
  ~Statement() { sqlite3_finalize(handle_); }
  Statement(const Statement&) = delete;
  Statement& operator=(const Statement&) = delete;

  [[nodiscard]] sqlite3_stmt* handle() const { return handle_; }
  [[nodiscard]] std::string_view path() const { return path_; }

 private:
  sqlite3_stmt* handle_ = nullptr;
  std::string_view path_;
};

// One use of a statement: bind, step, read columns. The destructor resets the statement. Bound text and bytes are not
// copied: they must stay in place until the last step.
class Cursor {
 public:
  explicit Cursor(Statement& statement) : statement_(&statement), handle_(statement.handle()) {}
  ~Cursor() { reset(); }
  Cursor(const Cursor&) = delete;
  Cursor& operator=(const Cursor&) = delete;

  // Binds all parameters, starting with the first.
  template <class... Values>
  Cursor& bind(const Values&... values) {
    int index = 0;
    (put(++index, values), ...);
    return *this;
  }

  void put(int index, std::nullptr_t) { check(sqlite3_bind_null(handle_, index)); }
  void put(int index, double value) { check(sqlite3_bind_double(handle_, index, value)); }
  void put(int index, std::string_view text) {
    check(sqlite3_bind_text64(handle_, index, text.data() == nullptr ? "" : text.data(), text.size(), SQLITE_STATIC,
                              SQLITE_UTF8));
  }
  void put(int index, const std::string& text) { put(index, std::string_view(text)); }
  void put(int index, const Uuid& id) { put_bytes(index, id.bytes.data(), id.bytes.size()); }
  void put(int index, const base::Digest& digest) { put_bytes(index, digest.data(), digest.size()); }
  // The digest must stay in place, as bytes do. Null: NULL.
  void put(int index, const base::Digest* digest) { digest == nullptr ? put(index, nullptr) : put(index, *digest); }
  void put(int index, Time time) { put(index, time.time_since_epoch().count()); }
  void put(int index, Duration duration) { put(index, duration.count()); }
  template <class Number>
  requires std::is_integral_v<Number>
  void put(int index, Number value) { check(sqlite3_bind_int64(handle_, index, static_cast<sqlite3_int64>(value))); }
  template <class Enum>
  requires std::is_enum_v<Enum>
  void put(int index, Enum value) { put(index, static_cast<int>(value)); }
  template <class Value>
  void put(int index, const std::optional<Value>& value) {
    if (value) {
      put(index, *value);
    } else {
      put(index, nullptr);
    }
  }

  // True when there is a row to read.
  [[nodiscard]] bool next() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) { return true; }
    if (code != SQLITE_DONE) { fail(code); }
    return false;
  }
  // Steps to the end and ignores rows.
  void run() {
    while (next()) {}
    reset();
  }
  // Like run(), but a violated constraint returns false and the transaction goes on. The statement then did nothing;
  // one with OR FAIL kept the rows that changes() counts.
  [[nodiscard]] bool run_unless_taken();
  // Call before using the cursor's statement again with other values.
  void reset() { sqlite3_reset(handle_); }

  [[nodiscard]] bool is_null(int column) const { return sqlite3_column_type(handle_, column) == SQLITE_NULL; }
  [[nodiscard]] std::int64_t integer(int column) const { return sqlite3_column_int64(handle_, column); }
  [[nodiscard]] int small(int column) const { return sqlite3_column_int(handle_, column); }
  [[nodiscard]] bool flag(int column) const { return sqlite3_column_int(handle_, column) != 0; }
  [[nodiscard]] double real(int column) const { return sqlite3_column_double(handle_, column); }
  [[nodiscard]] Time time(int column) const { return Time(Duration(integer(column))); }
  [[nodiscard]] Duration duration(int column) const { return Duration(integer(column)); }
  // Valid until the next step or reset. Null reads as empty.
  [[nodiscard]] std::string_view text(int column) const {
    const void* bytes = sqlite3_column_text(handle_, column);
    const int size = sqlite3_column_bytes(handle_, column);
    return bytes == nullptr ? std::string_view()
                            : std::string_view(static_cast<const char*>(bytes), static_cast<std::size_t>(size));
  }
  [[nodiscard]] std::string string(int column) const { return std::string(text(column)); }
  [[nodiscard]] Uuid uuid(int column) const {
    Uuid id;
    copy_bytes(column, id.bytes.data(), id.bytes.size());
    return id;
  }
  [[nodiscard]] base::Digest digest(int column) const {
    base::Digest digest{};
    copy_bytes(column, digest.data(), digest.size());
    return digest;
  }
  // nullopt for NULL, else the value that `read` (a member of Cursor) returns.
  template <class Value>
  [[nodiscard]] std::optional<Value> optional(int column, Value (Cursor::*read)(int) const) const {
    return is_null(column) ? std::nullopt : std::optional<Value>((this->*read)(column));
  }

 private:
  void check(int code) {
    if (code != SQLITE_OK) { fail(code); }
  }
  [[noreturn]] void fail(int code);
  void put_bytes(int index, const void* bytes, std::size_t size) {
    check(sqlite3_bind_blob64(handle_, index, bytes, size, SQLITE_STATIC));
  }
  void copy_bytes(int column, void* to, std::size_t size) const {
    const void* bytes = sqlite3_column_blob(handle_, column);
    if (bytes != nullptr && static_cast<std::size_t>(sqlite3_column_bytes(handle_, column)) == size) {
      std::memcpy(to, bytes, size);
    }
  }

  Statement* statement_;
  sqlite3_stmt* handle_;
};

class Connection {
 public:
  enum class Mode : std::uint8_t {
    writer,    // writes and checkpoints; creates the file
    existing,  // like writer, for a file that must be there
    reader,    // never writes, never checkpoints
  };

  Connection(const std::string& path, Mode mode, Duration busy_timeout);
  ~Connection();
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  // The statement of this literal, prepared at its first use. The key is the address: `sql` must be a constant of the
  // program.
  [[nodiscard]] Statement& prepared(const char* sql);
  [[nodiscard]] Cursor use(const char* sql) { return Cursor(prepared(sql)); }
  // Runs one or more statements; does not keep them.
  void execute(const char* sql);
  // The single integer that a statement returns. The statement is not kept.
  [[nodiscard]] std::int64_t integer(const char* sql);
  [[nodiscard]] std::string text(const char* sql);
  // How many rows the last INSERT, UPDATE or DELETE changed.
  [[nodiscard]] int changes() const { return sqlite3_changes(handle_); }

  [[nodiscard]] sqlite3* handle() const { return handle_; }
  [[nodiscard]] const std::string& path() const { return path_; }
  [[noreturn]] void fail(int code, std::string_view doing) const;

  // Sets the write-ahead log, full synchronisation and the writer's other settings. Called under the lock file.
  void set_up_writer();
  // Makes closing the handle skip the checkpoint: for readers, and for a writer that must not touch the log.
  void leave_wal_alone();
  // For a forked child: drops the handle without closing it, as closing would drop the parent's file locks.
  void abandon();

 private:
  std::string path_;
  sqlite3* handle_ = nullptr;
  std::unordered_map<const char*, std::unique_ptr<Statement>> statements_;
};

}  // namespace hapax::store::sqlite
