#include "app/find.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "engine/build_request.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"
#include "store/brief.hpp"

#include <algorithm>
#include <set>
#include <vector>

namespace hapax::app {
namespace {

// How many runs of an activity are searched for one whose identity needs more than its name.
constexpr std::int64_t runs_searched = 100'000;

// How many runs of the same name an error lists.
constexpr std::size_t runs_listed = 5;

// The identity of an event's run contains the event's source, which the name does not show: so this searches the runs
// of its activity, newest first. Builds before decision 58 gave runs of several sources one name: the result has the
// newest run of each identity.
std::vector<Uuid> find_among(store::Store& store, const std::string& namespace_name, const Uuid& parent,
                             const std::string& name) {
  std::vector<Uuid> found;
  std::set<base::Digest> identities;
  model::ListQuery query;
  query.namespace_name = namespace_name;
  query.parent = parent;
  query.payloads = false;
  query.limit = limits::list_page;
  for (std::int64_t looked_at = 0; looked_at < runs_searched; looked_at += query.limit) {
    const std::vector<model::Execution> page = store.list(query);
    for (const model::Execution& execution : page) {
      if (execution.identity_key != name || !execution.identity) { continue; }
      if (identities.insert(*execution.identity).second) { found.push_back(execution.id); }
    }
    if (std::ssize(page) < query.limit) { break; }
    query.after = page.back().id;
  }
  return found;
}

std::optional<Uuid> only_one(const std::vector<Uuid>& found, const std::string& name) {
  if (found.size() < 2) { return found.empty() ? std::nullopt : std::optional(found.front()); }
  std::string ids;
  for (std::size_t i = 0; i < found.size() && i < runs_listed; ++i) {
    ids += (i == 0 ? "" : ", ") + found[i].to_string();
  }
  throw InvalidArgument(
      "run", "'" + base::printable(base::keep_head(name, 100)) + "' is the name of " + std::to_string(found.size()) +
                 " runs, whose events had one id and different sources; expected the id of one: " + ids +
                 (found.size() > runs_listed ? ", …" : ""));
}

// The identity of a run by hand follows from its name alone. Records from before decision 54 may have an event's run of
// that name.
std::vector<Uuid> find_runs(store::Store& store, const std::string& namespace_name, const model::RunName& name) {
  const std::string by_hand = "activity-" + name.activity + ":manual-";
  const std::optional<Uuid> holder =
      store.holder(model::activity_identity_hash(namespace_name, name.activity, name.run_id));
  if (holder && !name.run_id.starts_with(by_hand)) { return {*holder}; }
  return find_among(store, namespace_name, model::activity_uuid(namespace_name, name.activity), name.run_id);
}

model::Execution required(std::optional<model::Execution> found, const std::string& namespace_name, const Uuid& id) {
  if (!found || found->queue.namespace_name != namespace_name) {
    throw NotFound("no execution " + id.to_string() + " in namespace '" + namespace_name + "'");
  }
  return *std::move(found);
}

// Names of tasks and workflows in the catalogue, in the namespace's worker sessions and in its newest executions.
std::vector<std::string> known_tasks(store::Store& store, const std::string& namespace_name) {
  std::vector<std::string> names;
  for (model::TaskEntry& entry : store.catalogue(namespace_name).tasks) { names.push_back(std::move(entry.name)); }
  for (const model::SessionInfo& session : store.sessions()) {
    const bool is_ours = std::ranges::any_of(
        session.queues, [&namespace_name](const auto& queue) { return queue.namespace_name == namespace_name; });
    if (is_ours) { names.insert(names.end(), session.tasks.begin(), session.tasks.end()); }
  }
  model::ListQuery query;
  query.namespace_name = namespace_name;
  query.payloads = false;
  query.limit = limits::list_page;
  for (model::Execution& execution : store.list(query)) { names.push_back(std::move(execution.task)); }
  std::ranges::sort(names);
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return names;
}

}  // namespace

model::Execution find_execution(store::Store& store, const std::string& namespace_name, const Uuid& id) {
  return required(store.get(id), namespace_name, id);
}

model::Execution find_briefly(store::Store& store, const std::string& namespace_name, const Uuid& id) {
  return required(store::get_briefly(store, namespace_name, id), namespace_name, id);
}

std::optional<std::string> parent_workflow_id(store::Store& store, const model::Execution& execution) {
  if (!execution.parent) { return std::nullopt; }
  const std::optional<model::Execution> parent =
      store::get_briefly(store, execution.queue.namespace_name, *execution.parent);
  if (!parent || parent->kind != model::Kind::workflow) { return std::nullopt; }
  return parent->identity_key;
}

Uuid find_by_key(store::Store& store, const std::string& namespace_name, engine::CatalogueCache& catalogue,
                 const KeyGiven& given) {
  const auto& [kind, spec, key, queue] = given;
  const std::string& task = spec.name;
  const bool workflow = kind == model::Kind::workflow;
  model::check_name(task, workflow ? "workflow" : "task");
  model::check_key(key);
  const auto entry = catalogue.find(spec);
  model::NewExecution request;
  request.task = task;
  request.queue = {.namespace_name = namespace_name, .name = spec.options.queue};
  if (entry.definition != nullptr && entry.definition->queue) { request.queue.name = *entry.definition->queue; }
  if (queue) {
    model::check_name(*queue, "queue");
    request.queue.name = *queue;
  }
  const base::Digest identity = model::identity_of_key(engine::rules_for(spec, entry), request, key);
  if (const std::optional<Uuid> id = engine::latest_under(store, namespace_name, identity)) { return *id; }
  const std::string what = workflow
                               ? "no run of workflow " + base::quoted(task) + " has the id " + base::quoted(key)
                               : "no execution of task " + base::quoted(task) + " holds the key " + base::quoted(key);
  const std::vector<std::string> known = known_tasks(store, namespace_name);
  const bool is_known = std::ranges::find(known, task) != known.end();
  throw NotFound(what + " in namespace '" + namespace_name + "'" +
                 (is_known ? "" : base::did_you_mean(task, known, '\'')));
}

Uuid find_run(store::Store& store, const std::string& namespace_name, const std::string& text) {
  const std::optional<model::RunName> name = model::parse_run_name(text);
  if (!name) {
    throw InvalidArgument("run", base::quoted(text) +
                                     " names no run of an activity; expected one such as "
                                     "activity-daily-report:2026-03-01T09:00:00+00:00");
  }
  if (name->is_instance) {
    if (const auto id = store.holder(model::activity_identity_hash(namespace_name, name->activity, text))) {
      return *id;
    }
  }
  std::optional<Uuid> id = only_one(find_runs(store, namespace_name, *name), name->run_id);
  if (id && name->is_instance) { id = only_one(find_among(store, namespace_name, *id, text), text); }
  if (id) { return *id; }
  throw NotFound("no run " + base::quoted(text) + " in namespace '" + namespace_name + "'; hapax activity runs " +
                 name->activity + " lists those that are kept");
}

model::ActivityState find_activity(schedule::Activities& activities, const std::string& id) {
  if (std::optional<model::ActivityState> found = activities.find(id)) { return *std::move(found); }
  std::vector<std::string> ids;
  model::ActivityQuery query;
  query.limit = limits::list_page;
  for (const model::ActivityState& state : activities.list(query)) { ids.push_back(state.id); }
  throw NotFound("no activity " + base::quoted(id) + " in namespace '" + activities.namespace_name() + "'" +
                 base::did_you_mean(id, ids, '\''));
}

model::QueueInfo find_queue(store::Store& store, const model::QueueRef& queue) {
  std::vector<std::string> names;
  for (model::QueueInfo& info : store.queues(queue.namespace_name)) {
    if (info.queue == queue) { return std::move(info); }
    names.push_back(std::move(info.queue.name));
  }
  throw NotFound("no queue " + base::quoted(queue.name) + " in namespace '" + queue.namespace_name + "'" +
                 base::did_you_mean(queue.name, names, '\''));
}

}  // namespace hapax::app
