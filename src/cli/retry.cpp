#include "app/operations.hpp"
#include "cli/arguments.hpp"
#include "cli/retrying.hpp"

namespace hapax::cli {
namespace {

constexpr const char* retry_examples =
    "Makes a new run of executions that failed, were cancelled or timed out: the same\n"
    "task, queue, input, options, identity and effect key (another effect key with\n"
    "--new-effect-key). A filter matches failed executions only, unless --status says\n"
    "otherwise.\n"
    "\n"
    "Examples:\n"
    "  hapax retry 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f\n"
    "  hapax retry --queue payments --status failed,timed_out --yes\n"
    "\n"
    "Exit codes: 0 done; 3 an execution named by ID cannot be retried; 66 no such\n"
    "execution.";

struct RetryArguments {
  Selection selection;
  bool new_effect_key = false;
};

}  // namespace

void add_retry(Commands& commands) {
  const auto options = std::make_shared<RetryArguments>();
  CLI::App& command = commands.add({"retry", "Run ended executions again, by ID or by filter", retry_examples});
  add_selection(command, options->selection, true);
  command.add_flag("--new-effect-key", options->new_effect_key, "Use another effect key: a new external request");
  commands.run_with(command, [options](Shell& shell) {
    const std::vector<Uuid> ids = selected(shell, options->selection, "retry", app::select_failed);
    return retry_executions(
        shell, ids, {.options = {.new_effect_key = options->new_effect_key}, .named = !options->selection.ids.empty()});
  });
}

}  // namespace hapax::cli
