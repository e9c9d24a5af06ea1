// CopyQuery: a SELECT and one or more COPY … FROM STDIN (FORMAT binary), sent as one simple query.
//
// The simple query is one transaction, committed when the last COPY has ended. A refused statement throws SqlError when
// its error arrives, at the latest from finish(); then nothing was kept and the connection is usable. For one thread.
//
//   CopyQuery query(connection, "SELECT …; COPY a …; COPY b …");
//   answer(); begin(); row()…; rows_end(); end(); begin(); row()…; rows_end(); end(); finish();
#pragma once

#include "store/postgres/connection.hpp"

#include <cstdint>
#include <string>

namespace hapax::store::postgres {

class CopyQuery {
 public:
  CopyQuery(Connection& connection, const std::string& text);
  CopyQuery(const CopyQuery&) = delete;
  CopyQuery& operator=(const CopyQuery&) = delete;

  // The result of the SELECT, as text.
  [[nodiscard]] Result answer();
  void begin();
  // The buffer to which the caller appends a row of `columns` columns.
  [[nodiscard]] std::string& row(std::int16_t columns);
  void rows_end();
  // Ends the current COPY. After the last one the server commits.
  void end();
  // Waits for the commit.
  void finish();

 private:
  void put();
  [[noreturn]] void refuse(const Result& result);

  Connection& connection_;
  const Connection::AnswerLimit patience_;
  std::string buffer_;
};

}  // namespace hapax::store::postgres
