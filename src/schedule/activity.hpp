// Activity: work that starts by the clock or by events, as a stored definition.
//
//   {"id": "daily-report", "name": "Daily report", "description": "…",
//    "trigger": {"type": "cron", …} | {"type": "event", …},       cron_trigger.hpp, event_trigger.hpp
//    "target": {"task": "generate-report", "queue": "reports",    or {"workflow": …}; queue: else the task's own
//               "options": {"max_attempts": 1, "timeout": "30s"}}, also priority, max_lost, deadline, retry
//    "input": {"kind": "daily"},                                  template.hpp; default null
//    "tasks": [{"task_type": "extract", "queue": "etl", "options": {}, "input": {}}],
//    "dedupe_key_strategy": "catchup"}                            must equal the misfire policy
//
// Each run starts the target under the run's ID, and each of `tasks` under a derived ID (firing.hpp). The name defaults
// to the id. An id is a name (model/validate.hpp) without a colon, as a colon follows the id in the IDs of the runs.
//
// Definitions in TOML are converted to JSON before they are parsed here. A value type; any thread.
#pragma once

#include "model/execution.hpp"
#include "model/task_definition.hpp"
#include "schedule/cron_trigger.hpp"
#include "schedule/event_trigger.hpp"
#include "schedule/template.hpp"

#include <algorithm>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace hapax::schedule {

struct Target {
  model::Kind kind = model::Kind::task;  // or workflow
  std::string name;
  std::optional<std::string> queue;
  model::TaskDefinition options;  // how the target runs (no identity members); overrides the catalogue
};

struct TaskInstance {
  std::string task_type;
  std::optional<std::string> queue;
  model::TaskDefinition options;
  Template input;
};

struct Activity {
  std::string id;
  std::string name;
  std::string description;  // may be empty
  std::variant<CronTrigger, EventTrigger> trigger;
  Target target;
  Template input;
  std::vector<TaskInstance> tasks;

  [[nodiscard]] const CronTrigger* cron() const { return std::get_if<CronTrigger>(&trigger); }
  [[nodiscard]] const EventTrigger* event() const { return std::get_if<EventTrigger>(&trigger); }
  // Whether one of the activity's templates uses the place.
  [[nodiscard]] bool uses(Place place) const {
    return input.uses(place) || std::any_of(tasks.begin(), tasks.end(),
                                            [place](const TaskInstance& task) { return task.input.uses(place); });
  }
};

// Throws InvalidJson, PayloadTooLarge beyond limits::activity_bytes, and InvalidArgument naming the member by its path,
// which begins with `where`: "activities.daily-report".
[[nodiscard]] Activity parse_activity(std::string_view json, std::string_view where = "");

// Parses a stored definition, also of an earlier build: a weekday 7/n, which parse_activity refuses, is read as 0/n,
// its meaning in those builds.
[[nodiscard]] Activity parse_stored_activity(std::string_view json);

// The definition as canonical JSON with every default written out, so that a later default changes no stored activity.
// Two activities are equal if their encodings are. parse_activity and encode_activity round-trip to the same bytes.
[[nodiscard]] std::string encode_activity(const Activity& activity);

// In words: "at 09:00 on weekdays, Europe/Zurich", "on order.* or refund.* from /shop, filtered".
[[nodiscard]] std::string describe_trigger(const Activity& activity);

// 1..limits::name_bytes bytes of UTF-8 without control characters and colons. Throws InvalidArgument naming `field`.
void check_activity_id(std::string_view id, const std::string& field = "id");

}  // namespace hapax::schedule
