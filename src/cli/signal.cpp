#include "base/json.hpp"
#include "base/json_view.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/target.hpp"
#include "cli/terminal.hpp"

#include <utility>

namespace hapax::cli {
namespace {

constexpr const char* signal_examples =
    "The signal is kept until the workflow asks for it with wait_signal, whether the\n"
    "workflow waits already or not. A workflow that continued as a new run gets the\n"
    "signal in its latest run. A second signal with the same --once key changes\n"
    "nothing, so a sender may repeat itself.\n"
    "With --json: {\"id\",\"workflow\",\"workflow_id\",\"signal\"}; \"id\" is the run that got\n"
    "the signal.\n"
    "\n"
    "Examples:\n"
    "  hapax signal 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f approve --data '{\"by\":\"al\"}'\n"
    "  hapax signal --workflow approval --workflow-id expense-7 approve \\\n"
    "      --data @answer.json --once mail-4711\n"
    "\n"
    "Exit codes: 0 kept; 3 the workflow has ended; 64 not a workflow; 65 bad data;\n"
    "66 no such execution.";

struct SignalOptions {
  Target target;
  std::optional<std::string> name;
  std::optional<std::string> data;
  std::optional<std::string> once;
};

// If the workflow is named by its key, the first positional argument is the name of the signal.
void settle_words(SignalOptions& options) {
  if (options.target.by_key()) {
    if (options.name) { throw BadUsage("give an ID, or --workflow and --workflow-id, not both"); }
    options.name = std::exchange(options.target.id, std::nullopt);
  }
  if (!options.name) { throw BadUsage("say which run, and the signal's NAME; see hapax signal --help"); }
}

int run(Shell& shell, SignalOptions options) {
  settle_words(options);
  const std::string data = options.data ? read_payload(*options.data, "data", shell.payload_limit()) : "null";
  base::check_json(data, "data");
  const Uuid id = find_target(shell, options.target);
  const std::string document =
      shell.backend().signal({.execution = id, .name = *options.name, .data = data, .once = options.once});
  print(shell.json() ? document : "sent to " + JsonView(document).text("id"));
  return exit_ok;
}

}  // namespace

void add_signal(Commands& commands) {
  const auto options = std::make_shared<SignalOptions>();
  CLI::App& command = commands.add({"signal", "Send a signal to a workflow", signal_examples});
  command.add_option("id", options->target.id, "Execution ID, unless --workflow is given")->type_name("ID");
  command.add_option("name", options->name, "Name of the signal")->type_name("NAME");
  add_workflow_flags(command, options->target);
  command.add_option("--data", options->data, "Payload: JSON, @FILE or - (default: null)")->type_name("JSON|@FILE|-");
  command.add_option("--once", options->once, "A second signal with this key changes nothing")->type_name("KEY");
  commands.run_with(command, [options](Shell& shell) { return run(shell, *options); });
}

}  // namespace hapax::cli
