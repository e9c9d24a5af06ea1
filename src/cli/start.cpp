#include "cli/admitting.hpp"
#include "cli/commands.hpp"

namespace hapax::cli {
namespace {

constexpr const char* start_examples =
    "Prints the run's id, and with --json {\"id\",\"created\",\"status\",\"run\",\"deduplicated_from\"?,\"result\"?}.\n"
    "The workflow's function is in a program of yours; this command only asks for a run, which waits for such a\n"
    "program's worker. The same --workflow-id again gets the run that has it (created: false), unless that one failed, "
    "was\n"
    "cancelled or timed out: then a new run is made. With another input it is IdempotencyMismatch (65).\n"
    "\n"
    "Examples:\n"
    "  hapax start process_order --workflow-id order-456 --input '{\"id\":\"456\",\"total\":99.99}'\n"
    "  hapax start process_order --workflow-id order-456 --input @order.json --wait --json\n"
    "  hapax start reminder --workflow-id trial-ends-ada --delay 14d\n"
    "\n"
    "Exit codes: 0 started or met; 3 the id is taken (--on-conflict reject) or the queue drains; 64, 65, 66, 75;\n"
    "with --wait: 0 completed, 1 ended otherwise, 124 still going.";

}  // namespace

void add_start(Commands& commands) {
  const auto options = std::make_shared<AdmitOptions>();
  CLI::App& command = commands.add({"start", "Start a workflow, or meet the run that has its id", start_examples});
  RequestFields& fields = options->fields;
  fields.kind = model::Kind::workflow;
  command.add_option("workflow", fields.task, "Name of the workflow")->type_name("WORKFLOW")->required();
  command.add_option("--workflow-id", fields.task_id, "What this run is, such as order-456: one run at a time has it")
      ->type_name("ID");
  add_admit_flags(command, *options);
  commands.run_with(command, [options](Shell& shell) {
    if (!options->fields.task_id) {
      throw BadUsage(
          "--workflow-id is required: it says what this run is, such as order-456, so that asking again meets the same "
          "run");
    }
    return admit_one(shell, *options);
  });
}

}  // namespace hapax::cli
