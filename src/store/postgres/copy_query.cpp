#include "store/postgres/copy_query.hpp"

#include "store/postgres/durability.hpp"
#include "store/postgres/params.hpp"
#include "store/postgres/sql_error.hpp"

namespace hapax::store::postgres {

namespace {

constexpr std::size_t chunk_bytes = 256 << 10;

}  // namespace

CopyQuery::CopyQuery(Connection& connection, const std::string& text) : connection_(connection), patience_(connection) {
  const std::string whole = std::string(durability_text) + ";" + text;
  if (PQsendQuery(connection_.native(), whole.c_str()) == 0) {
    connection_.fail(one_line(PQerrorMessage(connection_.native())));
  }
  connection_.flush();
}

Result CopyQuery::answer() {
  Result answer;
  for (int results = 0; results < 2; ++results) {  // the durability's, then the SELECT's
    answer = connection_.next_result();
    if (answer.get() == nullptr || PQresultStatus(answer.get()) != PGRES_TUPLES_OK) { refuse(answer); }
  }
  return answer;
}

void CopyQuery::begin() {
  Result next = connection_.next_result();
  // The end of the previous COPY.
  if (next.get() != nullptr && PQresultStatus(next.get()) == PGRES_COMMAND_OK) { next = connection_.next_result(); }
  if (next.get() == nullptr || PQresultStatus(next.get()) != PGRES_COPY_IN) { refuse(next); }
  static constexpr char signature[] = "PGCOPY\n\377\r\n";
  buffer_.assign(signature, sizeof(signature));  // the signature ends with a zero byte
  put_int32(buffer_, 0);
  put_int32(buffer_, 0);
}

std::string& CopyQuery::row(std::int16_t columns) {
  if (buffer_.size() >= chunk_bytes) { put(); }
  put_int16(buffer_, columns);
  return buffer_;
}

void CopyQuery::rows_end() {
  put_int16(buffer_, -1);
  put();
}

void CopyQuery::end() {
  while (true) {
    const int ended = PQputCopyEnd(connection_.native(), nullptr);
    if (ended < 0) { connection_.fail(one_line(PQerrorMessage(connection_.native()))); }
    connection_.flush();
    if (ended == 1) { return; }
  }
}

// Throws the first error.
void CopyQuery::finish() {
  Result error;
  while (true) {
    Result result = connection_.next_result();
    if (result.get() == nullptr) { break; }
    if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR && error.get() == nullptr) {
      error = std::move(result);
      if (PQstatus(connection_.native()) != CONNECTION_OK) { break; }
    }
  }
  if (error.get() != nullptr) { connection_.check(error); }
}

void CopyQuery::put() {
  while (true) {
    const int sent = PQputCopyData(connection_.native(), buffer_.data(), static_cast<int>(buffer_.size()));
    if (sent < 0) { connection_.fail(one_line(PQerrorMessage(connection_.native()))); }
    connection_.flush();
    if (sent == 1) { break; }
  }
  buffer_.clear();
}

void CopyQuery::refuse(const Result& result) {
  finish();
  connection_.check(result);
  connection_.fail("no answer to a copy");
}

}  // namespace hapax::store::postgres
