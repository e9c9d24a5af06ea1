// Failures of a connection: a refused statement, or a connection that broke.
#pragma once

#include <cstdint>
#include <stdexcept>
#include <string>
#include <string_view>

namespace hapax::store::postgres {

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
  [[nodiscard]] bool is_division_by_zero() const { return sqlstate_ == "22012"; }
  // How a statement undoes itself when a catalogue has changed. The code differs from division by zero, which has
  // another meaning.
  [[nodiscard]] bool is_logarithm_of_zero() const { return sqlstate_ == "2201E"; }

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
