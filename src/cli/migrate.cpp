#include "base/json_out.hpp"
#include "cli/commands.hpp"
#include "cli/exit_code.hpp"
#include "cli/terminal.hpp"
#include "store/unreleased_schema.hpp"

namespace hapax::cli {
namespace {

constexpr const char* migrate_examples =
    "Migrations are forward only and run once, under a lock. A SQLite store migrates\n"
    "itself when it is opened; PostgreSQL is migrated only by this command. The\n"
    "previous release works on the new schema, so migrate first, then upgrade.\n"
    "With --status and --json: {\"current\",\"newest\",\"up_to_date\"}.\n"
    "\n"
    "Examples:\n"
    "  hapax migrate --store postgresql://app@db/app\n"
    "  hapax migrate --status --json\n"
    "\n"
    "Exit codes: 0 up to date; with --status 1 when migrations are missing; 78 the\n"
    "store is newer than this build.";

struct MigrateOptions {
  bool status = false;
  int to = 0;
};

int print_status(const Shell& shell) {
  const store::SchemaStatus status = with_store_url(shell.store_url(), store::schema_status);
  const bool up_to_date = status.current >= status.newest;
  if (shell.json()) {
    JsonObject object;
    object.number("current", std::int64_t{status.current}).number("newest", std::int64_t{status.newest});
    print(object.boolean("up_to_date", up_to_date).str());
  } else if (up_to_date) {
    print("schema version " + std::to_string(status.current) + ", up to date");
  } else if (store::is_unreleased_schema(status.current)) {
    print(store::unreleased_schema(status.current) + "; make a new store");
  } else {
    print("schema version " + std::to_string(status.current) + " of " + std::to_string(status.newest) +
          "; run hapax migrate");
  }
  return up_to_date ? exit_ok : exit_unsuccessful;
}

int run_migrate(Shell& shell, const MigrateOptions& options) {
  if (options.status) { return print_status(shell); }
  if (options.to < 0) {
    throw InvalidArgument("to", std::to_string(options.to) + " is out of range; expected a schema version");
  }
  const store::MigrationReport report =
      with_store_url(shell.store_url(), [&](const std::string& url) { return store::migrate(url, options.to); });
  if (shell.json()) {
    JsonObject object;
    print(object.number("from", std::int64_t{report.from}).number("to", std::int64_t{report.to}).str());
  } else if (report.from == report.to) {
    print("schema version " + std::to_string(report.to) + ", nothing to do");
  } else {
    print("schema migrated from version " + std::to_string(report.from) + " to " + std::to_string(report.to));
  }
  return exit_ok;
}

}  // namespace

void add_migrate(Commands& commands) {
  const auto options = std::make_shared<MigrateOptions>();
  CLI::App& command = commands.add({"migrate", "Migrate the store's schema", migrate_examples});
  auto* status = command.add_flag("--status", options->status, "Only print the schema version");
  command.add_option("--to", options->to, "Migrate up to this version (default: newest)")
      ->type_name("N")
      ->excludes(status);
  commands.run_with(command, [options](Shell& shell) { return run_migrate(shell, *options); });
}

}  // namespace hapax::cli
