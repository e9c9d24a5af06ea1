// hapax activity runs: the runs that an activity started, with --tasks also the task instances of each run.
#include "api/execution_read.hpp"
#include "base/text.hpp"
#include "cli/activity.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/short_id.hpp"
#include "cli/table.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr const char* activity_runs_examples =
    "Lists the runs of an activity, newest first, also of a deleted activity while\n"
    "its runs are kept. RUN is the run's ID, made from its tick or event. `hapax\n"
    "show` takes the execution's ID, or --run RUN.\n"
    "With --json an array of {\"run_id\",\"id\",\"task\",\"queue\",\"status\",\"attempt\",\"run\",\n"
    "\"created_at\",\"started_at\",\"finished_at\",\"duration_ms\",\"error\"}, with --tasks\n"
    "each with \"tasks\":[…] of the same members.\n"
    "\n"
    "Examples:\n"
    "  hapax activity runs daily-report --limit 10\n"
    "  hapax activity runs daily-report --status failed,timed_out --json\n"
    "  hapax activity runs nightly-load --tasks";

struct ActivityRunsOptions {
  std::string id;
  std::vector<std::string> statuses;
  std::int64_t limit = 50;
  std::optional<std::string> after;
  bool tasks = false;
};

// A workflow target starts other tasks too. A task instance is recognised by its key: task-RUN_ID:TASK_TYPE:INDEX.
std::vector<model::Execution> instances_of(Backend& backend, const model::Execution& run) {
  Listing listing;
  listing.query.parent = run.id;
  listing.query.payloads = false;
  const std::string prefix = "task-" + run.identity_key + ":";
  std::vector<model::Execution> found;
  each_execution(backend, listing, INT64_MAX, [&](const std::string& document) {
    model::Execution execution = read_execution(document);
    if (execution.identity_key.starts_with(prefix)) { found.push_back(std::move(execution)); }
    return true;
  });
  std::reverse(found.begin(), found.end());  // in the order of the definition
  return found;
}

void add_row(Table& table, const model::Execution& e, Time now, bool is_instance) {
  const std::optional<Duration> duration = time_taken(e);
  table.add({(is_instance ? "  " : "") + e.identity_key, shown_id(e.id), status_cell(e, now), when(e.created_at, now),
             when(e.started_at, now), duration ? rough(*duration) : "",
             Cell(e.stuck.empty() ? error_line(e.error) : e.stuck, Style::dim)});
}

int runs(Shell& shell, const ActivityRunsOptions& options) {
  if (options.limit < 1) {
    throw InvalidArgument("limit", std::to_string(options.limit) + " is out of range; expected 1 or more");
  }
  Listing listing;
  listing.activity = options.id;
  for (const std::string& text : options.statuses) { listing.query.statuses.push_back(require_status(text)); }
  if (options.after) { listing.query.after = find_id(shell, *options.after); }
  listing.query.payloads = false;
  Backend& backend = shell.backend();
  backend.check_activity(options.id);
  std::vector<std::string> items;
  const Time now = backend.now();
  Table table({{.title = "RUN", .whole = true},
               {.title = "EXECUTION", .whole = true},
               {.title = "STATUS", .whole = true},
               {.title = "CREATED"},
               {.title = "STARTED"},
               {.title = "TOOK", .numeric = true},
               {.title = "REMARK", .folds = true}});
  each_execution(backend, listing, options.limit, [&](const std::string& document) {
    const model::Execution run = read_execution(document);
    std::vector<model::Execution> instances;
    if (options.tasks) { instances = instances_of(backend, run); }
    if (!shell.json()) {
      add_row(table, run, now, false);
      for (const model::Execution& instance : instances) { add_row(table, instance, now, true); }
      return true;
    }
    items.push_back(activity_run_json(run, options.tasks ? &instances : nullptr));
    return true;
  });
  if (shell.json()) {
    print(json_array(items));
  } else {
    table.print("no runs");
  }
  return exit_ok;
}

}  // namespace

void add_activity_runs(Commands& commands, CLI::App& group) {
  const auto options = std::make_shared<ActivityRunsOptions>();
  CLI::App& command = commands.add({"runs", "List an activity's runs, newest first", activity_runs_examples}, &group);
  add_activity_id(command, options->id);
  command.add_option("--status", options->statuses, "pending, running, completed, failed, cancelled or timed_out")
      ->type_name("S")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--limit", options->limit, "Print at most N")->type_name("N")->capture_default_str();
  command.add_option("--after", options->after, "Continue after this execution")->type_name("ID");
  command.add_flag("--tasks", options->tasks, "Also print the task instances of each run");
  commands.run_with(command, [options](Shell& shell) { return runs(shell, *options); });
}

}  // namespace hapax::cli
