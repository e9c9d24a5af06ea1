#include "cli/target.hpp"

#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "model/activity_origin.hpp"
#include "model/identity.hpp"

namespace hapax::cli {
namespace {

// How many of an activity's runs are looked through for one whose identity cannot be made of its name alone.
constexpr std::int64_t runs_looked_at = 100'000;

// The identity of an event's run has the event's source in it, which the name does not tell: it is looked for among the
// runs of its activity, newest first.
std::optional<Uuid> find_among(Shell& shell, const Uuid& parent, const std::string& name) {
  model::ListQuery query;
  query.ns = shell.ns();
  query.parent = parent;
  query.payloads = false;
  std::optional<Uuid> found;
  each_execution(shell.store(), query, runs_looked_at, [&](const model::Execution& execution) {
    if (execution.identity_key == name) { found = execution.id; }
    return !found;
  });
  return found;
}

Uuid find_run(Shell& shell, const std::string& text) {
  const std::optional<model::RunName> name = model::parse_run_name(text);
  if (!name) {
    throw InvalidArgument("run", "'" + base::printable(base::keep_head(text, 100)) +
                                     "' names no run of an activity; expected one such as "
                                     "activity-daily-report:2026-03-01T09:00:00+00:00");
  }
  if (const auto id = shell.store().holder(model::activity_identity_hash(shell.ns(), name->activity, text))) {
    return *id;
  }
  std::optional<Uuid> id = find_among(shell, model::activity_uuid(shell.ns(), name->activity), name->run_id);
  if (id && name->is_instance) { id = find_among(shell, *id, text); }
  if (id) { return *id; }
  throw NotFound("no run '" + text + "' in namespace '" + shell.ns() + "'; hapax activity runs " + name->activity +
                 " lists those that are kept");
}

}  // namespace

void add_task_flags(CLI::App& command, Target& target) {
  command.add_option("--task", target.task, "Task, with --task-id: the execution that holds the key")
      ->type_name("NAME");
  command.add_option("--task-id", target.task_id, "Idempotency key")->type_name("KEY");
  command.add_option("--queue", target.queue, "Where the key was given, if it is the queue's own")->type_name("Q");
}

void add_workflow_flags(CLI::App& command, Target& target) {
  command.add_option("--workflow", target.workflow, "Workflow, with --workflow-id: its latest run")->type_name("NAME");
  command.add_option("--workflow-id", target.workflow_id, "What the run was started as")->type_name("ID");
}

void add_run_flag(CLI::App& command, Target& target) {
  command.add_option("--run", target.run, "Run of an activity: activity-ID:TICK, activity-ID:EVENT")->type_name("RUN");
}

Uuid find_target(Shell& shell, const Target& target) {
  if (target.id.has_value() == target.by_key()) {
    throw BadUsage(target.id ? "give an ID or a key, not both" : "give an ID, or a name and the key it was given");
  }
  if (target.id) { return shell.find(parse_id(*target.id)).id; }
  const bool by_task = target.task || target.task_id;
  if (target.run) {
    if (by_task || target.queue || target.workflow || target.workflow_id) { throw BadUsage("--run stands alone"); }
    return find_run(shell, *target.run);
  }
  if (target.queue && !by_task && !target.workflow && !target.workflow_id) {
    throw BadUsage("--queue goes with --task-id or --workflow-id");
  }
  if (by_task && (target.workflow || target.workflow_id)) { throw BadUsage("give a task or a workflow, not both"); }
  if (by_task) {
    if (!target.task || !target.task_id) { throw BadUsage("--task and --task-id are needed together"); }
    return find_by_key(shell, model::Kind::task, {*target.task, *target.task_id, target.queue});
  }
  if (!target.workflow || !target.workflow_id) { throw BadUsage("--workflow and --workflow-id are needed together"); }
  return find_by_key(shell, model::Kind::workflow, {*target.workflow, *target.workflow_id, target.queue});
}

model::Execution find_workflow(Shell& shell, const Target& target) {
  model::Execution execution = shell.find(find_target(shell, target));
  if (execution.kind != model::Kind::workflow) {
    throw InvalidArgument("execution", execution.id.to_string() + " is a task; expected a workflow's run");
  }
  return execution;
}

}  // namespace hapax::cli
