#include "base/limits.hpp"
#include "cli/arguments.hpp"
#include "cli/exit_code.hpp"
#include "cli/process_worker.hpp"
#include "cli/progress.hpp"
#include "cli/render.hpp"
#include "cli/signals.hpp"
#include "engine/engine.hpp"
#include "engine/worker.hpp"
#include "model/validate.hpp"
#include "schedule/ticker.hpp"
#include "wire/json_out.hpp"

#include <algorithm>
#include <atomic>
#include <csignal>
#include <deque>
#include <mutex>
#include <thread>

namespace hapax::cli {
namespace {

constexpr const char* examples =
    "Each execution starts the program once. It gets the input JSON as one line on standard input, and in its "
    "environment\n"
    "HAPAX_EXECUTION_ID, HAPAX_TASK, HAPAX_ATTEMPT, HAPAX_FENCE, HAPAX_EFFECT_KEY, HAPAX_QUEUE, HAPAX_NAMESPACE, "
    "HAPAX_RUN,\n"
    "HAPAX_MAX_ATTEMPTS and, if there is one, HAPAX_TRACEPARENT. How it ends is the outcome:\n"
    "  exit 0            completed; JSON on standard output is the result (nothing: null; anything else: failed for "
    "good)\n"
    "  exit 65           failed for good, no retry\n"
    "  exit 75           a failed attempt that asks for a retry\n"
    "  anything else     a failed attempt, retried while attempts are left\n"
    "The tail of standard error is kept as the error's detail. A cancelled or timed-out one gets SIGTERM, then "
    "SIGKILL.\n"
    "--exec with blanks is run by /bin/sh -c, otherwise directly.\n"
    "\n"
    "SIGTERM or Ctrl-C: claims nothing more, lets programs finish within --grace, releases the rest without spending "
    "an\n"
    "attempt. A second one kills the programs at once and releases their executions.\n"
    "Workflows are left to programs that have their function.\n"
    "\n"
    "Examples:\n"
    "  hapax work --queue emails --exec ./send.sh --concurrency 4\n"
    "  hapax work --queue imports --task load --exec 'jq -c .rows' --until-empty --json";

constexpr int usual_concurrency = 1;

struct Options {
  std::vector<std::string> queues;
  std::vector<std::string> tasks;
  std::string exec;
  std::optional<int> concurrency;
  bool until_empty = false;
  std::optional<std::string> lease;
  std::optional<std::string> grace;
  std::string kill_after = "5s";
  std::optional<std::string> timeout;
  std::string name;
};

engine::WorkerOptions worker_options(const Shell& shell, const Options& options) {
  engine::WorkerOptions worker;
  worker.queues.clear();
  for (const std::string& name : options.queues) { worker.queues.push_back(shell.queue(name)); }
  if (worker.queues.empty()) { worker.queues.push_back(shell.queue("default")); }
  for (const std::string& task : options.tasks) { model::check_name(task, "task"); }
  worker.tasks = options.tasks;
  // The command line counts before the configuration.
  const config::WorkerSection& configured = shell.configuration().worker;
  worker.threads = options.concurrency.value_or(configured.threads.value_or(usual_concurrency));
  if (worker.threads < 1 || worker.threads > limits::worker_threads) {
    throw InvalidArgument("concurrency", std::to_string(worker.threads) + " is out of range; expected 1 to " +
                                             std::to_string(limits::worker_threads));
  }
  worker.lease = optional_duration(options.lease, "lease").value_or(configured.lease.value_or(config::usual_lease));
  if (worker.lease < limits::lease_min || worker.lease > limits::lease_max) {
    throw InvalidArgument("lease", format_duration(worker.lease) + " is out of range; expected " +
                                       format_duration(limits::lease_min) + " to " +
                                       format_duration(limits::lease_max));
  }
  // A lease of the command line goes with a heartbeat of its own.
  if (!options.lease) { worker.heartbeat = configured.heartbeat; }
  worker.grace = optional_duration(options.grace, "grace").value_or(configured.grace.value_or(config::usual_grace));
  if (!options.name.empty()) { model::check_name(options.name, "name"); }
  worker.name = options.name;
  worker.build = std::string("hapax ") + HAPAX_VERSION;
  return worker;
}

// Remarks of the worker's threads, printed by the main one.
class Remarks {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < 100) { waiting_.emplace_back(text); }
  }
  void print(ProgressLine& progress) {
    const std::lock_guard lock(mutex_);
    for (const std::string& text : waiting_) { progress.remark(text); }
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> waiting_;
};

std::int64_t done(const engine::WorkerStats& stats) {
  return stats.completed + stats.failed + stats.cancelled + stats.timed_out;
}

std::string live_text(const engine::WorkerStats& stats, std::chrono::steady_clock::duration elapsed) {
  std::string text = grouped(stats.completed) + " completed, " + grouped(stats.failed) + " failed, " +
                     grouped(stats.retried) + " to retry, " + std::to_string(stats.running) + " running, " +
                     rate_text(done(stats), elapsed);
  return text + (stats.store_away ? " (the store does not answer)" : "");
}

void print_summary(const Shell& shell, const engine::WorkerStats& stats, std::chrono::steady_clock::duration elapsed) {
  const auto took = std::chrono::duration_cast<Duration>(elapsed);
  if (shell.json()) {
    JsonObject object;
    object.number("completed", stats.completed).number("failed", stats.failed).number("retried", stats.retried);
    object.number("cancelled", stats.cancelled).number("timed_out", stats.timed_out).number("released", stats.released);
    object.number("snoozed", stats.snoozed).number("stale", stats.stale).number("sessions_lost", stats.sessions_lost);
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
    print(text + " in " + rough(took));
  }
}

void wait_for(const ProcessWorker& process, Duration at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (process.busy() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

int run(Shell& shell, const Options& options) {
  Program program(options.exec);
  shell.use_configuration();
  engine::WorkerOptions worker_settings = worker_options(shell, options);
  const Duration kill_after = parse_duration(options.kill_after, "kill-after");
  // A program has until it is killed; only then its thread is given up and another takes its place.
  worker_settings.stop_patience = kill_after + std::chrono::seconds(1);
  // Shared with the handler's threads: one whose program cannot even be killed is left behind.
  const auto process = std::make_shared<ProcessWorker>(
      std::move(program),
      ProcessOptions{.kill_after = kill_after, .timeout = optional_duration(options.timeout, "timeout")});
  // Before any other thread starts, so that all of them inherit it.
  StopSignals signals;
  Remarks remarks;
  worker_settings.events.trouble = [&remarks](std::string_view text) { remarks.add(text); };
  const auto engine = std::make_shared<engine::Engine>(shell.shared_store());
  const auto begun = std::chrono::steady_clock::now();
  engine::Worker worker(engine, worker_settings, [process](engine::Run& attempt) { return process->run(attempt); });
  schedule::Ticker::Options ticking;
  ticking.on_trouble = worker_settings.events.trouble;
  schedule::start_ticker(*engine, std::move(ticking));
  ProgressLine progress(shell);

  std::atomic<bool> finished{false};
  std::thread closing;
  const auto close = [&] {
    closing = std::thread([&] {
      worker.stop();
      finished = true;
    });
  };
  std::thread watching([&, until_empty = options.until_empty] {
    try {
      if (until_empty && worker.wait_until_empty()) { signals.raise_done(); }
    } catch (const std::exception& error) {
      remarks.add(error.what());
      signals.raise_done();
    }
  });
  int asked = 0;
  while (!finished) {
    const StopSignals::Event event = signals.wait(std::chrono::milliseconds(closing.joinable() ? 10 : 100));
    remarks.print(progress);
    if (progress.due()) { progress.show(live_text(worker.stats(), std::chrono::steady_clock::now() - begun)); }
    if (event == StopSignals::Event::none) { continue; }
    asked += event == StopSignals::Event::stop ? 1 : 0;
    if (!closing.joinable()) {
      if (event == StopSignals::Event::stop) {
        progress.remark("stopping: programs may finish within " + format_duration(worker_settings.grace) +
                        "; once more to kill them");
      }
      close();
    } else if (asked > 1) {
      process->kill_all();
    }
  }
  closing.join();
  watching.join();
  // Programs that outlived the grace period have been told to stop; none is left behind.
  wait_for(*process, kill_after);
  process->kill_all();
  wait_for(*process, std::chrono::seconds(2));
  remarks.print(progress);
  progress.clear();
  print_summary(shell, worker.stats(), std::chrono::steady_clock::now() - begun);
  return exit_ok;
}

}  // namespace

void add_work(Commands& commands) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = commands.add({"work", "Run a program for each execution of some queues", examples});
  command.add_option("--queue", options->queues, "Queues, in the order to look (default: \"default\")")
      ->type_name("Q …");
  command.add_option("--task", options->tasks, "Only these tasks (default: any)")->type_name("NAME …");
  command.add_option("--exec", options->exec, "Program, or shell command if it has blanks")
      ->type_name("PROGRAM")
      ->required();
  command.add_option("--concurrency", options->concurrency, "Programs at once (default: the configuration's, or 1)")
      ->type_name("N");
  command.add_flag("--until-empty", options->until_empty, "End when nothing in the queues is pending or running");
  command.add_option("--lease", options->lease, "Until others may take over after a crash (default 30s)")
      ->type_name("D");
  command.add_option("--timeout", options->timeout, "For each attempt, beside the execution's own")->type_name("D");
  command.add_option("--grace", options->grace, "For running programs when the worker is stopped (default 30s)")
      ->type_name("D");
  command.add_option("--kill-after", options->kill_after, "Between SIGTERM and SIGKILL")
      ->type_name("D")
      ->capture_default_str();
  command.add_option("--name", options->name, "Label of this worker (default: host and process id)")->type_name("NAME");
  commands.run_with(command, [options](Shell& shell) { return run(shell, *options); });
}

}  // namespace hapax::cli
