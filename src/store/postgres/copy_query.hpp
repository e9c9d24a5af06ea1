// CopyQuery: a question and one or more COPY … FROM STDIN (FORMAT binary), sent as one simple query.
//
// So they are one transaction, which is committed when the last copy has ended. A refused statement throws SqlError when the
// server has told of it, at the latest from finish(); then nothing was kept, and the connection is usable. One thread.
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

  // What the question was answered, as text.
  [[nodiscard]] Result answer();
  void begin();
  // The buffer that a row of so many columns is to be appended to.
  [[nodiscard]] std::string& row(std::int16_t columns);
  void rows_end();
  // After the last copy's the server commits.
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
