// QueueKeys: finds executions that hold an identity of scope `queue`. Such an execution may not move to another queue,
// as the same key would be free there.
#pragma once

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
  QueueKeys(const QueueRef& queue, const StoredCatalogue& catalogue);

  // Exact for a caller's key. An identity derived from the input does not reveal its scope, so the task's current
  // catalogue entry decides.
  [[nodiscard]] bool holds(const LeavingQueue& execution) const;
  // Throws InvalidArgument if the execution holds such an identity.
  void check_leaving(const LeavingQueue& execution) const;

 private:
  QueueRef queue_;
  Catalogue catalogue_;
};

}  // namespace hapax::model
