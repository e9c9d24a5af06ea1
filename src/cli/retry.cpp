#include "cli/arguments.hpp"
#include "cli/retrying.hpp"

namespace hapax::cli {
namespace {

constexpr const char* retry_examples =
    "Makes a new run of executions that failed, were cancelled or timed out: same task, queue, input, options, "
    "identity\n"
    "and effect key (another one with --new-effect-key). By filter, those that failed unless --status says otherwise.\n"
    "\n"
    "Examples:\n"
    "  hapax retry 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f\n"
    "  hapax retry --queue payments --status failed,timed_out --yes\n"
    "\n"
    "Exit codes: 0 done; 3 one named by id cannot be retried; 66 no such execution.";

struct RetryOptions {
  Selection selection;
  bool new_effect_key = false;
};

}  // namespace

void add_retry(Commands& commands) {
  const auto options = std::make_shared<RetryOptions>();
  CLI::App& command = commands.add({"retry", "Run ended executions again, by id or by filter", retry_examples});
  add_selection(command, options->selection, true);
  command.add_flag("--new-effect-key", options->new_effect_key,
                   "Another effect key: the outside world will see a new request");
  commands.run_with(command, [options](Shell& shell) {
    const std::vector<Uuid> ids = selected(shell, options->selection, "retry", [](model::ListQuery& query) {
      if (query.statuses.empty()) { query.statuses = {Status::failed}; }
    });
    return retry_executions(shell, ids,
                            {.new_effect_key = options->new_effect_key, .named = !options->selection.ids.empty()});
  });
}

}  // namespace hapax::cli
