// Result: a connection's answer in binary format, with a reader that takes a row's columns one after the other.
#pragma once

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::postgres {

class Result;

// Reads the columns of one row in order. The caller knows the statement's column types. A getter that is not optional
// reads NULL as zero or empty.
class RowReader {
 public:
  RowReader(const Result& result, int row);
  RowReader(PGresult* result, int row) : result_(result), row_(row) {}

  [[nodiscard]] bool is_null() const { return PQgetisnull(result_, row_, column_) != 0; }
  void skip(int columns = 1) { column_ += columns; }

  bool boolean();
  int int2();
  std::int32_t int4();
  std::int64_t int8();
  double float8();
  Uuid uuid();
  base::Digest digest();
  std::string bytes();  // text and bytea
  Time time();

  std::optional<std::int64_t> optional_int8();
  std::optional<double> optional_float8();
  std::optional<Uuid> optional_uuid();
  std::optional<base::Digest> optional_digest();
  std::optional<std::string> optional_bytes();
  std::optional<Time> optional_time();
  std::optional<Duration> optional_duration();

  std::vector<Uuid> uuids();
  std::vector<std::int32_t> int4s();

 private:
  [[nodiscard]] std::string_view next();

  PGresult* result_;
  int row_;
  int column_ = 0;
};

struct RowIterator {
  PGresult* result = nullptr;
  int row = 0;

  RowReader operator*() const { return {result, row}; }
  RowIterator& operator++() {
    ++row;
    return *this;
  }
  bool operator==(const RowIterator&) const = default;
};

class Result {
 public:
  Result() = default;
  explicit Result(PGresult* result) : result_(result) {}

  [[nodiscard]] int rows() const { return PQntuples(result_.get()); }
  [[nodiscard]] int columns() const { return PQnfields(result_.get()); }
  [[nodiscard]] PGresult* get() const { return result_.get(); }
  // The result's rows: for (RowReader reader : result).
  [[nodiscard]] RowIterator begin() const { return {result_.get(), 0}; }
  [[nodiscard]] RowIterator end() const { return {result_.get(), rows()}; }
  // How many rows a command changed.
  [[nodiscard]] std::int64_t affected() const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

inline RowReader::RowReader(const Result& result, int row) : RowReader(result.get(), row) {}

// The server refused a statement. Nothing of its transaction was kept.
class SqlError : public std::runtime_error {
 public:
  SqlError(std::string sqlstate, const std::string& message)
      : std::runtime_error(message), sqlstate_(std::move(sqlstate)) {}
  [[nodiscard]] const std::string& sqlstate() const { return sqlstate_; }
  // Serialization failure, deadlock, or a pooler in between: a repetition may work.
  [[nodiscard]] bool is_transient() const {
    return sqlstate_ == "40001" || sqlstate_ == "40P01" || is_mixed_up_statement();
  }
  // A prepared statement exists already or is missing: the session is not the one that it was prepared in.
  [[nodiscard]] bool is_mixed_up_statement() const { return sqlstate_ == "42P05" || sqlstate_ == "26000"; }
  // The session may not write: its default is read-only, or its server is a standby.
  [[nodiscard]] bool is_read_only() const { return sqlstate_ == "25006"; }
  [[nodiscard]] bool is_lock_timeout() const { return sqlstate_ == "55P03"; }
  [[nodiscard]] bool is_unique_violation() const { return sqlstate_ == "23505"; }

 private:
  std::string sqlstate_;
};

// The connection is gone. If its commit had been sent, it is unknown whether the last transaction was committed.
class ConnectionBroken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whether the server ends the session with this SQLSTATE, rather than refuse one statement.
[[nodiscard]] bool ends_connection(std::string_view sqlstate);

// The purpose of a statement. A data error (division, overflow, constraint) of a statement that stores a caller's
// values is about those values; of a statement that only reads, it is about stored data.
enum class Doing : std::uint8_t { storing, reading };

// Throws the hapax error that a refused statement means to a caller.
[[noreturn]] void throw_mapped(const SqlError& error, const std::string& location, Doing doing = Doing::storing);

// libpq's message without a trailing newline, on one line.
[[nodiscard]] std::string one_line(const char* message);

}  // namespace hapax::store::postgres
