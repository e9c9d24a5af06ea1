// Derives what a waiting workflow waits for from its journal. A pure function.
#pragma once

#include "model/journal_kind.hpp"
#include "model/turn.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hapax::model {

struct WorkflowWaits {
  // A wait that has not ended.
  struct Open {
    JournalKind kind{};         // signal, timer, task, child or step_retry
    std::string name;           // of the signal, task, workflow or step
    std::optional<Time> until;  // when a timer fires, a retry begins, or a wait for a signal times out
    std::optional<Uuid> child;  // the execution of a task or child
  };
  std::vector<Open> open;              // in the order of the journal
  std::vector<std::string> not_taken;  // names of signals that arrived and that no call has taken
  std::optional<std::string> invalid;  // the message of the last conversion error: the value and what was expected
};

// `history` is a workflow's whole journal with its events. Signals that lost a ctx.race are reported as open: the
// journal does not record which of the open waits the function is blocked on.
[[nodiscard]] WorkflowWaits waits_of(const History& history, Time now);

}  // namespace hapax::model
