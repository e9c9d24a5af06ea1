// What goes wrong on a connection, before it is told to callers: a refused statement, or a connection that broke.
//
// Internal to this folder. Store verbs catch both, retry or read back where that is right, and throw hapax errors.
#pragma once

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
  // Serialization failure or deadlock: the same again may work.
  [[nodiscard]] bool is_transient() const { return sqlstate_ == "40001" || sqlstate_ == "40P01"; }
  [[nodiscard]] bool is_lock_timeout() const { return sqlstate_ == "55P03"; }
  [[nodiscard]] bool is_unique_violation() const { return sqlstate_ == "23505"; }
  [[nodiscard]] bool is_division_by_zero() const { return sqlstate_ == "22012"; }
  // How a statement takes itself back for a catalogue that has changed: apart from what division by zero says.
  [[nodiscard]] bool is_logarithm_of_zero() const { return sqlstate_ == "2201E"; }

 private:
  std::string sqlstate_;
};

// The connection is gone. Whether the last transaction was committed is not known if its commit had been sent.
class ConnectionBroken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// The connection closes with these: the server ends sessions, it does not refuse a statement.
[[nodiscard]] bool ends_connection(std::string_view sqlstate);

// Throws the hapax error that a refused statement means to a caller.
[[noreturn]] void throw_mapped(const SqlError& error, const std::string& location);

// libpq's message without a trailing newline, on one line.
[[nodiscard]] std::string one_line(const char* message);

}  // namespace hapax::store::postgres
