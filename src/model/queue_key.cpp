#include "model/queue_key.hpp"

#include <hapax/error.hpp>

#include "model/identity.hpp"

namespace hapax::model {

QueueKeys::QueueKeys(const QueueRef& queue, const StoredCatalogue& catalogue)
    : queue_(queue), catalogue_(decode_catalogue(catalogue)) {}

bool QueueKeys::holds(const LeavingQueue& execution) const {
  if (!execution.identity) { return false; }
  if (!execution.key.empty()) {
    return execution.identity ==
           identity_hash({.ns = queue_.ns, .scope = Scope::queue, .name = queue_.name, .key = execution.key});
  }
  const TaskDefinition* const task = catalogue_.find(execution.task);
  return task != nullptr && task->scope == Scope::queue;
}

void QueueKeys::check_leaving(const LeavingQueue& execution) const {
  if (!holds(execution)) { return; }
  throw InvalidArgument("from", "queue '" + queue_.name + "' has executions of task '" + execution.task +
                                    "' that hold a key of scope queue, and in another queue that key would be free; "
                                    "expected none of them: let them run, or cancel them");
}

}  // namespace hapax::model
