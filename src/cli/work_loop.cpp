#include "cli/work_loop.hpp"

#include <hapax/version.hpp>

#include "base/limits.hpp"
#include "cli/arguments.hpp"
#include "cli/backend.hpp"
#include "cli/end_limit.hpp"
#include "cli/progress.hpp"
#include "cli/signals.hpp"
#include "cli/work_left.hpp"
#include "engine/engine.hpp"
#include "model/validate.hpp"
#include "schedule/ticker.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <deque>
#include <mutex>
#include <thread>

namespace hapax::cli {
namespace {

constexpr int usual_concurrency = 1;

// How long a killed program may take to end.
constexpr Duration kill_patience = std::chrono::seconds(2);

engine::WorkerOptions worker_options(const Shell& shell, const WorkOptions& options) {
  engine::WorkerOptions worker;
  worker.queues.clear();
  for (const std::string& name : options.queues) { worker.queues.push_back(shell.queue(name)); }
  if (worker.queues.empty()) { worker.queues.push_back(shell.queue("default")); }
  for (const std::string& task : options.tasks) { model::check_name(task, "task"); }
  worker.tasks = options.tasks;
  // Flags override the configuration.
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
  // With --lease the configured heartbeat does not apply: the heartbeat follows from the lease.
  if (!options.lease) { worker.heartbeat = configured.heartbeat; }
  worker.grace = optional_duration(options.grace, "grace").value_or(configured.grace.value_or(config::usual_grace));
  check_grace(worker.grace, "grace");
  if (!options.name.empty()) { model::check_name(options.name, "name"); }
  worker.name = options.name;
  worker.build = std::string("hapax ") + HAPAX_VERSION;
  return worker;
}

// Collects remarks of the worker's threads, at most 100 at a time; the main thread prints them.
class Remarks {
 public:
  void add(std::string_view text) {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() < 100) { waiting_.emplace_back(text); }
  }
  void print(ProgressLine& progress, const SupervisedProcess* process) {
    const std::lock_guard lock(mutex_);
    const std::string who = process == nullptr ? "" : "process " + std::to_string(process->number()) + ": ";
    for (const std::string& text : waiting_) { progress.trouble(who + text); }
    waiting_.clear();
  }

