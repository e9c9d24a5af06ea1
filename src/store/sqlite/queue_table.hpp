// QueueTable: the queues as one write transaction sees them, each read once.
#pragma once

#include "model/execution.hpp"
#include "store/sqlite/connection.hpp"

#include <deque>

namespace hapax::store::sqlite {

struct QueueRow {
  std::int64_t id = 0;
  model::QueueRef ref;
  model::QueueSettings settings;

  // How long what ended so is kept.
  [[nodiscard]] Duration kept(Status status) const {
    return status == Status::completed ? settings.retention : settings.failed_retention.value_or(settings.retention);
  }
};

class QueueTable {
 public:
  explicit QueueTable(Connection& db) : db_(db) {}

  // Null when nobody has used the queue yet. Pointers stay good for the transaction.
  [[nodiscard]] const QueueRow* find(const model::QueueRef& ref);
  // Made if need be.
  [[nodiscard]] const QueueRow& get(const model::QueueRef& ref);
  [[nodiscard]] const QueueRow& by_id(std::int64_t id);
  void save(const QueueRow& row);

 private:
  const QueueRow& keep(Cursor& cursor);

  Connection& db_;
  std::deque<QueueRow> known_;
  const QueueRow* last_ = nullptr;  // most batches are for one queue
};

}  // namespace hapax::store::sqlite
