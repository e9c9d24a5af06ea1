// Finds executions by ID, by the key of their request and by the name of an activity's run, and finds queues and
// activities by name. The library, the routes and the commands find with these functions, so that all three refuse an
// unknown name in the same words.
#pragma once

#include <hapax/task.hpp>
#include <hapax/uuid.hpp>

#include "engine/catalogue_cache.hpp"
#include "model/execution.hpp"
#include "schedule/activities.hpp"
#include "store/store.hpp"

#include <string>
#include <string_view>

namespace hapax::app {

// The execution; throws NotFound if it does not exist in the namespace. A brief execution has no payloads.
[[nodiscard]] model::Execution find_execution(store::Store& store, const std::string& namespace_name, const Uuid& id);
[[nodiscard]] model::Execution find_briefly(store::Store& store, const std::string& namespace_name, const Uuid& id);

struct KeyGiven {
  model::Kind kind = model::Kind::task;
  TaskSpec task;  // or workflow
  std::string key;
  std::optional<std::string> queue;  // the queue, for keys of scope queue; none: the task's usual queue
};
// The execution of a task or workflow that holds the key now, else the latest one kept under it. Throws NotFound, and
// InvalidArgument for an impossible name or key.
[[nodiscard]] Uuid find_by_key(store::Store& store, const std::string& namespace_name,
                               engine::CatalogueCache& catalogue, const KeyGiven& given);

// The run of an activity, or a task instance of a run, by its name: activity-ID:TICK. Throws NotFound and
// InvalidArgument.
[[nodiscard]] Uuid find_run(store::Store& store, const std::string& namespace_name, const std::string& text);

// The workflow ID of the workflow that started the execution; none when no workflow did, or when its record is gone.
// Costs one read if the execution has a parent.
[[nodiscard]] std::optional<std::string> parent_workflow_id(store::Store& store, const model::Execution& execution);

// Throws NotFound for a queue that does not exist, with a suggestion if a similar name does.
[[nodiscard]] model::QueueInfo find_queue(store::Store& store, const model::QueueRef& queue);

// Throws NotFound, with a suggestion if a similar ID exists.
[[nodiscard]] model::ActivityState find_activity(schedule::Activities& activities, const std::string& id);

}  // namespace hapax::app
