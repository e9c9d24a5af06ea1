#include "cli/admitting.hpp"
#include "cli/commands.hpp"

namespace hapax::cli {
namespace {

constexpr const char* start_examples =
    "Prints the run's ID. The workflow's function is in a program of yours: this\n"
    "command only requests a run, which waits for a worker of that program. The same\n"
    "--workflow-id again returns the run that has this ID (created: false), unless\n"
    "that run failed, was cancelled or timed out: then a new run is made. The same ID\n"
    "with another input is an error, IdempotencyMismatch (65).\n"
    "With --json: {\"id\",\"created\",\"status\",\"run\",\"deduplicated_from\"?,\"result\"?}.\n"
    "\n"
    "Examples:\n"
    "  hapax start process_order --workflow-id order-456 --input '{\"id\":\"456\"}'\n"
    "  hapax start process_order --workflow-id order-456 --input @order.json --wait\n"
    "  hapax start reminder --workflow-id trial-ends-ada --delay 14d\n"
    "\n"
    "Exit codes: 0 started, or the run exists already; 3 the ID is taken\n"
    "(--on-conflict reject) or the queue drains; 64, 65, 66, 75 as in `hapax --help`.\n"
    "With --wait: 0 completed, 1 ended otherwise, 124 still going.";

}  // namespace

void add_start(Commands& commands) {
  const auto options = std::make_shared<AdmitOptions>();
  CLI::App& command =
      commands.add({"start", "Start a workflow, or return the run that already has this ID", start_examples});
  RequestFields& fields = options->fields;
  fields.kind = model::Kind::workflow;
  command.add_option("workflow", fields.task, "Name of the workflow")->type_name("WORKFLOW")->required();
  command.add_option("--workflow-id", fields.options.task_id, "ID of the run, such as order-456 (required)")
      ->type_name("ID");
  add_admit_flags(command, *options);
  commands.run_with(command, [options](Shell& shell) {
    if (!options->fields.options.task_id) {
      throw BadUsage(
          "--workflow-id is required: it says what this run is, such as order-456, so that asking again meets the same "
          "run");
    }
    return admit_one(shell, *options);
  });
}

}  // namespace hapax::cli
