// QueueIds: the ids of queues in the tables, cached by this process.
//
// Rows of `queues` are never deleted or renumbered, so a committed id stays right. Any thread may use it.
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
  // Makes sure that all of these queues are known, creating missing ones: no round trip when all are known, else one,
  // or up to three while other transactions create them. Call it with no transaction open, as only committed ids may be
  // cached.
  void ensure(Connection& connection, const std::vector<model::QueueRef>& queues);
  // The id of a queue that ensure() has seen.
  [[nodiscard]] std::int32_t id(const model::QueueRef& queue) const;
  // The items' queues that are not known yet, each once.
  [[nodiscard]] std::vector<model::QueueRef> unknown(const std::vector<const model::NewExecution*>& items) const;
  // The queues of items with a limit key that are not known to be marked (ensure_keyed()), each once.
  [[nodiscard]] std::vector<model::QueueRef> unkeyed(const std::vector<const model::NewExecution*>& items) const;
  // Marks queues that ensure() has seen, so that claims of them respect limit keys. Call it before an execution with a
  // limit key is admitted, with no transaction open. One round trip, once per process and queue.
  void ensure_keyed(Connection& connection, const std::vector<model::QueueRef>& queues, std::int64_t offset_us);
  // Looks the queue up without creating it.
  [[nodiscard]] std::optional<std::int32_t> find(Connection& connection, const model::QueueRef& queue);
  // The queue with that id, read from the table if it is new to this process.
  [[nodiscard]] model::QueueRef name(Connection& connection, std::int32_t id);

 private:
  void remember(const model::QueueRef& queue, std::int32_t id);

  mutable std::mutex mutex_;
  std::map<model::QueueRef, std::int32_t> ids_;
  std::unordered_map<std::int32_t, model::QueueRef> names_;
  std::set<model::QueueRef> keyed_;
};

// The statement of ensure_keyed(), for use inside a transaction.
[[nodiscard]] Call mark_keyed_call(const std::vector<std::int32_t>& queues, std::int64_t offset_us);

// The ids of a batch's queues, item by item: neighbours mostly share theirs. One thread.
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
