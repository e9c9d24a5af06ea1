// hapax activity preview: the next fires of an activity, and what each misfire policy would do after an outage.
#include "api/instant.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/activity.hpp"
#include "cli/activity_file.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/table.hpp"
#include "schedule/firing.hpp"

#include <unistd.h>

namespace hapax::cli {
namespace {

constexpr int usual_count = 20;
constexpr std::size_t preview_runs_printed = 12;  // the most runs that a table shows per policy

constexpr const char* activity_preview_examples =
    "Prints the next fires in local time and UTC, with a note where clocks change.\n"
    "A FILE (JSON or TOML, as for apply; - is standard input) is read without a\n"
    "store. --from is an instant, a date or time in the activity's time zone, or now\n"
    "(the default). --down also prints what each misfire policy would do if all\n"
    "workers were down from that time on for that long.\n"
    "With --json: {\"id\",\"description\",\"time_zone\",\"from\",\n"
    "\"fires\":[{\"run_id\",\"scheduled_for\",\"local\",\"due\",\"note\"}],\n"
    "\"outage\"?:{\"from\",\"to\",\"down\",\"policies\":[{\"policy\",\"own\",\n"
    "\"runs\":[{\"run_id\",\"scheduled_for\",\"missed\",\"window\"}],\"dropped\",\"more\"}]}}.\n"
    "\n"
    "Examples:\n"
    "  hapax activity preview daily-report\n"
    "  hapax activity preview daily-report --from 2026-03-27 --count 5\n"
    "  hapax activity preview daily-report --from now --down 2h30m\n"
    "  hapax activity preview activities.toml --activity daily-report";

struct Options {
  std::string subject;
  std::optional<std::string> activity;
  std::string from = "now";
  int count = usual_count;
  std::optional<std::string> down;
};

struct Subject {
  schedule::Activity activity;
  Time now;
};

// A subject with a file's ending or a slash, or for which a file exists, is a file; any other subject is an activity's
// ID.
bool is_file(const std::string& subject) {
  return subject == "-" || subject.ends_with(".json") || subject.ends_with(".toml") ||
         subject.find('/') != std::string::npos || access(subject.c_str(), F_OK) == 0;
}

schedule::Activity pick(std::vector<schedule::Activity> activities, const Options& options) {
  std::vector<std::string> ids;
  for (schedule::Activity& activity : activities) {
    if (options.activity ? activity.id == *options.activity : activities.size() == 1) { return std::move(activity); }
    ids.push_back(activity.id);
  }
  throw BadUsage(options.activity
                     ? "no activity '" + *options.activity + "' in " + options.subject + "; it has " + base::listed(ids)
                     : options.subject + " has " + std::to_string(ids.size()) +
                           " activities; say which with --activity: " + base::listed(ids));
}

Subject subject_of(Shell& shell, const Options& options) {
  if (is_file(options.subject)) {
    const auto now = std::chrono::floor<Duration>(std::chrono::system_clock::now());
    return {.activity = pick(read_activity_file(options.subject).activities, options), .now = now};
  }
  if (options.activity) {
    throw BadUsage("--activity picks one of a FILE; " + options.subject + " is an activity's id");
  }
  const std::string document = shell.backend().activity(options.subject, false);
  return {.activity = schedule::parse_stored_activity(read_activity(document).definition),
          .now = shell.backend().now()};
}

void print_fires(const schedule::Activity& activity, const std::vector<schedule::PreviewedFire>& fires) {
  const bool jittered = activity.cron()->jitter > Duration{0};
  std::vector<Column> columns = {{.title = "LOCAL"}, {.title = "UTC"}};
  if (jittered) { columns.push_back({.title = "DUE, WITH ITS JITTER"}); }
  columns.push_back({.title = "NOTE", .folds = true});
  Table table(columns);
  for (const schedule::PreviewedFire& fire : fires) {
    std::vector<Cell> cells = {fire.local, format_time(fire.scheduled_for)};
    if (jittered) { cells.emplace_back(format_time(fire.due)); }
    cells.emplace_back(fire.note, Style::warn);
    table.add(std::move(cells));
  }
  table.print("never from then on");
}

std::string why(const schedule::PreviewedRun& run, const schedule::CronTrigger& cron) {
  if (run.tick.window) {
    return "for " + plural(run.tick.window->missed, "missed tick") + ", " + format_time(run.tick.window->from) +
           " to " + format_time(run.tick.window->to);
  }
  return run.tick.missed ? "made up for" : "late by less than " + format_duration(cron.misfire_grace);
}

void print_outage(const schedule::Activity& activity, const PreviewedOutage& preview) {
  const schedule::Outage& outage = preview.outage;
  const schedule::CronTrigger& cron = *activity.cron();
  print("");
  print("If everything is down for " + format_duration(outage.length) + ", from " + format_time(outage.from) + " to " +
        format_time(outage.from + outage.length) + ":");
  Table table(
      {{.title = "POLICY", .whole = true}, {.title = "STARTED THEN", .widest = 80}, {.title = "WHY", .folds = true}});
  for (const schedule::PreviewedPolicy& policy : preview.policies) {
    const bool own = policy.policy == cron.misfire_policy;
    const Cell name(std::string(to_word(policy.policy)) + (own ? " (its own)" : ""), own ? Style::bold : Style::plain);
    for (std::size_t i = 0; i < policy.runs.size() && i < preview_runs_printed; ++i) {
      table.add({i == 0 ? name : Cell(""), policy.runs[i].id, why(policy.runs[i], cron)});
    }
    if (policy.runs.empty()) { table.add({name, Cell("nothing", Style::dim), ""}); }
    if (policy.runs.size() > preview_runs_printed) {
      const std::size_t more = policy.runs.size() - preview_runs_printed;
      table.add(
          {"", Cell("and " + std::to_string(more) + (policy.more ? " or more" : "") + " others", Style::dim), ""});
    }
    if (policy.dropped > 0) { table.add({"", Cell(plural(policy.dropped, "tick") + " dropped", Style::warn), ""}); }
  }
  table.print("");
}

int preview(Shell& shell, const Options& options) {
  if (options.count < 1 || options.count > limits::preview_fires) {
    throw InvalidArgument("count", std::to_string(options.count) + " is out of range; expected 1 to " +
                                       std::to_string(limits::preview_fires));
  }
  const std::optional<Duration> down =
      options.down ? std::optional(parse_duration(*options.down, "down")) : std::nullopt;
  const Subject subject = subject_of(shell, options);
  const schedule::Activity& activity = subject.activity;
  if (activity.cron() == nullptr) {
    throw InvalidArgument("activity", "'" + activity.id + "' has an event trigger, and so no ticks to tell ahead");
  }
  const Time from =
      parse_instant(options.from, {.zone = activity.cron()->timetable.zone(), .now = subject.now}, "from");
  const std::vector<schedule::PreviewedFire> fires =
      schedule::preview_fires(*activity.cron(), activity.id, from, options.count);
  std::optional<PreviewedOutage> preview;
  if (down) {
    const schedule::Outage outage{.from = from, .length = *down};
    preview =
        PreviewedOutage{.outage = outage, .policies = schedule::preview_outage(*activity.cron(), activity.id, outage)};
  }
  if (shell.json()) {
    print(preview_json({.activity = activity, .from = from, .fires = fires, .outage = preview}));
    return exit_ok;
  }
  print(base::printable(activity.id + ": " + describe_trigger(activity)));
  print("");
  print_fires(activity, fires);
  if (preview) { print_outage(activity, *preview); }
  return exit_ok;
}

}  // namespace

void add_activity_preview(Commands& commands, CLI::App& group) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      commands.add({"preview", "Show next fires, and the effect of an outage", activity_preview_examples}, &group);
  command.add_option("subject", options->subject, "Activity, or a file that defines it")
      ->type_name("ID|FILE|-")
      ->required();
  command.add_option("--activity", options->activity, "Activity to preview, if FILE has several")->type_name("ID");
  command.add_option("--from", options->from, "Show fires from this time on")->type_name("TIME")->capture_default_str();
  command.add_option("--count", options->count, "Number of fires")->type_name("N")->capture_default_str();
  command.add_option("--down", options->down, "Show misfire policies for an outage of D")->type_name("D");
  commands.run_with(command, [options](Shell& shell) { return preview(shell, *options); });
}

}  // namespace hapax::cli
