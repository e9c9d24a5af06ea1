#include "cli/show.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"

namespace hapax::cli {
namespace {

constexpr const char* examples =
    "With --json: id, namespace, task, queue, status, input, result, error, attempts[], run, identity, task_id,\n"
    "effect_key, fence, times (created_at, run_at, started_at, finished_at, expires_at, deadline) and labels.\n"
    "\n"
    "Examples:\n"
    "  hapax show 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f\n"
    "  hapax show --task charge --task-id charge-order-456 --json | jq .result\n"
    "\n"
    "Exit codes: 0 shown; 66 no such execution.";

struct Options {
  std::optional<std::string> id;
  std::optional<std::string> task;
  std::optional<std::string> task_id;
};

Uuid which(Shell& shell, const Options& options) {
  const bool by_key = options.task || options.task_id;
  if (options.id.has_value() == by_key) { throw BadUsage("give an ID, or --task and --task-id"); }
  if (!by_key) { return parse_id(*options.id); }
  if (!options.task || !options.task_id) { throw BadUsage("--task and --task-id are needed together"); }
  return find_by_key(shell, *options.task, *options.task_id);
}

}  // namespace

void add_show(Commands& commands) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"show", "One execution in full, with its attempts", examples});
  command.add_option("id", options->id, "Execution id")->type_name("ID");
  command.add_option("--task", options->task, "Task, with --task-id: the execution that holds the key")
      ->type_name("NAME");
  command.add_option("--task-id", options->task_id, "Idempotency key")->type_name("KEY");
  commands.run_with(command, [options](Shell& shell) {
    show_execution(shell, which(shell, *options));
    return static_cast<int>(exit_ok);
  });
}

}  // namespace hapax::cli
