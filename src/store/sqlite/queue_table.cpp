#include "store/sqlite/queue_table.hpp"

#include "base/text.hpp"
#include "store/sqlite/sqlite_error.hpp"

#include "model/claim_limits.hpp"
#include "model/retention.hpp"

#include <hapax/error.hpp>

#include <algorithm>

namespace hapax::store::sqlite {

namespace {

constexpr const char* by_ref_sql = "SELECT " HAPAX_QUEUE_COLUMNS " FROM queues WHERE ns = ? AND name = ?";
constexpr const char* by_id_sql = "SELECT " HAPAX_QUEUE_COLUMNS " FROM queues WHERE id = ?";
constexpr const char* queue_table_insert_sql = "INSERT INTO queues(ns, name, retention_us) VALUES (?, ?, ?)";
constexpr const char* queue_table_settings_sql =
    "UPDATE queues SET paused = ?, draining = ?, retention_us = ?, retention_given = ?, failed_retention_us = ?,"
    " dedup_window_us = ?, limits = nullif(?, '') WHERE id = ?";
constexpr const char* keyed_sql = "UPDATE queues SET keyed = 1 WHERE id = ?";
constexpr const char* arrival_sql = "UPDATE queues SET rate_arrival = ? WHERE id = ?";

}  // namespace

QueueRow read_queue(const Cursor& cursor) {
  QueueRow row;
  row.id = cursor.integer(0);
  row.ref = {.namespace_name = cursor.string(1), .name = cursor.string(2)};
  row.settings.paused = cursor.flag(3);
  row.settings.draining = cursor.flag(4);
  if (cursor.flag(6)) { row.settings.retention = cursor.duration(5); }
  row.settings.failed_retention = cursor.optional(7, &Cursor::duration);
  row.settings.dedup_window = cursor.optional(8, &Cursor::duration);
  if (!cursor.is_null(9)) { row.settings.limits = model::decode_limits(cursor.text(9)); }
  row.keyed = cursor.flag(10);
  row.rate_arrival = cursor.optional(11, &Cursor::time);
  return row;
}

const QueueRow& QueueTable::keep(const Cursor& cursor) { return known_.emplace_back(read_queue(cursor)); }

const QueueRow* QueueTable::find(const model::QueueRef& ref) {
  if (last_ != nullptr && last_->ref == ref) { return last_; }
  const auto known = std::find_if(known_.begin(), known_.end(), [&](const QueueRow& row) { return row.ref == ref; });
  if (known != known_.end()) { return last_ = &*known; }
  Cursor cursor = db_.use(by_ref_sql);
  cursor.bind(ref.namespace_name, ref.name);
  return cursor.next() ? &keep(cursor) : nullptr;
}

const QueueRow& QueueTable::get(const model::QueueRef& ref) {
  if (const QueueRow* const row = find(ref)) { return *row; }
  QueueRow& row = known_.emplace_back();
  row.ref = ref;
  db_.use(queue_table_insert_sql).bind(ref.namespace_name, ref.name, model::task_retention).run();
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
    throw BadRow("SQLite store " + base::echo(db_.path()) + ": queue number " + std::to_string(id) + " is missing");
  }
  return keep(cursor);
}

QueueRow& QueueTable::own(const QueueRow& row) {
  return *std::find_if(known_.begin(), known_.end(), [&](const QueueRow& known) { return known.id == row.id; });
}

void QueueTable::save_settings(const QueueRow& row, const model::QueueSettings& settings) {
  db_.use(queue_table_settings_sql)
      .bind(settings.paused, settings.draining, settings.retention.value_or(model::task_retention),
            settings.retention.has_value(), settings.failed_retention, settings.dedup_window,
            model::encode_limits(settings.limits), row.id)
      .run();
  own(row).settings = settings;
}

void QueueTable::mark_keyed(const QueueRow& row) {
  if (row.keyed) { return; }
  db_.use(keyed_sql).bind(row.id).run();
  own(row).keyed = true;
}

void QueueTable::save_arrival(const QueueRow& row, const std::optional<Time>& arrival) {
  db_.use(arrival_sql).bind(arrival, row.id).run();
  own(row).rate_arrival = arrival;
}

}  // namespace hapax::store::sqlite
