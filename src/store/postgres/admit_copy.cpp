#include "base/sha256.hpp"
#include "store/postgres/admit.hpp"
#include "store/postgres/admit_many.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/live_row.hpp"
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
  for (int results = 0; results < 2; ++results) {  // of the durability statement and of the SELECT
    answer = connection_.next_result();
    if (answer.get() == nullptr || PQresultStatus(answer.get()) != PGRES_TUPLES_OK) { refuse(answer); }
  }
  return answer;
}

void CopyQuery::begin() {
  Result next = connection_.next_result();
  // Skips the result of the previous COPY.
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

// The second column says whether a stored catalogue is newer than the requests; if so, nothing is copied.
constexpr const char* plain_copy = R"(
SELECT {now} + %lld, EXISTS (SELECT FROM {s}.catalogue_versions v WHERE %newer), coalesce(string_agg(id::text, ','), '')
FROM {s}.queues WHERE draining;
COPY {s}.live (%columns) FROM STDIN (FORMAT binary))";

// Copies all items, or none when a catalogue is newer, a queue drains, or an identity or a name exists already, as the
// second to the fourth column say. An identity that another transaction commits meanwhile is a unique violation.
constexpr const char* fresh_copy = R"(
SELECT {now} + %lld, EXISTS (SELECT FROM {s}.catalogue_versions v WHERE %newer), coalesce(bool_or(draining), false),
       EXISTS (SELECT FROM {s}.identities i WHERE i.identity = %identities)%named,
       coalesce(string_agg(id || ':' || dedup_window_us, ','), ''), set_config('lock_timeout', '%patience', true)
FROM {s}.queues WHERE id IN (%queues);
COPY {s}.identities (identity, execution, run, fingerprint, created_at, hold_for, name) FROM STDIN (FORMAT binary);
COPY {s}.live (%columns) FROM STDIN (FORMAT binary))";
constexpr std::int16_t identity_columns = 7;

void put_identity(std::string& out, Array& fields, const NewRow& row, std::int64_t now,
                  std::optional<std::int64_t> hold_for) {
  fields.digest(row.item->identity->hash);
  fields.uuid(row.item->id);
  fields.int4(row.run);
  inputs::fingerprint.put(fields, row);
  fields.int8(now);
  fields.optional_int8(hold_for);
  inputs::name.put(fields, row);
  out.append(fields.elements());
  fields.clear();
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
  for (const auto& [namespace_name, version] : made.oldest()) {
    text += " OR (v.ns = " + literal(connection, namespace_name) + " AND v.version > " + std::to_string(version) + ")";
  }
  return text;
}

// "ANY (array)" of hashes. Base 16 needs no backslashes, whose meaning depends on a setting of the server.
template <class Hashes>
std::string any_hash(const Hashes& hashes) {
  std::string list;
  for (const base::Digest& hash : hashes) { list += (list.empty() ? "" : ",") + base::to_hex(hash); }
  return "ANY (ARRAY(SELECT decode(hex, 'hex') FROM unnest('{" + list + "}'::text[]) hex))";
}

std::string any_identity(const Items& items, const std::vector<std::size_t>& order) {
  std::vector<base::Digest> identities;
  identities.reserve(items.size());
  for (const std::size_t i : order) { identities.push_back(items[i]->identity->hash); }
  return any_hash(identities);
}

// Nothing when no item has a name.
std::string or_any_name(const Items& items) {
  std::set<base::Digest> names;
  for (const NewExecution* item : items) {
    if (item->identity->name) { names.insert(*item->identity->name); }
  }
  return names.empty() ? "" : " OR EXISTS (SELECT FROM {s}.identities i WHERE i.name = " + any_hash(names) + ")";
}

// The text to send. The condition is filled in last, because it has namespaces' names, which may contain a mark.
std::string copy_text(const AdmissionWork& work, std::string text, const Items& items) {
  replace_once(text, "%lld", std::to_string(work.offset_us));
  text = work.connection.sql(text);
  replace_once(text, "%newer", newer_condition(work.connection, items));
  return text;
}

struct Opening {
  std::int64_t now = 0;
  bool catalogue_is_newer = false;
  bool drains = false;
  bool is_taken = false;              // one of the identities or names
  std::vector<std::int64_t> numbers;  // ids of draining queues; or id and dedup window of each queue that has one
};

bool is_true(const Result& answer, int column) { return *PQgetvalue(answer.get(), 0, column) == 't'; }

Opening read_opening(CopyQuery& query, bool keyed) {
  const Result answer = query.answer();
  Opening opening;
  const char* at = PQgetvalue(answer.get(), 0, 0);
  opening.now = number_at(at);
  opening.catalogue_is_newer = is_true(answer, 1);
  opening.drains = keyed && is_true(answer, 2);
  opening.is_taken = keyed && is_true(answer, 3);
  at = PQgetvalue(answer.get(), 0, keyed ? 4 : 2);
  while (*at != '\0') { opening.numbers.push_back(number_at(at)); }
  return opening;
}

// Ends the query without a row.
void copy_nothing(CopyQuery& query, int copies) {
  for (int copy = 0; copy < copies; ++copy) {
    query.begin();
    query.rows_end();
    query.end();
  }
  query.finish();
}

