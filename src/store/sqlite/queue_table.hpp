// QueueTable: the queues that one write transaction uses, each read once.
#pragma once

#include "model/execution.hpp"
#include "store/sqlite/connection.hpp"

#include <deque>

namespace hapax::store::sqlite {

struct QueueRow {
  std::int64_t id = 0;
  model::QueueRef ref;
  model::QueueSettings settings;
  bool keyed = false;                // an execution with a limit key was admitted once
  std::optional<Time> rate_arrival;  // the rate limit's state

  // Whether claims must check the queue's limits.
  [[nodiscard]] bool limited() const { return keyed || settings.limits != model::QueueLimits{}; }
  // Whether the queue's running executions must be counted.
  [[nodiscard]] bool counts_running() const {
    return settings.limits.concurrency.has_value() || settings.limits.worker_concurrency.has_value();
  }
};

// The columns of `queues` in the order read_queue wants them.
#define HAPAX_QUEUE_COLUMNS                                                                                       \
  "id, ns, name, paused, draining, retention_us, retention_given, failed_retention_us, dedup_window_us, limits, " \
  "keyed, rate_arrival"

[[nodiscard]] QueueRow read_queue(const Cursor& cursor);

class QueueTable {
 public:
  explicit QueueTable(Connection& db) : db_(db) {}

  // Null when the queue has never been used. Pointers stay valid for the transaction.
  [[nodiscard]] const QueueRow* find(const model::QueueRef& ref);
  // Creates the queue if it does not exist.
  [[nodiscard]] const QueueRow& get(const model::QueueRef& ref);
  [[nodiscard]] const QueueRow& by_id(std::int64_t id);
  void save_settings(const QueueRow& row, const model::QueueSettings& settings);
  void mark_keyed(const QueueRow& row);
  void save_arrival(const QueueRow& row, const std::optional<Time>& arrival);

 private:
  const QueueRow& keep(const Cursor& cursor);
  // This transaction's own copy of the row.
  QueueRow& own(const QueueRow& row);

  Connection& db_;
  std::deque<QueueRow> known_;
  const QueueRow* last_ = nullptr;  // most batches are for one queue
};

}  // namespace hapax::store::sqlite
