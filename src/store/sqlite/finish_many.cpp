// Finishes many executions that complete at once. The first statement checks that none of them needs more than moving
// its row; if one does, each is finished by itself (finish.cpp). SQLite copies the columns of their rows from live to
// history.
#include "model/retention.hpp"
#include "store/sqlite/many_rows.hpp"
#include "store/sqlite/verbs.hpp"

#include <array>

namespace hapax::store::sqlite {

namespace {

constexpr const char* first_sql = "SELECT queue_id, kind, session FROM live WHERE id = ?";
constexpr const char* forget_sql = "DELETE FROM history WHERE id = ?";

const ManyRows& plain_many() {
  static const ManyRows& many = *new ManyRows(
      "SELECT count(*) FROM {rows} v CROSS JOIN live l ON l.id = v.column1 AND l.fence = v.column2 AND l.state = 1"
      " WHERE l.queue_id = ?1 AND l.kind = ?2 AND l.session = ?3 AND l.limit_key IS NULL"
      " AND ifnull(l.counted, 0) = 0 AND ifnull(l.superseded, 0) = 0 AND ifnull(l.waited, 0) = 0",
      3, 2);
  return many;
}

// OR FAIL keeps the rows before the one that conflicts, and spares SQLite a copy of every page that it changes.
const ManyRows& history_many() {
  static const ManyRows& many = *new ManyRows("INSERT OR FAIL INTO history(" + columns::names(columns::copied_columns) +
                                                  ", expires_at, status, finish_kind, dead, superseded, session, "
                                                  "started_at, finished_at, worker, result)"
                                                  " SELECT " +
                                                  columns::names(columns::copied_columns, "l.") +
                                                  ", ?1, ?2, ?3, 0, 0, l.session, v.column2, ?4, ?5, v.column3"
                                                  " FROM {rows} v CROSS JOIN live l ON l.id = v.column1",
                                              5, 3);
  return many;
}

const ManyRows& delete_many() {
  static const ManyRows& many = *new ManyRows("DELETE FROM live WHERE id IN {rows}", 0, 1);
  return many;
}

// The values that all the executions share.
struct Common {
  std::int64_t queue_id = 0;
  Kind kind = Kind::task;
  Uuid session;
};

std::optional<Common> common_of(WriteTransaction& tx, std::span<const Finish> finishes) {
  Common common;
  {
    Cursor first = tx.db().use(first_sql);
    if (!first.bind(finishes.front().id).next() || first.is_null(2)) { return std::nullopt; }
    common = {.queue_id = first.integer(0), .kind = static_cast<Kind>(first.small(1)), .session = first.uuid(2)};
  }
  if (common.kind == Kind::guard) { return std::nullopt; }
  Cursor cursor = tx.db().use(plain_many().sql(finishes.size()));
  cursor.bind(common.queue_id, static_cast<int>(common.kind), common.session);
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    cursor.put(plain_many().before(i) + 1, finishes[i].id);
    cursor.put(plain_many().before(i) + 2, finishes[i].fence);
  }
  return cursor.next() && cursor.integer(0) == std::ssize(finishes) ? std::optional(common) : std::nullopt;
}

// Returns how many rows were inserted before one that existed already.
std::size_t insert_history(WriteTransaction& tx, std::span<const Finish> finishes, const Common& common,
                           Time expires_at) {
  const std::string* const worker = tx.worker_of(common.session);
  Cursor cursor = tx.db().use(history_many().sql(finishes.size()));
  cursor.bind(expires_at, static_cast<int>(Status::completed), static_cast<int>(FinishKind::completed), tx.now(),
              worker != nullptr ? std::optional<std::string_view>(*worker) : std::nullopt);
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    int parameter = history_many().before(i);
    cursor.put(++parameter, finishes[i].id);
    cursor.put(++parameter, tx.now() - finishes[i].ran_for);
    cursor.put(++parameter, finishes[i].result);
  }
  return cursor.run_unless_taken() ? finishes.size() : static_cast<std::size_t>(tx.db().changes());
}

}  // namespace

bool completes_plainly(const Finish& finish) {
  return finish.kind == FinishKind::completed && !finish.keep &&
         (!finish.turn || (!finish.turn->next && !starts_something(finish.turn->entries)));
}

bool complete_together(WriteTransaction& tx, std::span<const Finish> finishes) {
  const std::optional<Common> common = common_of(tx, finishes);
  if (!common) { return false; }
  const Expiry kept_until =
      expiry(tx.queues().by_id(common->queue_id).settings, common->kind, Status::completed, std::nullopt, tx.now());
  if (kept_until.stub) { return false; }
  std::vector<JournalRow> entries;
  for (const Finish& finish : finishes) {
    if (finish.turn) { add_rows(entries, finish.id, finish.fence, finish.turn->entries); }
  }
  if (!append_rows(tx, entries)) { return false; }
  const std::size_t made = insert_history(tx, finishes, *common, kept_until.at);
  if (made < finishes.size()) {
    // An id was admitted once more after its first execution had ended, or two of the outcomes are of one execution.
    for (const Finish& finish : finishes.first(made)) { tx.db().use(forget_sql).bind(finish.id).run(); }
    take_back_rows(tx, entries);
    return false;
  }
  Cursor cursor = tx.db().use(delete_many().sql(finishes.size()));
  for (std::size_t i = 0; i < finishes.size(); ++i) { cursor.put(static_cast<int>(i) + 1, finishes[i].id); }
  cursor.run();
  for (const Finish& finish : finishes) { tx.note_expiry(finish.id, kept_until.at); }
  return true;
}

}  // namespace hapax::store::sqlite
