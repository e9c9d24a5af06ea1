#include "store/sqlite/queue_table.hpp"

#include <hapax/error.hpp>

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

#define HAPAX_QUEUE_COLUMNS "id, ns, name, paused, draining, retention_us, failed_retention_us"

constexpr const char* by_ref_sql = "SELECT " HAPAX_QUEUE_COLUMNS " FROM queues WHERE ns = ? AND name = ?";
constexpr const char* by_id_sql = "SELECT " HAPAX_QUEUE_COLUMNS " FROM queues WHERE id = ?";
constexpr const char* insert_sql = "INSERT INTO queues(ns, name, retention_us) VALUES (?, ?, ?)";
constexpr const char* update_sql =
    "UPDATE queues SET paused = ?, draining = ?, retention_us = ?, failed_retention_us = ? WHERE id = ?";

#undef HAPAX_QUEUE_COLUMNS

}  // namespace

const QueueRow& QueueTable::keep(Cursor& cursor) {
  QueueRow& row = known_.emplace_back();
  row.id = cursor.integer(0);
  row.ref = {.ns = cursor.string(1), .name = cursor.string(2)};
  row.settings = {.paused = cursor.flag(3),
                  .draining = cursor.flag(4),
                  .retention = cursor.duration(5),
                  .failed_retention = cursor.optional(6, &Cursor::duration)};
  return row;
}

const QueueRow* QueueTable::find(const model::QueueRef& ref) {
  if (last_ != nullptr && last_->ref == ref) { return last_; }
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const QueueRow& row) { return row.ref == ref; });
  if (known != known_.end()) { return last_ = &*known; }
  Cursor cursor = db_.use(by_ref_sql);
  cursor.bind(ref.ns, ref.name);
  return cursor.next() ? &keep(cursor) : nullptr;
}

const QueueRow& QueueTable::get(const model::QueueRef& ref) {
  if (const QueueRow* const row = find(ref)) { return *row; }
  QueueRow& row = known_.emplace_back();
  row.ref = ref;
  db_.use(insert_sql).bind(ref.ns, ref.name, row.settings.retention).run();
  row.id = sqlite3_last_insert_rowid(db_.handle());
  return row;
}

const QueueRow& QueueTable::by_id(std::int64_t id) {
  if (last_ != nullptr && last_->id == id) { return *last_; }
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const QueueRow& row) { return row.id == id; });
  if (known != known_.end()) { return *(last_ = &*known); }
  Cursor cursor = db_.use(by_id_sql);
  cursor.bind(id);
  if (!cursor.next()) {
    throw StoreUnavailable("SQLite store " + db_.path() + ": queue number " + std::to_string(id) + " is missing");
  }
  return keep(cursor);
}

void QueueTable::save(const QueueRow& row) {
  const model::QueueSettings& settings = row.settings;
  db_.use(update_sql)
      .bind(settings.paused, settings.draining, settings.retention, settings.failed_retention, row.id)
      .run();
  last_ = nullptr;
  std::erase_if(known_, [&](const QueueRow& known) { return known.id == row.id; });
}

}  // namespace hapax::store::sqlite
