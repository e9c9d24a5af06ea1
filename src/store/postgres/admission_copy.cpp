#include "store/postgres/admission.hpp"

#include "base/fault.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/postgres/insert_rows.hpp"
#include "store/postgres/sql_error.hpp"

#include <set>

namespace hapax::store::postgres {

namespace {

using namespace model;

// Both statements travel as one simple query and so are one transaction, committed when the copy has ended.
constexpr const char* begin_copy = R"(
SELECT {now} + %lld, coalesce(string_agg(id::text, ','), '') FROM {s}.queues WHERE draining;
COPY {s}.live (id, queue_id, task, input, priority, max_attempts, kind, max_lost, run_at, created_at, state, deadline,
               attempt_timeout, retry, effect_key, parent, labels) FROM STDIN (FORMAT binary))";
constexpr std::int16_t copied_columns = 17;
constexpr std::size_t chunk_bytes = 256 << 10;

void put_bytes(std::string& out, std::string_view bytes) {
  put_int32(out, static_cast<std::int32_t>(bytes.size()));
  out.append(bytes);
}

void put_optional(std::string& out, const std::optional<std::string>& bytes) {
  bytes ? put_bytes(out, *bytes) : put_int32(out, -1);
}

void put_number2(std::string& out, int value) {
  put_int32(out, 2);
  put_int16(out, static_cast<std::int16_t>(value));
}

void put_number4(std::string& out, std::int32_t value) {
  put_int32(out, 4);
  put_int32(out, value);
}

void put_number8(std::string& out, std::int64_t value) {
  put_int32(out, 8);
  put_int64(out, value);
}

void put_uuid(std::string& out, const Uuid& id) {
  put_bytes(out, {reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size()});
}

void put_row(std::string& out, const NewExecution& item, std::int32_t queue_id, std::int64_t now) {
  const std::int64_t due = item.run_at ? item.run_at->time_since_epoch().count() : now + item.delay.count();
  put_int16(out, copied_columns);
  put_uuid(out, item.id);
  put_number4(out, queue_id);
  put_bytes(out, item.task);
  put_bytes(out, item.input);
  put_number2(out, item.priority);
  put_number4(out, item.max_attempts);
  put_number2(out, static_cast<int>(item.kind));
  put_number4(out, item.max_lost);
  put_number8(out, due);
  put_number8(out, now);
  put_number2(out, due > now ? 2 : 0);
  item.deadline ? put_number8(out, now + item.deadline->count()) : put_int32(out, -1);
  item.attempt_timeout ? put_number8(out, item.attempt_timeout->count()) : put_int32(out, -1);
  put_optional(out, item.retry ? std::optional(encode_retry(*item.retry)) : std::nullopt);
  put_optional(out, item.effect_key);
  item.parent ? put_uuid(out, *item.parent) : put_int32(out, -1);
  put_optional(out, encode_labels(item.labels));
}

struct Opening {
  std::int64_t now = 0;
  std::set<std::int32_t> draining;
};

Opening read_opening(const Result& result) {
  Opening opening;
  opening.now = std::strtoll(PQgetvalue(result.get(), 0, 0), nullptr, 10);
  const char* at = PQgetvalue(result.get(), 0, 1);
  while (*at != '\0') {
    char* end = nullptr;
    opening.draining.insert(static_cast<std::int32_t>(std::strtol(at, &end, 10)));
    at = *end == ',' ? end + 1 : end;
  }
  return opening;
}

void put_data(Connection& connection, std::string& buffer) {
  while (true) {
    const int sent = PQputCopyData(connection.native(), buffer.data(), static_cast<int>(buffer.size()));
    if (sent < 0) { connection.fail(one_line(PQerrorMessage(connection.native()))); }
    connection.flush();
    if (sent == 1) { break; }
  }
  buffer.clear();
}

void put_end(Connection& connection) {
  while (true) {
    const int ended = PQputCopyEnd(connection.native(), nullptr);
    if (ended < 0) { connection.fail(one_line(PQerrorMessage(connection.native()))); }
    connection.flush();
    if (ended == 1) { return; }
  }
}

// Reads to the end of the simple query; the first error counts.
void finish_query(Connection& connection) {
  Result error;
  while (true) {
    Result result = connection.next_result();
    if (result.get() == nullptr) { break; }
    if (PQresultStatus(result.get()) == PGRES_FATAL_ERROR && error.get() == nullptr) {
      error = std::move(result);
      if (PQstatus(connection.native()) != CONNECTION_OK) { break; }
    }
  }
  if (error.get() != nullptr) { connection.check(error); }
}

}  // namespace

std::vector<Admission> admit_by_copy(const AdmissionWork& work, const Items& items) {
  Connection& connection = work.connection;
  std::string text = connection.sql(begin_copy);
  text.replace(text.find("%lld"), 4, std::to_string(work.offset_us));
  if (PQsendQuery(connection.native(), text.c_str()) == 0) {
    connection.fail(one_line(PQerrorMessage(connection.native())));
  }
  connection.flush();
  const Result first = connection.next_result();
  if (first.get() == nullptr || PQresultStatus(first.get()) != PGRES_TUPLES_OK) {
    finish_query(connection);
    connection.check(first);
    connection.fail("no answer to the opening of a copy");
  }
  const Opening opening = read_opening(first);
  const Result copy = connection.next_result();
  if (copy.get() == nullptr || PQresultStatus(copy.get()) != PGRES_COPY_IN) {
    finish_query(connection);
    connection.check(copy);
    connection.fail("the server did not begin the copy");
  }
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  static constexpr char signature[] = "PGCOPY\n\377\r\n";
  std::string buffer(signature, sizeof(signature));  // the signature ends with a zero byte
  put_int32(buffer, 0);
  put_int32(buffer, 0);
  BatchQueueIds numbers(work.queues);
  for (const NewExecution* item : items) {
    const std::int32_t queue_id = numbers.id(item->queue);
    if (opening.draining.contains(queue_id)) {
      admissions.push_back({.verdict = AdmissionVerdict::queue_draining});
      continue;
    }
    put_row(buffer, *item, queue_id, opening.now);
    admissions.push_back({.id = item->id, .created_at = Time(Duration(opening.now))});
    if (buffer.size() >= chunk_bytes) { put_data(connection, buffer); }
  }
  put_int16(buffer, -1);
  put_data(connection, buffer);
  try {
    base::fault_point("postgres.admit.before_commit");
  } catch (const base::FaultInjected& fault) { connection.fail(fault.what()); }
  put_end(connection);
  finish_query(connection);
  return admissions;
}

}  // namespace hapax::store::postgres
