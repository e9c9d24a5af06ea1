// The values of the audit log: which actor did what, and when.
#pragma once

#include <hapax/time.hpp>

#include <optional>
#include <string>

namespace hapax::model {

// The actor of an operation: "token billing (0193…)", "command line (ada@host)". Empty: hapax itself, whose operations
// are not audited.
struct Actor {
  std::string name;
  [[nodiscard]] bool is_known() const { return !name.empty(); }
};

struct AuditLine {
  Time at{};  // set by the store
  std::string namespace_name = "default";
  std::string actor;
  // "queue.configure", "queue.purge", "queue.move", "task.declare", "task.replace", "task.remove", "setting",
  // "execution.cancel", "execution.retry", "execution.discard", "execution.annotate", "execution.signal",
  // "token.create", "token.revoke", "activity.…"
  std::string action;
  std::string subject;  // the queue's, task's, setting's or activity's name; the execution's or token's id
  std::string detail;   // the new value
};

// Newest first.
struct AuditQuery {
  std::string namespace_name = "default";
  std::optional<std::string> subject;
  std::optional<std::string> action;
  std::optional<Time> from;    // inclusive
  std::optional<Time> before;  // exclusive
  int limit = 50;
};

}  // namespace hapax::model
