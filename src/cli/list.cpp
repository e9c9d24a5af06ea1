#include "cli/arguments.hpp"
#include "cli/execution_table.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/short_id.hpp"

namespace hapax::cli {
namespace {

constexpr const char* list_list_examples =
    "Lists executions, newest first. For the next page, give the last ID as --after.\n"
    "With --json an array of executions as `show` prints them, without attempts.\n"
    "\n"
    "Examples:\n"
    "  hapax list --status failed --queue payments\n"
    "  hapax list --status pending,running --limit 500 --json | jq -r '.[].id'\n"
    "  hapax list --activity daily-report --status failed\n"
    "  hapax list --task charge --after 0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f";

struct ListListOptions {
  Filter filter;
  std::int64_t limit = 50;
  std::optional<std::string> after;
  std::optional<std::string> activity;
};

int run_list(Shell& shell, const ListListOptions& options) {
  if (options.limit < 1) {
    throw InvalidArgument("limit", std::to_string(options.limit) + " is out of range; expected 1 or more");
  }
  Listing listing{.query = options.filter.query(shell), .activity = options.activity};
  if (options.after) { listing.query.after = find_id(shell, *options.after); }
  print_executions(
      shell, {.listing = std::move(listing), .limit = options.limit, .when_empty = "no executions", .check_empty = [&] {
                options.filter.require_known(shell);
                if (options.activity) { shell.backend().check_activity(*options.activity); }
              }});
  return exit_ok;
}

}  // namespace

void add_list(Commands& commands) {
  const auto options = std::make_shared<ListListOptions>();
  CLI::App& command = commands.add({"list", "List executions, newest first", list_list_examples});
  add_filter(command, options->filter);
  command.add_option("--activity", options->activity, "Only runs of this activity")->type_name("ID");
  command.add_option("--limit", options->limit, "Print at most N")->type_name("N")->capture_default_str();
  command.add_option("--after", options->after, "Continue after this execution")->type_name("ID");
  commands.run_with(command, [options](Shell& shell) { return run_list(shell, *options); });
}

}  // namespace hapax::cli
