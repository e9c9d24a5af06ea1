#include "base/fault.hpp"
#include "model/labels.hpp"
#include "model/retry.hpp"
#include "store/postgres/admit.hpp"
#include "store/postgres/admit_many.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/result.hpp"
#include "store/postgres/statement.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <set>
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

namespace {

using namespace model;

// Fails with a logarithm of zero, copying nothing, when a catalogue is newer than the requests.
constexpr const char* plain_copy = R"(
SELECT {now} + %lld, coalesce(string_agg(id::text, ','), ''),
       ln(CASE WHEN EXISTS (SELECT FROM {s}.catalogue_versions v WHERE %newer) THEN 0 ELSE 1 END)
FROM {s}.queues WHERE draining;
COPY {s}.live (id, queue_id, task, input, priority, max_attempts, kind, max_lost, run_at, created_at, state, deadline,
               attempt_timeout, retry, effect_key, parent, labels) FROM STDIN (FORMAT binary))";
constexpr std::int16_t plain_columns = 17;

// Copies all items or none: fails with a division by zero when a queue drains, and with a unique violation when an
// identity or a name exists already.
constexpr const char* fresh_copy = R"(
SELECT {now} + %lld, coalesce(string_agg(id || ':' || dedup_window_us, ','), ''), set_config('lock_timeout', '%patience', true),
       1 / min(CASE WHEN draining THEN 0 ELSE 1 END),
       ln(CASE WHEN EXISTS (SELECT FROM {s}.catalogue_versions v WHERE %newer) THEN 0 ELSE 1 END)
FROM {s}.queues WHERE id IN (%queues);
COPY {s}.identities (identity, execution, run, fingerprint, created_at, hold_for, name) FROM STDIN (FORMAT binary);
COPY {s}.live (id, queue_id, task, input, priority, max_attempts, kind, max_lost, run_at, created_at, state, deadline,
               attempt_timeout, retry, effect_key, parent, labels, identity, identity_key) FROM STDIN (FORMAT binary))";
constexpr std::int16_t identity_columns = 7;
constexpr std::int16_t fresh_columns = plain_columns + 2;

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

void put_digest(std::string& out, const base::Digest& digest) {
  put_bytes(out, {reinterpret_cast<const char*>(digest.data()), digest.size()});
}

void put_identity(std::string& out, const NewExecution& item, std::int64_t now, std::optional<std::int64_t> hold_for) {
  put_digest(out, item.identity->hash);
  put_uuid(out, item.id);
  put_number4(out, 1);
  item.identity->fingerprint ? put_digest(out, *item.identity->fingerprint) : put_int32(out, -1);
  put_number8(out, now);
  hold_for ? put_number8(out, *hold_for) : put_int32(out, -1);
  item.identity->name ? put_digest(out, *item.identity->name) : put_int32(out, -1);
}

void replace_once(std::string& text, std::string_view mark, const std::string& by) {
  text.replace(text.find(mark), mark.size(), by);
}

std::int64_t number_at(const char*& at) {
  char* end = nullptr;
  const std::int64_t number = std::strtoll(at, &end, 10);
  at = *end == '\0' ? end : end + 1;  // past a comma or a colon
  return number;
}

std::string literal(Connection& connection, std::string_view text) {
  const std::unique_ptr<char, decltype(&PQfreemem)> quoted(
      PQescapeLiteral(connection.native(), text.data(), text.size()), &PQfreemem);
  if (!quoted) { connection.fail(one_line(PQerrorMessage(connection.native()))); }
  return quoted.get();
}

// A condition on catalogue_versions `v` that finds catalogues newer than the requests.
std::string newer_condition(Connection& connection, const Items& items) {
  std::string text = "false";
  const auto made = made_by(items);
  for (const auto& [ns, version] : made.oldest()) {
    text += " OR (v.ns = " + literal(connection, ns) + " AND v.version > " + std::to_string(version) + ")";
  }
  return text;
}

// The text that goes to the server. The condition is filled in last, so that no mark is searched for in a namespace's
// name.
std::string copy_text(const AdmissionWork& work, std::string text, const Items& items) {
  replace_once(text, "%lld", std::to_string(work.offset_us));
  text = work.connection.sql(text);
  replace_once(text, "%newer", newer_condition(work.connection, items));
  return text;
}

struct Opening {
  std::int64_t now = 0;
  std::set<std::int32_t> draining;
};

