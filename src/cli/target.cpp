#include "cli/target.hpp"

#include "api/execution_read.hpp"
#include "app/operations.hpp"
#include "cli/arguments.hpp"
#include "cli/short_id.hpp"

namespace hapax::cli {
void add_task_flags(CLI::App& command, Target& target) {
  command.add_option("--task", target.task, "Task of the key in --task-id")->type_name("NAME");
  command.add_option("--task-id", target.task_id, "Idempotency key")->type_name("KEY");
  command.add_option("--queue", target.queue, "Queue of the key, if its scope is queue")->type_name("Q");
}

void add_workflow_flags(CLI::App& command, Target& target) {
  command.add_option("--workflow", target.workflow, "Workflow of the ID in --workflow-id")->type_name("NAME");
  command.add_option("--workflow-id", target.workflow_id, "Workflow ID; selects its latest run")->type_name("ID");
}

void add_run_flag(CLI::App& command, Target& target) {
  command.add_option("--run", target.run, "Activity's run: activity-ID:TICK or …:EVENT")->type_name("RUN");
}

Uuid find_target(Shell& shell, const Target& target) {
  if (target.id.has_value() == target.by_key()) {
    throw BadUsage(target.id ? "give an ID or a key, not both" : "give an ID, or a name and the key it was given");
  }
  if (target.id) { return find_id(shell, *target.id); }
  const bool by_task = target.task || target.task_id;
  if (target.run) {
    if (by_task || target.queue || target.workflow || target.workflow_id) { throw BadUsage("--run stands alone"); }
    return shell.backend().find({.task = {}, .workflow = {}, .queue = {}, .run = target.run});
  }
  if (target.queue && !by_task && !target.workflow && !target.workflow_id) {
    throw BadUsage("--queue goes with --task-id or --workflow-id");
  }
  if (by_task && (target.workflow || target.workflow_id)) { throw BadUsage("give a task or a workflow, not both"); }
  if (by_task) {
    if (!target.task || !target.task_id) { throw BadUsage("--task and --task-id are needed together"); }
    return shell.backend().find(
        {.task = std::pair(*target.task, *target.task_id), .workflow = {}, .queue = target.queue, .run = {}});
  }
  if (!target.workflow || !target.workflow_id) { throw BadUsage("--workflow and --workflow-id are needed together"); }
  return shell.backend().find(
      {.task = {}, .workflow = std::pair(*target.workflow, *target.workflow_id), .queue = target.queue, .run = {}});
}

std::string find_workflow(Shell& shell, const Target& target) {
  std::string document = shell.backend().show(find_target(shell, target));
  app::require_workflow(read_execution(document));
  return document;
}

}  // namespace hapax::cli
