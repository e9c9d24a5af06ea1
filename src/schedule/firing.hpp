// Builds the executions of one run of an activity from the reason for the run: a tick, an event, or a manual trigger.
//
// IDs
//   run of a tick    activity-{activity_id}:{scheduled_for}  2026-03-01T09:00:00+00:00; same for a backfilled tick
//   run of an event  activity-{activity_id}:{event_id}       if marked, ~ and 16 hex digits of the source's hash follow
//   manual run       activity-{activity_id}:manual-{key}
//   task instance    task-{run ID}:{task_type}:{index}       index: from 0 among the run's instances of that type
// An event's run ID is marked when event_id begins with "manual-", has the shape of a tick's time, or looks marked
// already (decision 54), and when a run of an event from another source has the plain ID (decision 58).
//
// Identities are in the reserved scope `activity`, under the activity's id. The identities do not depend on the
// target's task, so a changed target does not run a tick again. The key material is the unmarked ID and, for events,
// the source, as event ids are unique within a source only. Reuse is `reject`, the fingerprint is none, and an existing
// holder answers.
//
// Input of the target and of each task instance
//   {"input": …, "trigger": {"kind": "cron", "scheduled_for": "…", "window": null | {"from", "to", "missed"},
//                            "last_result": …}}
//   {"input": …, "trigger": {"kind": "event", "event": {…}}}
//   {"input": …, "trigger": {"kind": "manual", …}}    members as for cron or event; the event is null if none was given
// where input is the rendered template, null without one. A backfilled tick has "backfill": true. A last result that is
// too large or nested too deeply is null, with "last_result_omitted": true.
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
  std::string key;  // the caller's key, or a fresh UUID
  Time at;          // when the run was requested; the value of {{scheduled_for}}
  const Event* event = nullptr;
};
using Reason = std::variant<TickReason, EventReason, ManualReason>;

struct ActivityRun {
  std::string id;
  base::Digest identity{};  // unique per run, even if two sources use one event id
  // The target first, then the task instances. All members are set except `id`, which the caller makes (UUIDv7);
  // identity->key is the ID of the run or task instance.
  std::vector<model::NewExecution> requests;
};

struct FiringContext {
  std::string namespace_name;
  const model::Catalogue* catalogue = nullptr;  // supplies queue, attempts, … of catalogued tasks
  std::optional<std::string> last_result;       // JSON result of the last completed run; not for events
  std::optional<Uuid> parent;                   // activity_uuid(), if the caller has it already
  std::string actor{};                          // of the manual trigger or event, for the audit; empty: a tick
  std::string traceparent{};                    // W3C, of the call that caused the run; or empty
  std::string tracestate{};
  bool names_source = false;  // marks an event's run ID with the source's hash, as the plain ID is taken
};

// Throws PayloadTooLarge naming input if the rendered template is too large. Throws InvalidArgument for a tick of an
// activity with an event trigger, or an event for an activity with a cron trigger.
[[nodiscard]] ActivityRun fire(const Activity& activity, const Reason& reason, const FiringContext& context);

// The run's ID. With names_source an event's run ID is always marked with the source's hash.
[[nodiscard]] std::string run_id(std::string_view activity_id, const Reason& reason, bool names_source = false);

// "2026-03-01T09:00:00+00:00"
[[nodiscard]] std::string format_scheduled_for(Time tick);

// {"from": …, "to": …, "missed": …}
[[nodiscard]] std::string encode_window(const Window& window);

}  // namespace hapax::schedule