 private:
  std::mutex mutex_;
  std::deque<std::string> waiting_;
};

std::int64_t done(const engine::WorkerStats& stats) {
  return stats.completed + stats.failed + stats.cancelled + stats.timed_out;
}

void wait_for(const ProcessWorker& process, Duration at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (process.busy() && std::chrono::steady_clock::now() < until) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

}  // namespace

std::string live_text(const engine::WorkerStats& stats, std::chrono::steady_clock::duration elapsed) {
  std::string text = grouped(stats.completed) + " completed, " + grouped(stats.failed) + " failed, " +
                     grouped(stats.retried) + " to retry, " + std::to_string(stats.running) + " running, " +
                     rate_text(done(stats), elapsed);
  return text + (stats.store_away ? " (the store does not answer)" : "");
}

engine::WorkerStats stats_of(const WorkerCounts& counts) {
  engine::WorkerStats stats;
  stats.completed = counts.completed;
  stats.failed = counts.failed;
  stats.retried = counts.retried;
  stats.snoozed = counts.snoozed;
  stats.released = counts.released;
  stats.cancelled = counts.cancelled;
  stats.timed_out = counts.timed_out;
  stats.stale = counts.stale;
  stats.sessions_lost = counts.sessions_lost;
  stats.queued = counts.queued;
  stats.running = counts.running;
  stats.store_away = counts.store_away;
  return stats;
}

namespace {

WorkerCounts counts_of(const engine::WorkerStats& stats) {
  return {.completed = stats.completed,
          .failed = stats.failed,
          .retried = stats.retried,
          .snoozed = stats.snoozed,
          .released = stats.released,
          .cancelled = stats.cancelled,
          .timed_out = stats.timed_out,
          .stale = stats.stale,
          .sessions_lost = stats.sessions_lost,
          .queued = stats.queued,
          .running = stats.running,
          .store_away = stats.store_away};
}

}  // namespace

WorkPlan plan_work(const Shell& shell, const WorkOptions& options) {
  for (const std::string& name : options.pass_env) { check_passed_name(name); }
  WorkPlan plan{.program = Program(options.exec),
                .worker = worker_options(shell, options),
                .process = {.environment = ChildEnvironment(environ, options.pass_env),
                            .kill_after = parse_duration(options.kill_after, "kill-after"),
                            .timeout = optional_duration(options.timeout, "timeout")},
                .until_empty = options.until_empty,
                .until_idle = options.until_idle};
  check_grace(plan.process.kill_after, "kill-after");
  // A program may run until it is killed. Only after that another thread replaces the program's thread.
  plan.worker.stop_patience = plan.process.kill_after + std::chrono::seconds(1);
  return plan;
}

engine::WorkerStats work(Shell& shell, WorkPlan plan, SupervisedProcess* supervised) {
  shell.when_store_is_missing(MissingStore::make);
  shell.use_configuration();
  // The process worker and the remarks are shared with the handler threads, because a thread whose program cannot be
  // killed outlives this call.
  const auto shared_remarks = std::make_shared<Remarks>();
  Remarks& remarks = *shared_remarks;
  plan.process.on_trouble = [shared_remarks](std::string_view text) { shared_remarks->add(text); };
  const auto process = std::make_shared<ProcessWorker>(std::move(plan.program), plan.process);
  // Made before any other thread starts, so that all threads inherit the blocked signals.
  StopSignals signals(StopSignals::Hangup::stops, supervised);
  plan.worker.events.trouble = [&remarks](std::string_view text) { remarks.add(text); };
  ProgressLine progress(shell);
  engine::WorkerStats last;
  const auto leave = [&] {
    process->kill_all();
    remarks.add("the store does not answer; what this worker holds is taken over when its lease is over");
    remarks.print(progress, supervised);
    if (supervised != nullptr) { supervised->report(counts_of(last)); }
    progress.clear();
    if (plan.leaving) { plan.leaving(last); }
  };
  EndLimit end_limit(leave);
  const bool asks_server = !shell.server_url().empty();
  const bool ends = plan.until_empty || plan.until_idle;
  if (asks_server) {
    // The server sweeps and fires due schedules.
    plan.worker.sweep = false;
    // A token that may not read the queues is refused now, not when the wait begins.
    if (ends) { (void)shell.backend().queues(); }
  }
  const auto begun = std::chrono::steady_clock::now();
  const engine::Handler handler = [process](engine::Run& attempt) { return process->run(attempt); };
  const auto engine = asks_server ? nullptr : std::make_shared<engine::Engine>(shell.shared_store());
  engine::Worker worker =
      engine ? engine::Worker(engine, plan.worker, handler) : engine::Worker(shell.work_store(), plan.worker, handler);
  if (engine) {
    schedule::Ticker::Options ticking;
    ticking.on_trouble = plan.worker.events.trouble;
    schedule::start_ticker(*engine, std::move(ticking));
  }
  if (supervised != nullptr) {
    worker.report_stuck(plan.worker.stop_patience, [supervised](std::string_view what) { supervised->end(what); });
    supervised->ready();
  }

  std::atomic<bool> stopping{false};
  std::atomic<bool> finished{false};
  std::thread closing;
  const auto close = [&] {
    stopping = true;
    closing = std::thread([&] {
      worker.stop();
      finished = true;
    });
  };
  Backend* const backend = ends ? &shell.backend() : nullptr;
  std::thread watching([&] {
    if (backend == nullptr) { return; }
    try {
      const auto remark = [&remarks](std::string_view text) { remarks.add(text); };
      if (wait_for_the_end({worker, *backend, plan, stopping, remark})) { signals.raise_done(); }
    } catch (const std::exception& error) {
      remarks.add(error.what());
      signals.raise_done();
    }
  });
  int asked = 0;
  std::optional<EndLimit::Clock::time_point> overdue;
  // While programs run, the process waits longer, until they have been killed.
  const auto end_at = [&] {
    return *overdue + (process->busy() ? plan.process.kill_after + kill_patience : Duration());
  };
  while (!finished && (!overdue || EndLimit::Clock::now() < end_at())) {
    const StopSignals::Event event = signals.wait(std::chrono::milliseconds(closing.joinable() ? 10 : 100));
    remarks.print(progress, supervised);
    if (supervised != nullptr) {
      supervised->report(counts_of(worker.stats()));
    } else if (progress.due()) {
      progress.show(live_text(worker.stats(), std::chrono::steady_clock::now() - begun));
    }
    if (event == StopSignals::Event::none) { continue; }
    asked += event == StopSignals::Event::stop ? 1 : 0;
    if (!closing.joinable()) {
      if (event == StopSignals::Event::stop && supervised == nullptr) {
        progress.remark("stopping: programs may finish within " + format_duration(plan.worker.grace) +
                        "; once more to kill them");
      }
      close();
      if (may_hang(shell)) { overdue = EndLimit::Clock::now() + plan.worker.grace + EndLimit::after_grace; }
    } else if (asked > 1) {
      process->kill_all();
    }
  }
  last = worker.stats();
  if (overdue) { end_limit.set(end_at()); }
  closing.join();
  watching.join();
  // Programs that outlived the grace period have got SIGTERM; whatever is left is killed.
  wait_for(*process, plan.process.kill_after);
  process->kill_all();
  wait_for(*process, kill_patience);
  remarks.print(progress, supervised);
  if (supervised != nullptr) { supervised->report(counts_of(worker.stats())); }
  return worker.stats();
}

}  // namespace hapax::cli
