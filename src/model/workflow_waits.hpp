// What a workflow that waits is waiting for, as far as its journal tells: a pure function over it.
#pragma once

#include "model/journal_kind.hpp"
#include "model/turn.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hapax::model {

struct WorkflowWaits {
  // Something that the workflow asked for and that has not happened.
  struct Open {
    JournalKind kind{};         // signal, timer, task, child or step_retry
    std::string name;           // of the signal, task, workflow or step
    std::optional<Time> until;  // when a timer fires, a retry begins, or a wait for a signal gives up
    std::optional<Uuid> child;  // the execution of a task or child
  };
  std::vector<Open> open;              // in the order of the journal
  std::vector<std::string> not_taken;  // names of signals that came and that no call has taken
  std::optional<std::string> invalid;  // the last payload that did not convert: what came and what was expected
};

// `history` is a workflow's whole journal with its events. Signals that lost a ctx.race are told as open: the journal does
// not say which of those that are open the function waits for.
[[nodiscard]] WorkflowWaits waits_of(const History& history, Time now);

}  // namespace hapax::model
