#include "cli/target.hpp"

#include "cli/arguments.hpp"

namespace hapax::cli {

void add_task_flags(CLI::App& command, Target& target) {
  command.add_option("--task", target.task, "Task, with --task-id: the execution that holds the key")
      ->type_name("NAME");
  command.add_option("--task-id", target.task_id, "Idempotency key")->type_name("KEY");
}

void add_workflow_flags(CLI::App& command, Target& target) {
  command.add_option("--workflow", target.workflow, "Workflow, with --workflow-id: its latest run")->type_name("NAME");
  command.add_option("--workflow-id", target.workflow_id, "What the run was started as")->type_name("ID");
}

Uuid find_target(Shell& shell, const Target& target) {
  if (target.id.has_value() == target.by_key()) {
    throw BadUsage(target.id ? "give an ID or a key, not both" : "give an ID, or a name and the key it was given");
  }
  if (target.id) { return shell.find(parse_id(*target.id)).id; }
  const bool by_task = target.task || target.task_id;
  if (by_task && (target.workflow || target.workflow_id)) { throw BadUsage("give a task or a workflow, not both"); }
  if (by_task) {
    if (!target.task || !target.task_id) { throw BadUsage("--task and --task-id are needed together"); }
    return find_by_key(shell, model::Kind::task, *target.task, *target.task_id);
  }
  if (!target.workflow || !target.workflow_id) { throw BadUsage("--workflow and --workflow-id are needed together"); }
  return find_by_key(shell, model::Kind::workflow, *target.workflow, *target.workflow_id);
}

model::Execution find_workflow(Shell& shell, const Target& target) {
  model::Execution execution = shell.find(find_target(shell, target));
  if (execution.kind != model::Kind::workflow) {
    throw InvalidArgument("execution", execution.id.to_string() + " is a task; expected a workflow's run");
  }
  return execution;
}

}  // namespace hapax::cli
