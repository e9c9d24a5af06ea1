// QueueIds: the numbers that queues have in the tables, remembered by this process.
//
// Rows of `queues` are never deleted or renumbered, so what was committed once stays right. Any thread.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/pool.hpp"

#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <span>
#include <unordered_map>

namespace hapax::store::postgres {

class QueueIds {
 public:
  // Makes sure that all of these are known, creating queues that are not there: no round trip when they are, one
  // otherwise. On a connection with no transaction open, as only committed numbers may be remembered.
  void ensure(Connection& connection, const std::vector<model::QueueRef>& queues);
  // Of queues that ensure() has seen.
  [[nodiscard]] std::int32_t id(const model::QueueRef& queue) const;
  // Those of the items' queues that are not known yet, each once.
  [[nodiscard]] std::vector<model::QueueRef> unknown(const std::vector<const model::NewExecution*>& items) const;
  // Those of the queues of items with a limit key that are not known to have had one. Of queues that ensure() has seen.
  [[nodiscard]] std::vector<model::QueueRef> unkeyed(const std::vector<const model::NewExecution*>& items) const;
  // Marks the queues: from now on claims go by their keys. Before an execution with a key is admitted, on a connection
  // with no transaction open; one round trip, once a process and queue.
  void ensure_keyed(Connection& connection, const std::vector<model::QueueRef>& queues, std::int64_t offset_us);
  // Looks the queue up without creating it.
  [[nodiscard]] std::optional<std::int32_t> find(Connection& connection, const model::QueueRef& queue);
  // The queue with that number, read from the table if it is new to this process.
  [[nodiscard]] model::QueueRef name(Connection& connection, std::int32_t id);

 private:
  void remember(const model::QueueRef& queue, std::int32_t id);

  mutable std::mutex mutex_;
  std::map<model::QueueRef, std::int32_t> ids_;
  std::unordered_map<std::int32_t, model::QueueRef> names_;
  std::set<model::QueueRef> keyed_;
};

// What ensure_keyed() does, for a transaction that finds out late.
[[nodiscard]] Call mark_keyed_call(const std::vector<std::int32_t>& queues, std::int64_t offset_us);

// The numbers of a batch's queues, one item after the other: neighbours mostly share theirs. One thread.
class BatchQueueIds {
 public:
  explicit BatchQueueIds(const QueueIds& ids) : ids_(ids) {}
  [[nodiscard]] std::int32_t id(const model::QueueRef& queue) {
    if (last_ == nullptr || *last_ != queue) {
      id_ = ids_.id(queue);
      last_ = &queue;
    }
    return id_;
  }

 private:
  const QueueIds& ids_;
  const model::QueueRef* last_ = nullptr;
  std::int32_t id_ = 0;
};

}  // namespace hapax::store::postgres
