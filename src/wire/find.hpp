// Executions found by what people know them as: the key that they were asked for under, or the run of an activity; and
// activities themselves.
#pragma once

#include <hapax/uuid.hpp>

#include "model/execution.hpp"
#include "schedule/activities.hpp"
#include "store/store.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace hapax::wire {

struct KeyGiven {
  model::Kind kind = model::Kind::task;
  std::string task;  // or workflow
  std::string key;
  std::optional<std::string> queue;  // where it was given, for keys of scope queue; none: the task's usual one
};
// The execution of a task or workflow that holds the key now, else the latest that is kept under it. Throws NotFound, and
// InvalidArgument for a name or key that cannot be one.
[[nodiscard]] Uuid find_by_key(store::Store& store, const std::string& ns, const KeyGiven& given);

// The run of an activity, or a task instance of one, by its name: activity-ID:TICK. Throws likewise.
[[nodiscard]] Uuid find_run(store::Store& store, const std::string& ns, const std::string& text);

// What the workflow that started the execution was started as; none when no workflow did, or its record is gone. One read,
// of what has a parent.
[[nodiscard]] std::optional<std::string> parent_workflow_id(store::Store& store, const model::Execution& execution);

// Throws NotFound for a queue that nobody has made, with a suggestion if another's name is near.
[[nodiscard]] model::QueueInfo find_queue(store::Store& store, const model::QueueRef& queue);

// Tasks and workflows that the catalogue, a worker of the namespace or one of its newest executions names.
[[nodiscard]] std::vector<std::string> known_tasks(store::Store& store, const std::string& ns);

// Throws NotFound, with a suggestion if another's id is near.
[[nodiscard]] model::ActivityState find_activity(schedule::Activities& activities, const std::string& id);

}  // namespace hapax::wire
