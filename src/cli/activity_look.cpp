// hapax activity list and show.
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/activity.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"
#include "cli/table.hpp"
#include "schedule/preview.hpp"

namespace hapax::cli {
namespace {

constexpr const char* list_examples =
    "Lists activities by ID. DROPPED counts ticks dropped by the misfire or overlap\n"
    "policy, and events dropped during a pause.\n"
    "With --json an array of {\"id\",\"namespace\",\"kind\",\"description\",\"version\",\n"
    "\"paused\",\"note\",\"next_due\",\"last_started\",\"counts\",\"trouble\",\"created_at\",\n"
    "\"updated_at\",\"definition\"}.\n"
    "\n"
    "Examples:\n"
    "  hapax activity list\n"
    "  hapax activity list --json | jq -r '.[] | select(.trouble) | .id'";

constexpr const char* show_examples =
    "Prints the definition, the next fires, the counts of ticks or events so far, and\n"
    "the last trouble.\n"
    "With --json as in list, with\n"
    "\"next_fires\":[{\"run_id\",\"scheduled_for\",\"local\",\"due\",\"note\"}] and, with\n"
    "--versions, \"versions\":[{\"version\",\"at\",\"actor\",\"definition\"}].\n"
    "\n"
    "Examples:\n"
    "  hapax activity show daily-report\n"
    "  hapax activity show daily-report --versions\n"
    "  hapax activity show daily-report --json | jq .definition > daily-report.json";

std::string state_text(const model::ActivityState& state) {
  return state.paused ? "paused" + (state.note.empty() ? "" : ": " + state.note) : "active";
}

// A running ticker is seconds late at most, so a later fire means that no ticker runs.
bool is_overdue(const model::ActivityState& state, Time now) {
  return state.next_due && now - *state.next_due > std::chrono::seconds(10);
}

struct ListOptions {
  int limit = limits::list_page;
  std::optional<std::string> after;
};

int list(Shell& shell, const ListOptions& options) {
  if (options.limit < 1 || options.limit > limits::list_page) {
    throw InvalidArgument("limit", std::to_string(options.limit) + " is out of range; expected 1 to " +
                                       std::to_string(limits::list_page));
  }
  const std::vector<std::string> found = shell.backend().activities(options.limit, options.after);
  if (shell.json()) {
    print(json_array(found));
    return exit_ok;
  }
  const Time now = shell.backend().now();
  Table table({{.title = "ACTIVITY", .widest = 40},
               {.title = "STATE"},
               {.title = "RUNS", .folds = true},
               {.title = "TARGET", .folds = true},
               {.title = "NEXT"},
               {.title = "LAST"},
               {.title = "STARTED", .numeric = true},
               {.title = "DROPPED", .numeric = true},
               {.title = "TROUBLE", .folds = true}});
  for (const std::string& document : found) {
    const model::ActivityState state = read_activity(document);
    const std::optional<schedule::Activity> activity = readable(state);
    table.add({state.id, state.paused ? Cell("paused", Style::warn) : Cell("active"), trigger_text(state),
               activity ? target_text(*activity) : "",
               Cell(when(state.next_due, now), is_overdue(state, now) ? Style::warn : Style::plain),
               when(state.last_started, now), std::to_string(state.counts.started),
               std::to_string(state.counts.missed + state.counts.overlapped), Cell(state.trouble, Style::bad)});
  }
  table.print("no activities");
  if (std::ssize(found) == options.limit) {
    ProgressLine(shell).remark("there may be more: --after " + JsonView(found.back()).text("id"));
  }
  return exit_ok;
}

void add_clock_facts(Facts& facts, const schedule::CronTrigger& cron) {
  facts.add("cron", cron.timetable.cron().text + ", " + cron.timetable.zone().name());
  std::string missed(to_word(cron.misfire_policy));
  if (cron.misfire_policy == schedule::MisfirePolicy::catchup) {
    missed += ", the newest " + std::to_string(cron.catchup_limit);
  }
  facts.add("when missed", missed + " (by more than " + format_duration(cron.misfire_grace) + ")");
  facts.add("when it overlaps", std::string(to_word(cron.overlap)));
  if (cron.jitter > Duration{0}) { facts.add("jitter", format_duration(cron.jitter)); }
  if (cron.start) { facts.add("start", format_time(*cron.start)); }
  if (cron.end) { facts.add("end", format_time(*cron.end)); }
}

void add_event_facts(Facts& facts, const schedule::EventTrigger& event) {
  const nlohmann::json trigger = schedule::encode_event_trigger(event);
  if (const auto filter = trigger.find("filter"); filter != trigger.end()) { facts.add("filter", filter->dump()); }
}

std::string tasks_text(const schedule::Activity& activity) {
  std::string text;
  for (const schedule::TaskInstance& task : activity.tasks) {
    text += (text.empty() ? "" : ", ") + task.task_type + (task.queue ? " in queue " + *task.queue : "");
  }
  return text;
}

void add_counts(Facts& facts, const model::ActivityState& state, Time now) {
  const model::ActivityCounts& counts = state.counts;
  facts.add("started",
            std::to_string(counts.started) + (state.last_started ? ", the last " + when(state.last_started, now) : ""));
  const auto add = [&facts](const char* name, std::int64_t count, const char* what) {
    if (count > 0) { facts.add(name, std::to_string(count) + " " + what); }
  };
  add("duplicates", counts.duplicates, "that had run before");
  add("missed", counts.missed,
      state.kind == model::ActivityKind::cron ? "dropped by the misfire policy" : "dropped while paused");
  add("overlapped", counts.overlapped, "dropped by the overlap policy");
  add("refused", counts.refused, "could not be started");
}

void print_facts(const model::ActivityState& state, Time now) {
  const std::optional<schedule::Activity> activity = readable(state);
  Facts facts;
  facts.add("activity", state.id, Style::bold);
  if (activity && activity->name != state.id) { facts.add("name", activity->name); }
  if (activity) { facts.add_if("description", activity->description); }
  facts.add("state", state_text(state), state.paused ? Style::warn : Style::plain);
  facts.add("runs", trigger_text(state));
  if (activity) {
    if (activity->cron() != nullptr) { add_clock_facts(facts, *activity->cron()); }
    if (activity->event() != nullptr) { add_event_facts(facts, *activity->event()); }
    facts.add("target", target_text(*activity));
    facts.add_if("with it", tasks_text(*activity));
    if (activity->input.json() != "null") { facts.add("input", std::string(activity->input.json())); }
  } else {
    facts.add("definition", state.definition);
  }
  facts.add("version", std::to_string(state.version) + ", since " + when(state.updated_at, now));
  add_counts(facts, state, now);
  if (!state.trouble.empty()) { facts.add("trouble", state.trouble, Style::bad); }
  if (is_overdue(state, now)) {
    facts.add("overdue",
              "since " + format_time(*state.next_due) + ": no worker is running on this store (hapax work …)",
              Style::warn);
  }
  if (activity && !state.paused) {
    std::string next;
    for (const schedule::PreviewedFire& fire : next_fires(*activity, now)) {
      next += (next.empty() ? "" : "\n") + fire.local + (fire.note.empty() ? "" : "  " + fire.note);
    }
    facts.add_if("next", next.empty() && activity->cron() != nullptr ? "never again" : next);
  }
  facts.print();
}

int show(Shell& shell, const std::string& id, bool with_versions) {
  const std::string document = shell.backend().activity(id, with_versions);
  if (shell.json()) {
    print(document);
    return exit_ok;
  }
  const Time now = shell.backend().now();
  print_facts(read_activity(document), now);
  if (!with_versions) { return exit_ok; }
  print("");
  Table table({{.title = "VERSION", .numeric = true},
               {.title = "SINCE"},
               {.title = "BY", .folds = true},
               {.title = "DEFINITION", .folds = true}});
  for (const model::ActivityVersion& version : read_versions(document)) {
    table.add({std::to_string(version.version), when(version.at, now), version.actor, version.definition});
  }
  table.print("no versions");
  return exit_ok;
}

}  // namespace

void add_activity_looking(Commands& commands, CLI::App& group) {
  const auto listing = std::make_shared<ListOptions>();
  CLI::App& list_command = commands.add({"list", "List the namespace's activities", list_examples}, &group);
  list_command.add_option("--limit", listing->limit, "Print at most N")->type_name("N")->capture_default_str();
  list_command.add_option("--after", listing->after, "Continue after this activity")->type_name("ID");
  commands.run_with(list_command, [listing](Shell& shell) { return list(shell, *listing); });

  struct ShowOptions {
    std::string id;
    bool versions = false;
  };
  const auto showing = std::make_shared<ShowOptions>();
  CLI::App& show_command = commands.add({"show", "Show one activity in full", show_examples}, &group);
  add_activity_id(show_command, showing->id);
  show_command.add_flag("--versions", showing->versions, "Also print earlier definitions, with actors");
  commands.run_with(show_command, [showing](Shell& shell) { return show(shell, showing->id, showing->versions); });
}

}  // namespace hapax::cli
