// Why an execution is where it is, in sentences (SPEC D18): a pure function over what the store knows.
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
  Time now{};                           // the store's
  std::optional<QueueInfo> queue;       // its queue
  std::vector<SessionInfo> sessions;    // all worker sessions
  std::map<Uuid, int> running_here;     // of its queue, by session; filled where the queue limits it
  std::optional<TaskDefinition> task;   // its entry in the catalogue
  std::optional<ErrorInfo> last_error;  // of the attempts so far, while it waits for the next
  // Others of its limit key, where it is parked; none: its queue is too long to look.
  struct OthersOfKey {
    int running = 0;
    bool earlier = false;  // one that was admitted before it has not ended
  };
  std::optional<OthersOfKey> others_of_key;
  IdentityStrategy usual = IdentityStrategy::strict;
  std::optional<Holding> holding;  // of its identity; none: that is free
  // Of a workflow that is pending and was begun: what it waits for, or why its journal cannot be read.
  std::optional<WorkflowWaits> waits{};
  std::string journal_trouble{};
};

// One reason and what would change it. `code` is for scripts: "delayed", "retrying", "paused", "no_worker",
// "no_worker_for_task", "lost_before", "waiting_its_turn", "running", "session_lost", "cancelling", "deadline_passed",
// "completed", "failed", "dead_letter", "retried", "cancelled", "timed_out", "holds_key", "ordering_key",
// "concurrency_key", "key_rate_limit", "rate_limit", "concurrency", "worker_concurrency", "superseded", "key_free", "waiting", "stuck",
// "journal_unreadable", "invalid_payload", "signals_not_taken",
// "started_by_activity", "earlier_run".
struct Reason {
  std::string code;
  std::string sentence;
  std::string remedy;  // empty when nothing need be done
};

// The most telling reason first; never empty.
[[nodiscard]] std::vector<Reason> explain(const ExplainFacts& facts);

}  // namespace hapax::model
