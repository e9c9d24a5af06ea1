// hapax activity pause, resume, trigger and backfill.
#include "api/execution_read.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "cli/activity.hpp"
#include "cli/arguments.hpp"
#include "cli/awaiting.hpp"
#include "cli/event_input.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"

namespace hapax::cli {
namespace {

constexpr const char* pause_examples =
    "A paused activity starts nothing by itself; `trigger` and `backfill` still work.\n"
    "Ticks during the pause count as missed when it ends, events during the pause are\n"
    "dropped. Pausing again changes the note. With --json: the activity, as in show.\n"
    "\n"
    "Example:\n"
    "  hapax activity pause daily-report --note 'the warehouse moves'";

constexpr const char* trigger_examples =
    "Runs the activity now, even if it is paused. A second call with the same --key\n"
    "returns the first run; without --key each call starts a run. --event gives an\n"
    "activity with an event trigger the event to run for.\n"
    "With --json: {\"run_id\",\"id\",\"created\",\"status\",\"result\"?,\"error\"?}; \"id\" is the\n"
    "ID of the execution.\n"
    "\n"
    "Examples:\n"
    "  hapax activity trigger daily-report\n"
    "  hapax activity trigger daily-report --key rerun-2026-03-01 --wait\n"
    "  hapax activity trigger on-order --event order.json\n"
    "\n"
    "Exit codes: 0 started, or the run exists already; 3 the queue drains; 65 an\n"
    "invalid key or event; 66 no such activity.\n"
    "With --wait: 0 completed, 1 ended otherwise, 124 still going.";

constexpr const char* backfill_examples =
    "Runs the ticks of a past time range, both ends included, each under its own run\n"
    "ID: ticks that ran already do not run again. TIME is 2026-03-01T09:00:00Z, or a\n"
    "date or time in the activity's time zone. A date means the beginning of that day\n"
    "for --from and its end for --to.\n"
    "With --json: {\"from\",\"to\",\"ticks\",\"started\",\"existing\",\"refused\",\"trouble\"}.\n"
    "\n"
    "Example:\n"
    "  hapax activity backfill daily-report --from 2026-03-01 --to 2026-03-07\n"
    "\n"
    "Exit codes: 0 done; 3 some runs could not be started.";

int pause(Shell& shell, const std::string& id, const std::string& note) {
  if (!base::is_valid_utf8(note)) { throw InvalidArgument("note", "is not UTF-8"); }
  if (note.size() > limits::note_bytes) { throw PayloadTooLarge("note", note.size(), limits::note_bytes); }
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
  const std::string document =
      shell.backend().backfill_activity(options.id, {.from = options.from, .to = options.to},
                                        [&](const schedule::Activities::Backfill& so_far, double fraction) {
                                          if (!progress.due()) { return; }
                                          progress.show(progress_bar(fraction) + "  " + grouped(so_far.ticks) +
                                                        " ticks, " + grouped(so_far.started) + " started");
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
  CLI::App& pause_command = commands.add({"pause", "Stop an activity from starting runs", pause_examples}, &group);
  add_activity_id(pause_command, pausing->id);
  pause_command.add_option("--note", pausing->note, "Reason, shown with the activity")->type_name("TEXT");
  commands.run_with(pause_command, [pausing](Shell& shell) { return pause(shell, pausing->id, pausing->note); });

  CLI::App& resume_command = commands.add({"resume", "Resume an activity; its misfire policy applies", ""}, &group);
  add_activity_id(resume_command, pausing->id);
  commands.run_with(resume_command, [pausing](Shell& shell) { return resume(shell, pausing->id); });

  const auto triggering = std::make_shared<TriggerOptions>();
  CLI::App& trigger_command = commands.add({"trigger", "Run an activity now", trigger_examples}, &group);
  add_activity_id(trigger_command, triggering->id);
  trigger_command.add_option("--key", triggering->key, "Idempotency key: the same key runs once")->type_name("KEY");
  trigger_command.add_option("--event", triggering->event, "Event to run for: a file, - or JSON")
      ->type_name("FILE|-|JSON");
  trigger_command.add_flag("--wait", triggering->wait, "Wait for the outcome and print it");
  trigger_command.add_option("--wait-timeout", triggering->wait_timeout, "Wait at most D")->type_name("D");
  commands.run_with(trigger_command, [triggering](Shell& shell) { return trigger(shell, *triggering); });

  const auto filling = std::make_shared<BackfillOptions>();
  CLI::App& backfill_command =
      commands.add({"backfill", "Run the ticks of a past time range", backfill_examples}, &group);
  add_activity_id(backfill_command, filling->id);
  backfill_command.add_option("--from", filling->from, "Run ticks at or after this time")
      ->type_name("TIME")
      ->required();
  backfill_command.add_option("--to", filling->to, "Run ticks at or before this time")->type_name("TIME")->required();
  commands.run_with(backfill_command, [filling](Shell& shell) { return backfill(shell, *filling); });
}

}  // namespace hapax::cli
