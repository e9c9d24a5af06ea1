#include "cli/activity.hpp"

namespace hapax::cli {
namespace {

constexpr const char* examples =
    "An activity starts a task or a workflow by the clock (cron, time zone) or for\n"
    "events. Each tick and each event starts one run, however often and by whatever\n"
    "process it is noticed. `hapax work`, `hapax serve` and every worker in your own\n"
    "programs fire the ticks.\n"
    "\n"
    "Examples:\n"
    "  hapax activity apply activities.json\n"
    "  hapax activity preview daily-report --from 2026-03-27 --count 5\n"
    "  hapax activity preview daily-report --down 2h30m\n"
    "  hapax activity list\n"
    "  hapax activity pause daily-report --note 'the warehouse moves'\n"
    "  hapax activity resume daily-report\n"
    "  hapax activity trigger daily-report --wait\n"
    "  hapax activity backfill daily-report --from 2026-03-01 --to 2026-03-07\n"
    "  hapax activity runs daily-report --status failed\n"
    "\n"
    "docs/schemas/activity.schema.json describes the definition.";

}  // namespace

CLI::Option* add_activity_id(CLI::App& command, std::string& id) {
  return command.add_option("id", id, "ID of the activity")->type_name("ID")->required();
}

void add_activity(Commands& commands) {
  CLI::App& group = commands.add({"activity", "Manage schedules and event subscriptions", examples});
  add_activity_apply(commands, group);
  add_activity_looking(commands, group);
  add_activity_preview(commands, group);
  add_activity_control(commands, group);
  add_activity_runs(commands, group);
  add_activity_delete(commands, group);
}

}  // namespace hapax::cli
