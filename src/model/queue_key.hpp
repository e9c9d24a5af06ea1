// Keys of scope queue (SPEC I6): what holds one may not leave its queue, as the same key would be free in the other.
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

  // By the caller's key this is certain. An identity that was made of the input tells no scope: there the catalogue's
  // entry of the task says it, as it is now.
  [[nodiscard]] bool holds(const LeavingQueue& execution) const;
  // Throws InvalidArgument if it does.
  void check_leaving(const LeavingQueue& execution) const;

 private:
  QueueRef queue_;
  Catalogue catalogue_;
};

}  // namespace hapax::model
