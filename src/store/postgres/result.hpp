// A result in binary format, and a reader that takes a row's columns one after the other.
#pragma once

#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"

#include <libpq-fe.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::store::postgres {

class Result {
 public:
  Result() = default;
  explicit Result(PGresult* result) : result_(result) {}

  [[nodiscard]] int rows() const { return PQntuples(result_.get()); }
  [[nodiscard]] int columns() const { return PQnfields(result_.get()); }
  [[nodiscard]] PGresult* get() const { return result_.get(); }
  // How many rows a command changed.
  [[nodiscard]] std::int64_t affected() const;

 private:
  struct Clear {
    void operator()(PGresult* result) const { PQclear(result); }
  };
  std::unique_ptr<PGresult, Clear> result_;
};

// Reads the columns of one row in order. The caller knows the statement's column types. A getter that is not optional
// reads NULL as zero or empty.
class RowReader {
 public:
  RowReader(const Result& result, int row) : result_(result.get()), row_(row) {}

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

}  // namespace hapax::store::postgres
