#include "base/json_view.hpp"
#include "base/text.hpp"
#include "cli/backend.hpp"
#include "cli/exit_code.hpp"
#include "cli/target.hpp"
#include "cli/terminal.hpp"

namespace hapax::cli {
namespace {

constexpr const char* explain_examples =
    "Prints why an execution is not running (delayed, waiting for a retry, a paused\n"
    "queue, a limit or key, no worker for its task, …), how it ended, or why other\n"
    "requests return it, and the remedy for each reason.\n"
    "With --json: {\"id\",\"status\",\"reasons\":[{\"code\",\"sentence\",\"remedy\"}]}.\n"
    "\n"
    "Examples:\n"
    "  hapax explain 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f\n"
    "  hapax explain --run activity-daily-report:2026-03-01T09:00:00+00:00";

int run(Shell& shell, const Uuid& id) {
  const std::string document = shell.backend().explain(id);
  if (shell.json()) {
    print(document);
    return exit_ok;
  }
  for (const std::string_view item : JsonView(document).items("reasons")) {
    const JsonView reason(item);
    print(base::printable(reason.text("sentence")));
    if (reason.has("remedy")) {
      print(paint(output_terminal(), Style::dim, "  → " + base::printable(reason.text("remedy"))));
    }
  }
  return exit_ok;
}

}  // namespace

void add_explain(Commands& commands) {
  const auto target = std::make_shared<Target>();
  CLI::App& command = commands.add({"explain", "Explain why an execution is in its state", explain_examples});
  command.add_option("id", target->id, "Execution ID, or its last 12 digits")->type_name("ID");
  add_task_flags(command, *target);
  add_workflow_flags(command, *target);
  add_run_flag(command, *target);
  commands.run_with(command, [target](Shell& shell) { return run(shell, find_target(shell, *target)); });
}

}  // namespace hapax::cli