Result opening_answer(CopyQuery& query) {
  try {
    return query.answer();
  } catch (const SqlError& error) {
    if (error.is_logarithm_of_zero()) { throw_catalogue_changed(); }
    throw;
  }
}

Opening read_opening(const Result& result) {
  Opening opening;
  const char* at = PQgetvalue(result.get(), 0, 0);
  opening.now = number_at(at);
  at = PQgetvalue(result.get(), 0, 1);
  while (*at != '\0') { opening.draining.insert(static_cast<std::int32_t>(number_at(at))); }
  return opening;
}

void before_commit(Connection& connection) {
  try {
    base::fault_point("postgres.admit.before_commit");
  } catch (const base::FaultInjected& fault) { connection.fail(fault.what()); }
}

std::string queue_list(const std::vector<std::int32_t>& of_items) {
  std::string text;
  for (const std::int32_t id : std::set<std::int32_t>(of_items.begin(), of_items.end())) {
    text += (text.empty() ? "" : ",") + std::to_string(id);
  }
  return text;
}

std::vector<Admission> copy_fresh(const AdmissionWork& work, const Items& items, const std::vector<std::size_t>& order,
                                  Duration patience) {
  std::vector<std::int32_t> queues;
  queues.reserve(items.size());
  BatchQueueIds numbers(work.queues);
  for (const NewExecution* item : items) { queues.push_back(numbers.id(item->queue)); }
  std::string text = fresh_copy;
  replace_once(text, "%patience", lock_timeout_text(patience));
  replace_once(text, "%queues", queue_list(queues));
  CopyQuery query(work.connection, copy_text(work, std::move(text), items));
  std::int64_t now = 0;
  std::unordered_map<std::int32_t, std::int64_t> windows;  // of queues that have a dedup window
  {
    const Result answer = opening_answer(query);
    const char* at = PQgetvalue(answer.get(), 0, 0);
    now = number_at(at);
    at = PQgetvalue(answer.get(), 0, 1);
    while (*at != '\0') {
      const auto queue = static_cast<std::int32_t>(number_at(at));
      windows.emplace(queue, number_at(at));
    }
  }
  query.begin();
  for (const std::size_t i : order) {
    std::optional<std::int64_t> hold_for;
    if (items[i]->identity->dedup_window) {
      hold_for = items[i]->identity->dedup_window->count();
    } else if (const auto window = windows.find(queues[i]); window != windows.end()) {
      hold_for = window->second;
    }
    put_identity(query.row(identity_columns), *items[i], now, hold_for);
  }
  query.rows_end();
  query.end();
  query.begin();
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    std::string& out = query.row(fresh_columns);
    put_row(out, *items[i], queues[i], now);
    put_digest(out, items[i]->identity->hash);
    put_bytes(out, items[i]->identity->key);
    admissions.push_back({.id = items[i]->id, .created_at = Time(Duration(now))});
  }
  query.rows_end();
  before_commit(work.connection);
  query.end();
  query.finish();
  return admissions;
}

}  // namespace

std::vector<Admission> admit_by_copy(const AdmissionWork& work, const Items& items) {
  CopyQuery query(work.connection, copy_text(work, plain_copy, items));
  const Opening opening = read_opening(opening_answer(query));
  query.begin();
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  BatchQueueIds numbers(work.queues);
  for (const NewExecution* item : items) {
    const std::int32_t queue_id = numbers.id(item->queue);
    if (opening.draining.contains(queue_id)) {
      admissions.push_back({.verdict = AdmissionVerdict::queue_draining});
      continue;
    }
    put_row(query.row(plain_columns), *item, queue_id, opening.now);
    admissions.push_back({.id = item->id, .created_at = Time(Duration(opening.now))});
  }
  query.rows_end();
  before_commit(work.connection);
  query.end();
  query.finish();
  return admissions;
}

std::optional<std::vector<Admission>> copy_new_identities(const AdmissionWork& work, const Items& items,
                                                          Duration patience, bool& met) {
  if (!std::ranges::all_of(items,
                           [](const NewExecution* item) { return item->identity && !throttle_of(*item->identity); })) {
    return std::nullopt;
  }
  const auto order = by_identity(items);
  if (!order) { return std::nullopt; }
  try {
    return copy_fresh(work, items, *order, patience);
  } catch (const SqlError& error) {
    // An id that exists already was admitted by an earlier try.
    met = error.is_division_by_zero() || error.is_unique_violation();
    if (!met) { throw; }
  }
  return std::nullopt;
}

}  // namespace hapax::store::postgres
