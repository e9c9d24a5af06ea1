// Explains an execution's state in sentences, as `hapax explain` shows them. A pure function over facts from the store.
#pragma once

#include "model/holder.hpp"
#include "model/task_definition.hpp"
#include "model/workflow_waits.hpp"

#include <map>
#include <optional>
#include <string>
#include <vector>

namespace hapax::model {

struct ExplainFacts {
  const Execution& execution;
  Time now{};                           // by the store's clock
  std::optional<QueueInfo> queue;       // the execution's queue
  std::vector<SessionInfo> sessions;    // all worker sessions
  std::map<Uuid, int> running_here;     // running executions of the queue, by session; only if the queue limits them
  std::optional<TaskDefinition> task;   // the task's entry in the catalogue
  std::optional<ErrorInfo> last_error;  // of the latest attempt, while the execution waits for the next
  // Other executions with the limit key of a parked execution; none: not counted, as the queue is too long.
  struct OthersOfKey {
    int running = 0;
    bool earlier = false;  // an execution that was admitted earlier has not ended
  };
  std::optional<OthersOfKey> others_of_key;
  IdentityStrategy default_strategy = IdentityStrategy::strict;
  std::optional<Holding> holding;  // of the execution's identity; none: the identity is free
  // For a pending workflow that has begun: what the workflow waits for, or why its journal cannot be read.
  std::optional<WorkflowWaits> waits{};
  std::string journal_trouble{};
};

// One reason and what would change it. `code` is for scripts: "delayed", "retrying", "paused", "no_worker",
// "no_worker_for_task", "lost_before", "waiting_its_turn", "running", "session_lost", "caller_lost", "cancelling",
// "deadline_passed", "completed", "failed", "dead_letter", "retried", "cancelled", "timed_out", "holds_key",
// "ordering_key", "concurrency_key", "key_rate_limit", "rate_limit", "concurrency", "worker_concurrency", "superseded",
// "key_free", "waiting", "stuck", "journal_unreadable", "invalid_payload", "signals_not_taken", "started_by_activity",
// "earlier_run".
using Reason = Explanation;

// Never empty; the most important reason comes first.
[[nodiscard]] std::vector<Reason> explain(const ExplainFacts& facts);

}  // namespace hapax::model
