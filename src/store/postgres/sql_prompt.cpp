#include "store/postgres/connection.hpp"
#include "store/postgres/postgres_store.hpp"

#include <hapax/error.hpp>

#include <algorithm>
#include <array>
#include <cctype>

namespace hapax::store::postgres {

namespace {

// The first word in lower case, past space, comments and opening parentheses.
std::string first_word(std::string_view text) {
  while (!text.empty()) {
    if (std::isspace(static_cast<unsigned char>(text.front())) != 0 || text.front() == '(') {
      text.remove_prefix(1);
    } else if (text.starts_with("--")) {
      text.remove_prefix(std::min(text.find('\n'), text.size()));
    } else if (text.starts_with("/*")) {
      const std::size_t end = text.find("*/", 2);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 2);
    } else {
      break;
    }
  }
  std::string word;
  while (!text.empty() && std::isalpha(static_cast<unsigned char>(text.front())) != 0) {
    word += static_cast<char>(std::tolower(static_cast<unsigned char>(text.front())));
    text.remove_prefix(1);
  }
  return word;
}

// A read-only transaction refuses changes to tables. Statements that have effects outside it (COPY to a file) are
// refused here.
void check_reads(std::string_view statement) {
  static constexpr std::array<std::string_view, 6> reading{"select", "with", "values", "table", "explain", "show"};
  const std::string word = first_word(statement);
  if (std::find(reading.begin(), reading.end(), word) == reading.end()) {
    throw InvalidArgument("sql", "only statements that read are run here: SELECT, WITH, VALUES, TABLE, EXPLAIN, SHOW");
  }
}

// From pg_type, the same on every server.
constexpr Oid bool_oid = 16;
bool is_plain(Oid type) {
  constexpr std::array<Oid, 8> plain = {bool_oid, 20, 21, 23, 26, 700, 701, 1700};  // integers, floats, numeric
  return std::find(plain.begin(), plain.end(), type) != plain.end();
}

void add_rows(TextTable& table, const Result& result, int max_rows) {
  if (table.columns.empty()) {
    for (int column = 0; column < result.columns(); ++column) {
      table.columns.emplace_back(PQfname(result.get(), column));
      table.plain.push_back(is_plain(PQftype(result.get(), column)));
    }
  }
  for (int row = 0; row < result.rows(); ++row) {
    if (std::ssize(table.rows) >= max_rows) {
      table.truncated = true;
      return;
    }
    std::vector<std::optional<std::string>> values;
    for (int column = 0; column < result.columns(); ++column) {
      if (PQgetisnull(result.get(), row, column) != 0) {
        values.emplace_back(std::nullopt);
      } else if (PQftype(result.get(), column) == bool_oid) {
        values.emplace_back(*PQgetvalue(result.get(), row, column) == 't' ? "true" : "false");
      } else {
        values.emplace_back(std::string(PQgetvalue(result.get(), row, column),
                                        static_cast<std::size_t>(PQgetlength(result.get(), row, column))));
      }
    }
    table.rows.push_back(std::move(values));
  }
}

// Rows are read one by one, so that a table of millions costs no more than the rows that are shown.
TextTable read_table(Connection& connection, const std::string& statement, int max_rows) {
  TextTable table;
  PGconn* const native = connection.native();
  if (PQsendQueryParams(native, statement.c_str(), 0, nullptr, nullptr, nullptr, nullptr, 0) == 0) {
    connection.fail(one_line(PQerrorMessage(native)));
  }
  PQsetSingleRowMode(native);
  connection.flush();
  Result error;
  bool cancelled = false;
  while (true) {
    Result result = connection.next_result();
    if (result.get() == nullptr) { break; }
    const ExecStatusType status = PQresultStatus(result.get());
    if (status == PGRES_SINGLE_TUPLE || status == PGRES_TUPLES_OK) {
      add_rows(table, result, max_rows);
      if (table.truncated && !cancelled) {
        cancelled = true;
        char message[256];
        if (PGcancel* const cancel = PQgetCancel(native)) {
          PQcancel(cancel, message, sizeof message);
          PQfreeCancel(cancel);
        }
      }
    } else if (status == PGRES_FATAL_ERROR && error.get() == nullptr && !cancelled) {
      error = std::move(result);
      if (PQstatus(native) != CONNECTION_OK) { break; }
    }
  }
  if (error.get() != nullptr) { connection.check(error); }
  return table;
}

}  // namespace

TextTable PostgresStore::sql(std::string_view statement, int max_rows) {
  check_reads(statement);
  const Pool::Lease lease = pool_.acquire(Planning::plain);
  Connection& connection = *lease;
  try {
    TransactionGuard guard(connection);
    connection.command(connection.sql(
        "SET TRANSACTION READ ONLY; SET LOCAL statement_timeout = '30s'; SET LOCAL search_path = {s}, public"));
    const Connection::AnswerLimit patience(connection);
    return read_table(connection, std::string(statement), max_rows);
  } catch (const SqlError& error) {
    throw InvalidArgument("sql", error.what());
  } catch (const ConnectionBroken& broken) { throw StoreUnavailable(settings_.location + ": " + broken.what()); }
}

}  // namespace hapax::store::postgres
