#include "cli/show.hpp"
#include "cli/backend.hpp"
#include "cli/exit_code.hpp"
#include "cli/target.hpp"

namespace hapax::cli {
namespace {

constexpr const char* show_show_examples =
    "Prints one execution. For a workflow also its timeline (steps, tasks, children,\n"
    "waits and signals, with attempts and times) and what the workflow waits for.\n"
    "With --json: id, namespace, task, kind, queue, status, input, result, error,\n"
    "attempts[], run, identity, task_id, effect_key, fence, times (created_at,\n"
    "run_at, started_at, finished_at, expires_at, deadline) and labels. An execution\n"
    "started by a workflow also has parent and parent_workflow_id; a workflow also\n"
    "has journal[], waiting, stuck_reason and continued_as.\n"
    "\n"
    "Examples:\n"
    "  hapax show 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f\n"
    "  hapax show --task charge --task-id charge-order-456 --json | jq .result\n"
    "  hapax show --workflow process_order --workflow-id order-456\n"
    "  hapax show --run activity-daily-report:2026-03-01T09:00:00+00:00\n"
    "\n"
    "Exit codes: 0 shown; 66 no such execution.";

}  // namespace

void add_show(Commands& commands) {
  const auto target = std::make_shared<Target>();
  CLI::App& command = commands.add({"show", "Show one execution in full", show_show_examples});
  command.add_option("id", target->id, "Execution ID, or its last 12 digits")->type_name("ID");
  add_task_flags(command, *target);
  add_workflow_flags(command, *target);
  add_run_flag(command, *target);
  commands.run_with(command, [target](Shell& shell) {
    show_execution(shell, shell.backend().show(find_target(shell, *target)));
    return static_cast<int>(exit_ok);
  });
}

}  // namespace hapax::cli
