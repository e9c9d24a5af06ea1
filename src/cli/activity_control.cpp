// hapax activity pause, resume, trigger and backfill.
#include "base/text.hpp"
#include "cli/activity.hpp"
#include "cli/arguments.hpp"
#include "cli/awaiting.hpp"
#include "cli/event_input.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"
#include "wire/execution_read.hpp"

namespace hapax::cli {
namespace {

constexpr const char* pause_examples =
    "Ticks of the pause are missed ones when it is over, events of it are dropped. `trigger` and `backfill` work all "
    "the\n"
    "same. Pausing again changes the note. With --json the activity, as in show.\n"
    "\n"
    "Example:\n"
    "  hapax activity pause daily-report --note 'the warehouse moves'";

constexpr const char* trigger_examples =
    "Runs it now, paused or not. With --key, asking again meets the first run; without, each call is one. An activity "
    "for\n"
    "events may be given one by --event.\n"
    "With --json: {\"run_id\",\"id\",\"created\",\"status\",\"result\"?,\"error\"?}; the id is the execution's.\n"
    "\n"
    "Examples:\n"
    "  hapax activity trigger daily-report\n"
    "  hapax activity trigger daily-report --key rerun-2026-03-01 --wait\n"
    "  hapax activity trigger on-order --event order.json\n"
    "\n"
    "Exit codes: 0 started or met; 3 the queue drains; 65 a key or event that cannot be taken; 66 no such activity;\n"
    "with --wait: 0 completed, 1 ended otherwise, 124 still going.";

constexpr const char* backfill_examples =
    "Runs the ticks of a time gone by, both ends included, each under its own id: what ran already does not run again. "
    "TIME\n"
    "is 2026-03-01T09:00:00Z, or a date or time in the activity's time zone: 2026-03-01 as --from is the beginning of "
    "that\n"
    "day, as --to its end.\n"
    "With --json: {\"from\",\"to\",\"ticks\",\"started\",\"existing\",\"refused\",\"trouble\"}.\n"
    "\n"
    "Example:\n"
    "  hapax activity backfill daily-report --from 2026-03-01 --to 2026-03-07\n"
    "\n"
    "Exit codes: 0 done, 3 some could not be started.";

int pause(Shell& shell, const std::string& id, const std::string& note) {
  if (!base::is_valid_utf8(note)) { throw InvalidArgument("note", "is not UTF-8"); }
  const std::string document = shell.backend().pause_activity(id, note);
  print(shell.json() ? document : base::printable("activity " + id + " is paused" + (note.empty() ? "" : ": " + note)));
  return exit_ok;
}

int resume(Shell& shell, const std::string& id) {
  const std::string document = shell.backend().resume_activity(id);
  if (shell.json()) {
    print(document);
    return exit_ok;
  }
  const std::optional<Time> due = read_activity(document).next_due;
  const std::string next = due ? "; next " + when(due, shell.backend().now()) : "";
  print(base::printable("activity " + id + " is active" + next));
  return exit_ok;
}

struct TriggerOptions {
  std::string id;
  std::optional<std::string> key;
  std::optional<std::string> event;
  bool wait = false;
  std::optional<std::string> wait_timeout;
};

void print_started(const Shell& shell, const std::string& document, const std::optional<model::Outcome>& end) {
  const schedule::Activities::Started started{.run_id = JsonView(document).text("run_id"),
                                              .admission = read_admission(document)};
  if (shell.json()) {
    print(end ? started_json(started, end) : document);
    return;
  }
  const model::Admission& admission = started.admission;
  const Status status = end ? end->status : admission.status;
  print(base::printable((admission.created() ? "started " : "existing ") + started.run_id) + " " +
        admission.id.to_string() + " " + paint(output_terminal(), status_style(status), to_string(status)));
  if (!end) { return; }
  if (status == Status::completed) { print(base::printable(end->result.value_or("null"))); }
  if (end->error) { print(base::printable(error_line(end->error))); }
}

int trigger(Shell& shell, const TriggerOptions& options) {
  const std::optional<Duration> wait_timeout = optional_duration(options.wait_timeout, "--wait-timeout");
  schedule::Activities::Manual manual{.key = options.key, .event = {}};
  if (options.event) { manual.event = read_event(*options.event); }
  shell.use_configuration();
  const std::string document = shell.backend().trigger_activity(options.id, manual);
  std::optional<model::Outcome> end;
  if (options.wait) { end = await_outcome(shell, read_admission(document).id, wait_timeout); }
  print_started(shell, document, end);
  return options.wait ? exit_code_of(end->status) : exit_ok;
}

struct BackfillOptions {
  std::string id;
  std::string from;
  std::string to;
};

int backfill(Shell& shell, const BackfillOptions& options) {
  shell.use_configuration();
  ProgressLine progress(shell);
  const std::string document = shell.backend().backfill_activity(
      options.id, {.from = options.from, .to = options.to},
      [&](const schedule::Activities::Backfill& so_far, std::int64_t left) {
        if (!progress.due()) { return; }
        const std::int64_t all = std::max<std::int64_t>(1, so_far.ticks + left);
        progress.show(progress_bar(static_cast<double>(so_far.ticks) / static_cast<double>(all)) + "  " +
                      grouped(so_far.ticks) + " of " + grouped(all) + " ticks, " + grouped(so_far.started) +
                      " started");
      });
  progress.clear();
  const JsonView report(document);
  const std::int64_t ticks = report.integer("ticks");
  const std::int64_t refused = report.integer("refused");
  if (shell.json()) {
    print(document);
  } else if (ticks == 0) {
    print("no ticks from " + report.text("from") + " to " + report.text("to"));
  } else {
    std::string text = grouped(ticks) + (ticks == 1 ? " tick: " : " ticks: ") + grouped(report.integer("started")) +
                       " started, " + grouped(report.integer("existing")) + " had run before";
    if (refused > 0) { text += ", " + grouped(refused) + " refused (" + report.text("trouble") + ")"; }
    print(base::printable(text));
  }
  return refused > 0 ? exit_conflict : exit_ok;
}

}  // namespace

void add_activity_control(Commands& commands, CLI::App& group) {
  struct PauseOptions {
    std::string id;
    std::string note;
  };
  const auto pausing = std::make_shared<PauseOptions>();
  CLI::App& pause_command = commands.add({"pause", "It starts nothing until it is resumed", pause_examples}, &group);
  add_activity_id(pause_command, pausing->id);
  pause_command.add_option("--note", pausing->note, "Why, for others")->type_name("TEXT");
  commands.run_with(pause_command, [pausing](Shell& shell) { return pause(shell, pausing->id, pausing->note); });

  CLI::App& resume_command =
      commands.add({"resume", "Ends a pause; what its ticks missed is up to its misfire policy", ""}, &group);
  add_activity_id(resume_command, pausing->id);
  commands.run_with(resume_command, [pausing](Shell& shell) { return resume(shell, pausing->id); });

  const auto triggering = std::make_shared<TriggerOptions>();
  CLI::App& trigger_command = commands.add({"trigger", "Run it now", trigger_examples}, &group);
  add_activity_id(trigger_command, triggering->id);
  trigger_command.add_option("--key", triggering->key, "The same key runs once")->type_name("KEY");
  trigger_command.add_option("--event", triggering->event, "The event it is run for: a file, - or JSON")
      ->type_name("FILE|-|JSON");
  trigger_command.add_flag("--wait", triggering->wait, "Wait for the outcome and print it");
  trigger_command.add_option("--wait-timeout", triggering->wait_timeout, "At most this long")->type_name("D");
  commands.run_with(trigger_command, [triggering](Shell& shell) { return trigger(shell, *triggering); });

  const auto filling = std::make_shared<BackfillOptions>();
  CLI::App& backfill_command = commands.add({"backfill", "Run the ticks of a time gone by", backfill_examples}, &group);
  add_activity_id(backfill_command, filling->id);
  backfill_command.add_option("--from", filling->from, "The first tick at or after")->type_name("TIME")->required();
  backfill_command.add_option("--to", filling->to, "The last tick at or before")->type_name("TIME")->required();
  commands.run_with(backfill_command, [filling](Shell& shell) { return backfill(shell, *filling); });
}

}  // namespace hapax::cli
