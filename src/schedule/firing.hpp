// From a reason to run (a tick, an event, somebody's word) to the executions of one run (SPEC S2, S6, S9).
//
// IDs
//   run by a tick       activity-{activity_id}:{scheduled_for}       2026-03-01T09:00:00+00:00; a backfill's is the tick's
//   run by an event     activity-{activity_id}:{event_id}            or with ~ and 16 digits of the source's hash behind it, when
//                                                                    event_id could be one of the others, or ends like that,
//                                                                    or when an event of another source has the ID (decision 58)
//   run by hand         activity-{activity_id}:manual-{key}
//   its task instances  task-{run ID}:{task_type}:{index}            index: from 0 among those of that type
// Their identity is in the reserved scope `activity`, under the activity's id and not the task's, so that another target
// does not run a tick again; what it is made of is the ID (unmarked) and, of events, the source, as event ids are unique within a
// source only. Reuse is `reject`, nothing is compared (fingerprint none), an existing holder answers.
//
// Input of the target and of each task instance
//   {"input": …, "trigger": {"kind": "cron", "scheduled_for": "…", "window": null | {"from", "to", "missed"}, "last_result": …}}
//   {"input": …, "trigger": {"kind": "event", "event": {…}}}
//   {"input": …, "trigger": {"kind": "manual", …}}    as above, of either kind; the event is null if none was given
// where input is the template filled in, null without one. A backfilled tick has "backfill": true. A last result that is too
// large or too deep to be handed on is null with "last_result_omitted": true.
#pragma once

#include "model/task_definition.hpp"
#include "schedule/activity.hpp"
#include "schedule/event.hpp"
#include "schedule/misfire.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hapax::schedule {

struct TickReason {
  Tick tick;
  bool backfill = false;
};
struct EventReason {
  const Event& event;
};
struct ManualReason {
  std::string key;  // tells it from others: the caller's key, or a fresh UUID
  Time at;          // the instant it was asked for; what {{scheduled_for}} stands for
  const Event* event = nullptr;
};
using Reason = std::variant<TickReason, EventReason, ManualReason>;

struct ActivityRun {
  std::string id;
  base::Digest identity{};  // one a run, also where two sources use one event id
  // The target first, then the task instances. Everything is set but `id`, which is the caller's to make (UUIDv7);
  // identity->key is the ID of each.
  std::vector<model::NewExecution> requests;
};

struct FiringContext {
  std::string ns;
  const model::Catalogue* catalogue = nullptr;  // queue, attempts, … of tasks that are catalogued
  std::optional<std::string> last_result;       // JSON of the last run that completed; not for events
  std::optional<Uuid> parent;                   // the activity's own, where it is known already
  std::string actor{};                          // whose word or event it is (SPEC X8); empty: the clock's
  std::string traceparent{};                    // W3C, of the call that brought it; or empty
  bool names_source = false;  // an event's run: its ID has the source's hash, as the plain one is taken
};

// Throws PayloadTooLarge naming input, if values filled into the template make it too large, and InvalidArgument for a tick of an
// activity with an event trigger and the other way round.
[[nodiscard]] ActivityRun fire(const Activity& activity, const Reason& reason, const FiringContext& context);

// The run's ID alone. With names_source an event's has the source's hash, also where the plain one would do.
[[nodiscard]] std::string run_id(std::string_view activity_id, const Reason& reason, bool names_source = false);

// "2026-03-01T09:00:00+00:00"
[[nodiscard]] std::string format_scheduled_for(Time tick);

// {"from": …, "to": …, "missed": …}
[[nodiscard]] std::string encode_window(const Window& window);

}  // namespace hapax::schedule
