#include "base/json_out.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"
#include "cli/work_left.hpp"
#include "cli/work_loop.hpp"

namespace hapax::cli {
namespace {

constexpr const char* work_examples =
    "Starts the program once for each execution. The program gets the input JSON as\n"
    "one line on standard input, and in its environment HAPAX_EXECUTION_ID,\n"
    "HAPAX_TASK, HAPAX_ATTEMPT, HAPAX_FENCE, HAPAX_EFFECT_KEY, HAPAX_QUEUE,\n"
    "HAPAX_NAMESPACE, HAPAX_RUN, HAPAX_MAX_ATTEMPTS and, if there are any,\n"
    "HAPAX_TRACEPARENT and HAPAX_TRACESTATE. Other HAPAX_ variables and PGPASSWORD\n"
    "may be secrets: the program does not get them, unless --pass-env names them. The\n"
    "outcome is how the program ends:\n"
    "  exit 0            completed; the result is the JSON on standard output (no\n"
    "                    output: null; other text: that text, as a string)\n"
    "  exit 65           failed for good, no retry\n"
    "  exit 75           a failed attempt; the program asks for a retry\n"
    "  anything else     a failed attempt, retried while attempts are left\n"
    "The tail of standard error is kept as the error's detail. A cancelled or\n"
    "timed-out program gets SIGTERM, then SIGKILL. --exec with blanks runs through\n"
    "/bin/sh -c, otherwise the program is started directly.\n"
    "\n"
    "On SIGTERM or Ctrl-C the worker claims nothing more, lets programs finish within\n"
    "--grace, and releases the rest without spending an attempt. A second signal\n"
    "kills the programs at once and releases their executions.\n"
    "Workflows (they run only in programs that have their function), and tasks that\n"
    "--task leaves out, are not run here: --until-empty waits for them and says so,\n"
    "--until-idle ends without them, with exit code 4 if any are left.\n"
    "With --server the worker claims through the API, with a token of scope work (and\n"
    "read, for --until-empty and --until-idle).\n"
    "\n"
    "--processes N starts a supervisor and N worker processes. A process that dies is\n"
    "started again, with a growing pause if it keeps dying; a process that does not\n"
    "end when told to is killed. SIGHUP replaces the processes one by one, which\n"
    "applies a changed configuration; a new build of hapax needs a new start.\n"
    "\n"
    "Examples:\n"
    "  hapax work --queue emails --exec ./send.sh --concurrency 4\n"
    "  hapax work --queue imports --task load --exec 'jq -c .rows' --until-empty\n"
    "  hapax work --queue emails --exec ./send.sh --processes 4 --concurrency 8\n"
    "  hapax work --exec ./load.sh --pass-env HAPAX_STORE_URL  # it calls hapax";

void print_summary(const Shell& shell, const engine::WorkerStats& stats, std::chrono::steady_clock::duration elapsed,
                   const SupervisorCounts* processes, const WorkLeft* left) {
  const auto took = std::chrono::duration_cast<Duration>(elapsed);
  if (shell.json()) {
    JsonObject object;
    object.number("completed", stats.completed).number("failed", stats.failed).number("retried", stats.retried);
    object.number("cancelled", stats.cancelled).number("timed_out", stats.timed_out).number("released", stats.released);
    object.number("snoozed", stats.snoozed).number("stale", stats.stale).number("sessions_lost", stats.sessions_lost);
    if (processes != nullptr) {
      object.number("processes_started", processes->started).number("restarts", processes->restarts);
      object.number("killed", processes->killed);
    }
    if (left != nullptr) { object.number("left", left->others); }
    print(object.number("elapsed_ms", std::int64_t{took.count() / 1000}).str());
  } else if (!shell.quiet()) {
    std::string text = grouped(stats.completed) + " completed, " + grouped(stats.failed) + " failed";
    const auto add = [&text](std::int64_t count, const char* what) {
      text += count > 0 ? ", " + grouped(count) + " " + what : "";
    };
    add(stats.retried, "attempts to retry");
    add(stats.cancelled, "cancelled");
    add(stats.timed_out, "timed out");
    add(stats.released, "released");
    add(stats.stale, "refused as stale");
    if (processes != nullptr) {
      add(processes->restarts, processes->restarts == 1 ? "process restarted" : "processes restarted");
      add(processes->killed, processes->killed == 1 ? "process killed" : "processes killed");
    }
    print(text + " in " + rough(took));
    if (left != nullptr && left->others > 0) { print("left, as this worker does not run it: " + left->text); }
  }
}

// The executions left, with --until-idle. None if a signal ended the worker while its own executions were left.
std::optional<WorkLeft> left_when_idle(Shell& shell, const WorkOptions& options) {
  if (!options.until_idle) { return std::nullopt; }
  WorkLeft left = look_at_left(shell.backend(), plan_work(shell, options));
  return left.own ? std::nullopt : std::optional(std::move(left));
}

int exit_of(const std::optional<WorkLeft>& left) { return left && left->others > 0 ? exit_left : exit_ok; }

int work_alone(Shell& shell, const WorkOptions& options) {
  const auto begun = std::chrono::steady_clock::now();
  WorkPlan plan = plan_work(shell, options);
  plan.leaving = [&](const engine::WorkerStats& stats) {
    print_summary(shell, stats, std::chrono::steady_clock::now() - begun, nullptr, nullptr);
  };
  const engine::WorkerStats stats = work(shell, std::move(plan));
  const std::optional<WorkLeft> left = left_when_idle(shell, options);
  print_summary(shell, stats, std::chrono::steady_clock::now() - begun, nullptr, left ? &*left : nullptr);
  return exit_of(left);
}

// Throws the error that ended a process for good, as if the command itself had met it.
void refuse(const SupervisorReport& report) {
  switch (report.exit_code) {
    case exit_usage: throw BadUsage(report.reason);
    case exit_data: throw BadData("InvalidArgument", report.reason);
    case exit_missing: throw MissingFile(report.reason);
    case exit_configuration:
      if (report.error == "SchemaMismatch") { throw SchemaMismatch(report.reason); }
      throw ConfigurationError(report.reason);
    default: break;
  }
}

// The supervisor reads the configuration, so that its problems are reported once, and opens no store, because forked
// processes need connections of their own.
int work_in_processes(const Shell& shell, const WorkOptions& options) {
  const WorkPlan plan = plan_work(shell, options);
  if (*options.processes < 1) {
    throw InvalidArgument("processes", std::to_string(*options.processes) + " is out of range; expected 1 or more");
  }
  if (shell.server_url().empty() && shell.store_url().starts_with("memory:")) {
    throw BadUsage("--processes: a memory: store is one process's own; expected sqlite:PATH or postgresql://…");
  }
  const auto begun = std::chrono::steady_clock::now();
  ProgressLine progress(shell);
  SupervisorOptions supervising;
  supervising.processes = *options.processes;
  supervising.grace = plan.worker.grace;
  supervising.kill_after = plan.process.kill_after + std::chrono::seconds(10);
  supervising.on_log = [&progress](LogLevel, std::string_view text, const LogFields&) {
    progress.trouble(std::string(text));
  };
  supervising.on_progress = [&](const SupervisorCounts& counts) {
    if (!progress.due()) { return; }
    progress.show(live_text(stats_of(counts.work), std::chrono::steady_clock::now() - begun) + ", " +
                  std::to_string(counts.processes) + (counts.processes == 1 ? " process" : " processes"));
  };
  const SupervisorReport report = supervise(supervising, [&](SupervisedProcess& process) {
    // Each process reads the configuration, so that a rolling restart applies a changed file.
    Shell own = shell.fresh();
    WorkPlan own_plan = plan_work(own, options);
    if (!options.name.empty()) { own_plan.worker.name = options.name + "-" + std::to_string(process.number()); }
    (void)work(own, std::move(own_plan), &process);
    return static_cast<int>(exit_ok);
  });
  progress.clear();
  refuse(report);
  Shell own = shell.fresh();
  const std::optional<WorkLeft> left = left_when_idle(own, options);
  print_summary(shell, stats_of(report.counts.work), std::chrono::steady_clock::now() - begun, &report.counts,
                left ? &*left : nullptr);
  return exit_of(left);
}

}  // namespace

void add_work(Commands& commands) {
  const auto options = std::make_shared<WorkOptions>();
  CLI::App& command = commands.add({"work", "Run a program for each execution of queues", work_examples});
  command.add_option("--queue", options->queues, "Queues, in claim order (default: \"default\")")->type_name("Q …");
  command.add_option("--task", options->tasks, "Only these tasks (default: any task)")->type_name("NAME …");
  command.add_option("--exec", options->exec, "Program, or shell command if it has blanks")
      ->type_name("PROGRAM")
      ->required();
  command.add_option("--concurrency", options->concurrency, "Programs at once (default: configured, or 1)")
      ->type_name("N");
  CLI::Option* const empty =
      command.add_flag("--until-empty", options->until_empty, "End when nothing is pending or running");
  command.add_flag("--until-idle", options->until_idle, "End when this worker could run nothing more")->excludes(empty);
  command.add_option("--lease", options->lease, "Others take over D after a crash (default 30s)")->type_name("D");
  command.add_option("--timeout", options->timeout, "Limit per attempt, beside the execution's own")->type_name("D");
  command.add_option("--grace", options->grace, "Let programs finish within D (default 30s)")->type_name("D");
  command.add_option("--kill-after", options->kill_after, "Time between SIGTERM and SIGKILL")
      ->type_name("D")
      ->capture_default_str();
  command.add_option("--pass-env", options->pass_env, "Variable to pass to the program; repeatable")
      ->type_name("NAME")
      ->allow_extra_args(false);
  command.add_option("--name", options->name, "Label of this worker (default: host and PID)")->type_name("NAME");
  command.add_option("--processes", options->processes, "Worker processes, each with --concurrency")->type_name("N");
  commands.run_with(command, [options](Shell& shell) {
    return options->processes ? work_in_processes(shell, *options) : work_alone(shell, *options);
  });
}

}  // namespace hapax::cli
