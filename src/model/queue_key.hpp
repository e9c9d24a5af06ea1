// QueueKeys: finds executions that hold an identity of scope `queue`. Such an execution may not move to another queue,
// as the same key would be free there.
#pragma once

#include <hapax/error.hpp>

#include "model/identity.hpp"
#include "model/task_definition.hpp"

#include <optional>
#include <string>

namespace hapax::model {

// An execution that is about to be moved.
struct LeavingQueue {
  std::string task;
  std::optional<base::Digest> identity;
  std::string key;  // the caller's, or empty
};

class QueueKeys {
 public:
  QueueKeys(const QueueRef& queue, const StoredCatalogue& catalogue)
      : queue_(queue), catalogue_(decode_catalogue(catalogue)) {}

  // Exact for a caller's key. A stored identity that was derived from the input does not reveal its scope, so the
  // task's current catalogue entry decides.
  [[nodiscard]] bool holds(const LeavingQueue& execution) const {
    if (!execution.identity) { return false; }
    if (!execution.key.empty()) {
      return execution.identity == identity_hash({.namespace_name = queue_.namespace_name,
                                                  .scope = Scope::queue,
                                                  .name = queue_.name,
                                                  .key = execution.key});
    }
    const TaskDefinition* const task = catalogue_.find(execution.task);
    return task != nullptr && task->scope == Scope::queue;
  }
  // Throws InvalidArgument if the execution holds such an identity.
  void check_leaving(const LeavingQueue& execution) const {
    if (!holds(execution)) { return; }
    throw InvalidArgument("from", "queue '" + queue_.name + "' has executions of task '" + execution.task +
                                      "' that hold a key of scope queue, and in another queue that key would be "
                                      "free; expected none of them: let them run, or cancel them");
  }

 private:
  QueueRef queue_;
  Catalogue catalogue_;
};

}  // namespace hapax::model
