// Activity: work that starts by the clock or by events (SPEC S1).
//
//   {"id": "daily-report", "name": "Daily report", "description": "…",
//    "trigger": {"type": "cron", …} | {"type": "event", …},       cron_trigger.hpp, event_trigger.hpp
//    "target": {"task": "generate-report", "queue": "reports",    or {"workflow": …}; queue: else the task's own
//               "options": {"max_attempts": 1, "timeout": "30s"}}, also priority, max_lost, deadline, retry
//    "input": {"kind": "daily"},                                  template.hpp; null if there is none
//    "tasks": [{"task_type": "extract", "queue": "etl", "options": {}, "input": {}}],
//    "dedupe_key_strategy": "catchup"}                            has to equal the misfire policy
//
// Each run starts the target under the run's ID, and every one of `tasks` under an ID of its own (firing.hpp). The name
// is the id when none is given. An id is a name as everywhere (model/validate.hpp), but without a colon, as one stands
// behind it in the IDs of its runs.
//
// The same by JSON and by TOML, which reaches this as JSON. A value; any thread.
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
  model::TaskDefinition options;  // only how it is run: before what the catalogue says
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
  // Whether one of its templates does.
  [[nodiscard]] bool uses(Place place) const {
    return input.uses(place) || std::any_of(tasks.begin(), tasks.end(),
                                            [place](const TaskInstance& task) { return task.input.uses(place); });
  }
};

// Throws InvalidJson, PayloadTooLarge beyond limits::activity_bytes, and InvalidArgument naming the member by its path,
// which begins with `where`: "activities.daily-report".
[[nodiscard]] Activity parse_activity(std::string_view json, std::string_view where = "");

// One that a store has, also of an earlier build: a weekday 7/n, which is refused by now, is read as the 0/n that it meant.
[[nodiscard]] Activity parse_stored_activity(std::string_view json);

// The definition as canonical JSON with every default written out, so that a later default changes no stored activity.
// Two activities are the same if these are: parse_activity reads it back to the same bytes.
[[nodiscard]] std::string encode_activity(const Activity& activity);

// For people: "at 09:00 on weekdays, Europe/Zurich", "on order.* or refund.* from /shop, filtered".
[[nodiscard]] std::string describe_trigger(const Activity& activity);

// 1..limits::name_bytes bytes of UTF-8 without control characters and colons. Throws InvalidArgument naming `field`.
void check_activity_id(std::string_view id, const std::string& field = "id");

}  // namespace hapax::schedule
