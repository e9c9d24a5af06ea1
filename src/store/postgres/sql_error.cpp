#include "store/postgres/sql_error.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <array>

namespace hapax::store::postgres {

bool ends_connection(std::string_view sqlstate) {
  // Terminated by an administrator, crash of another backend, server shutting down or starting, connection failures.
  return sqlstate == "57P01" || sqlstate == "57P02" || sqlstate == "57P03" || sqlstate == "57P05" ||
         sqlstate.starts_with("08");
}

void throw_mapped(const SqlError& error, const std::string& location, Doing doing) {
  const std::string& state = error.sqlstate();
  const std::string message = location + ": " + error.what();
  if (state == "42P01" || state == "3F000" || state == "42703") {
    throw SchemaMismatch(message + "; the schema is missing or older than this build: run hapax migrate");
  }
  if (state == "55P03" || error.is_transient() || state == "57014") { throw StoreBusy(message); }
  // Stored text is valid, so this error is about a parameter, even in a statement that only reads.
  if (state == "22021" || state == "22P05") {
    throw InvalidArgument("text", "the database can't store it: " + std::string(error.what()));
  }
  const bool is_about_data =
      state.starts_with("22") || state.starts_with("23") || state.starts_with("54") || state.starts_with("P0");
  if (is_about_data && doing == Doing::reading) {
    throw StoreUnavailable(message + " (SQLSTATE " + state + ", of what is stored; hapax doctor says more)");
  }
  // The request itself is at fault: a repetition would be refused too.
  if (is_about_data) { throw InvalidArgument("request", "the database refused it: " + std::string(error.what())); }
  static constexpr std::array<std::string_view, 9> unavailable{
      "53",     // out of disk, memory, connections
      "58",     // system errors, input and output
      "57P",    // shutting down, starting up
      "08",     // connection
      "25006",  // read-only transaction
      "28",     // authorization
      "3D000",  // no such database
      "42501",  // no privilege
      "XX",     // internal, corrupted
  };
  if (std::any_of(unavailable.begin(), unavailable.end(),
                  [&](std::string_view prefix) { return state.starts_with(prefix); })) {
    throw StoreUnavailable(message);
  }
  throw StoreUnavailable(message + " (SQLSTATE " + state + ")");
}

std::string one_line(const char* message) {
  std::string text = message == nullptr ? "" : message;
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) { text.pop_back(); }
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text.empty() ? "no message from the server" : text;
}

}  // namespace hapax::store::postgres
