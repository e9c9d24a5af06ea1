#include "cli/arguments.hpp"
#include "cli/awaiting.hpp"
#include "cli/short_id.hpp"

namespace hapax::cli {
namespace {

constexpr const char* wait_examples =
    "Waits until the execution has ended and prints its outcome.\n"
    "With --json: {\"id\",\"status\",\"result\"?,\"error\"?}.\n"
    "\n"
    "Examples:\n"
    "  hapax wait 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f --timeout 30s\n"
    "  hapax wait $id && echo paid\n"
    "\n"
    "Exit codes: 0 completed; 1 failed, cancelled or timed out; 124 still going; 66\n"
    "no such execution.";

struct WaitOptions {
  std::string id;
  std::optional<std::string> timeout;
};

}  // namespace

void add_wait(Commands& commands) {
  const auto options = std::make_shared<WaitOptions>();
  CLI::App& command = commands.add({"wait", "Wait for an execution to end", wait_examples});
  command.add_option("id", options->id, "Execution ID, or its last 12 digits")->type_name("ID")->required();
  command.add_option("--timeout", options->timeout, "Wait at most D (default: no limit)")->type_name("D");
  commands.run_with(command, [options](Shell& shell) {
    const Uuid id = find_id(shell, options->id);
    const std::optional<Duration> timeout = optional_duration(options->timeout, "timeout");
    shell.backend().check(id);
    const model::Outcome outcome = await_outcome(shell, id, timeout);
    print_outcome(shell, outcome);
    return exit_code_of(outcome.status);
  });
}

}  // namespace hapax::cli
