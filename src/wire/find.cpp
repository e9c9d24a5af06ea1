#include "wire/find.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "engine/door.hpp"
#include "model/activity_origin.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"

namespace hapax::wire {
namespace {

// How many of an activity's runs are looked through for one whose identity cannot be made of its name alone.
constexpr std::int64_t runs_looked_at = 100'000;

// The identity of an event's run has the event's source in it, which the name does not tell: it is looked for among the
// runs of its activity, newest first.
std::optional<Uuid> find_among(store::Store& store, const std::string& ns, const Uuid& parent,
                               const std::string& name) {
  model::ListQuery query;
  query.ns = ns;
  query.parent = parent;
  query.payloads = false;
  query.limit = limits::list_page;
  for (std::int64_t looked_at = 0; looked_at < runs_looked_at; looked_at += query.limit) {
    const std::vector<model::Execution> page = store.list(query);
    for (const model::Execution& execution : page) {
      if (execution.identity_key == name) { return execution.id; }
    }
    if (std::ssize(page) < query.limit) { break; }
    query.after = page.back().id;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> parent_workflow_id(store::Store& store, const model::Execution& execution) {
  if (!execution.parent) { return std::nullopt; }
  const std::optional<model::Execution> parent = store.get(*execution.parent);
  if (!parent || parent->kind != model::Kind::workflow) { return std::nullopt; }
  return parent->identity_key;
}

Uuid find_by_key(store::Store& store, const std::string& ns, const KeyGiven& given) {
  const auto& [kind, task, key, queue] = given;
  const bool workflow = kind == model::Kind::workflow;
  model::check_name(task, workflow ? "workflow" : "task");
  model::check_key(key);
  const TaskSpec spec{.name = task, .options = {}};
  const auto entry = engine::CatalogueCache(store, ns).find(spec);
  model::NewExecution request;
  request.task = task;
  request.queue = {.ns = ns, .name = "default"};
  if (entry.definition != nullptr && entry.definition->queue) { request.queue.name = *entry.definition->queue; }
  if (queue) {
    model::check_name(*queue, "queue");
    request.queue.name = *queue;
  }
  const base::Digest identity = model::identity_of_key(engine::rules_for(spec, entry), request, key);
  if (const std::optional<Uuid> id = engine::latest_under(store, ns, identity)) { return *id; }
  const std::string what = workflow ? "no run of workflow '" + task + "' has the id " + base::quoted(key)
                                    : "no execution of task '" + task + "' holds the key " + base::quoted(key);
  throw NotFound(what + " in namespace '" + ns + "'");
}

Uuid find_run(store::Store& store, const std::string& ns, const std::string& text) {
  const std::optional<model::RunName> name = model::parse_run_name(text);
  if (!name) {
    throw InvalidArgument("run", base::quoted(text) +
                                     " names no run of an activity; expected one such as "
                                     "activity-daily-report:2026-03-01T09:00:00+00:00");
  }
  if (const auto id = store.holder(model::activity_identity_hash(ns, name->activity, text))) { return *id; }
  std::optional<Uuid> id = find_among(store, ns, model::activity_uuid(ns, name->activity), name->run_id);
  if (id && name->is_instance) { id = find_among(store, ns, *id, text); }
  if (id) { return *id; }
  throw NotFound("no run " + base::quoted(text) + " in namespace '" + ns + "'; hapax activity runs " + name->activity +
                 " lists those that are kept");
}

model::ActivityState find_activity(schedule::Activities& activities, const std::string& id) {
  if (std::optional<model::ActivityState> found = activities.find(id)) { return *std::move(found); }
  std::vector<std::string> ids;
  model::ActivityQuery query;
  query.limit = limits::list_page;
  for (const model::ActivityState& state : activities.list(query)) { ids.push_back(state.id); }
  throw NotFound("no activity " + base::quoted(id) + " in namespace '" + activities.ns() + "'" +
                 base::did_you_mean(id, ids, '\''));
}

}  // namespace hapax::wire