std::vector<NewRow> rows_of(const Items& items, const QueueIds& queues) {
  std::vector<NewRow> rows;
  rows.reserve(items.size());
  for (const NewExecution* item : items) { rows.push_back({.item = item}); }
  set_queue_ids(rows, queues);
  return rows;
}

std::string queue_list(const std::vector<NewRow>& rows) {
  std::set<std::int32_t> ids;
  for (const NewRow& row : rows) { ids.insert(row.queue_id); }
  std::string text;
  for (const std::int32_t id : ids) { text += (text.empty() ? "" : ",") + std::to_string(id); }
  return text;
}

// Copies nothing and returns nothing when there is an obstacle.
std::optional<std::vector<Admission>> copy_fresh(const AdmissionWork& work, const Items& items,
                                                 const std::vector<std::size_t>& order, Duration patience,
                                                 Obstacle& obstacle) {
  const std::vector<NewRow> rows = rows_of(items, work.queues);
  std::string text = fresh_copy;
  replace_once(text, "%patience", lock_timeout_text(patience));
  replace_once(text, "%queues", queue_list(rows));
  replace_once(text, "%columns", copied_columns(Insert::copy_keyed));
  replace_once(text, "%identities", any_identity(items, order));
  replace_once(text, "%named", or_any_name(items));
  CopyQuery query(work.connection, copy_text(work, std::move(text), items));
  const Opening opening = read_opening(query, true);
  if (opening.catalogue_is_newer || opening.drains || opening.is_taken) {
    copy_nothing(query, 2);
    if (opening.catalogue_is_newer) { throw_catalogue_changed(); }
    obstacle = opening.drains ? Obstacle::draining : Obstacle::held;
    return std::nullopt;
  }
  const std::int64_t now = opening.now;
  std::unordered_map<std::int32_t, std::int64_t> windows;
  for (std::size_t i = 0; i + 1 < opening.numbers.size(); i += 2) {
    windows.emplace(static_cast<std::int32_t>(opening.numbers[i]), opening.numbers[i + 1]);
  }
  const std::int16_t columns = count_copied(Insert::copy_keyed);
  Array fields(Type::bytea, 32);
  query.begin();
  for (const std::size_t i : order) {
    std::optional<std::int64_t> hold_for;
    if (items[i]->identity->dedup_window) {
      hold_for = items[i]->identity->dedup_window->count();
    } else if (const auto window = windows.find(rows[i].queue_id); window != windows.end()) {
      hold_for = window->second;
    }
    put_identity(query.row(identity_columns), fields, rows[i], now, hold_for);
  }
  query.rows_end();
  query.end();
  query.begin();
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  for (std::size_t i = 0; i < items.size(); ++i) {
    put_copied(query.row(columns), fields, Insert::copy_keyed, rows[i], now);
    admissions.push_back({.id = items[i]->id, .created_at = Time(Duration(now))});
  }
  query.rows_end();
  work.connection.fault_point("postgres.admit.before_commit");
  query.end();
  query.finish();
  return admissions;
}

}  // namespace

std::vector<Admission> admit_by_copy(const AdmissionWork& work, const Items& items) {
  std::string text = plain_copy;
  replace_once(text, "%columns", copied_columns(Insert::copy));
  CopyQuery query(work.connection, copy_text(work, std::move(text), items));
  const Opening opening = read_opening(query, false);
  if (opening.catalogue_is_newer) {
    copy_nothing(query, 1);
    throw_catalogue_changed();
  }
  const std::set<std::int64_t> draining(opening.numbers.begin(), opening.numbers.end());
  query.begin();
  const std::int16_t columns = count_copied(Insert::copy);
  Array fields(Type::bytea, 32);
  std::vector<Admission> admissions;
  admissions.reserve(items.size());
  for (const NewRow& row : rows_of(items, work.queues)) {
    if (draining.contains(row.queue_id)) {
      admissions.push_back({.verdict = AdmissionVerdict::queue_draining});
      continue;
    }
    put_copied(query.row(columns), fields, Insert::copy, row, opening.now);
    admissions.push_back({.id = row.item->id, .created_at = Time(Duration(opening.now))});
  }
  query.rows_end();
  work.connection.fault_point("postgres.admit.before_commit");
  query.end();
  query.finish();
  return admissions;
}

std::optional<std::vector<Admission>> copy_new_identities(const AdmissionWork& work, const Items& items,
                                                          Duration patience, Obstacle& obstacle) {
  if (!std::ranges::all_of(items,
                           [](const NewExecution* item) { return item->identity && !throttle_of(*item->identity); })) {
    return std::nullopt;
  }
  const auto order = by_identity(items);
  if (!order) { return std::nullopt; }
  try {
    return copy_fresh(work, items, *order, patience, obstacle);
  } catch (const SqlError& error) {
    // An id that exists already was admitted by an earlier try.
    if (!error.is_unique_violation()) { throw; }
    obstacle = Obstacle::held;
  }
  return std::nullopt;
}

}  // namespace hapax::store::postgres
