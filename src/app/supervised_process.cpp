#include "app/supervised_process.hpp"

#include <hapax/error.hpp>

#include "engine/worker_state.hpp"

#include <sys/prctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <ctime>
#include <exception>
#include <thread>

namespace hapax {

namespace {

using Steady = std::chrono::steady_clock;

constexpr Duration report_every = std::chrono::milliseconds(100);

sigset_t only_sigterm() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGTERM);
  return set;
}

timespec until(Steady::time_point end) {
  const auto left = std::max(end - Steady::now(), Steady::duration::zero());
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(left);
  return {.tv_sec = static_cast<std::time_t>(seconds.count()),
          .tv_nsec = static_cast<long>(std::chrono::duration_cast<std::chrono::nanoseconds>(left - seconds).count())};
}

// Writes buffered output, and skips the exit functions that the parent registered.
[[noreturn]] void leave(int code) {
  std::fflush(stdout);
  std::fflush(stderr);
  _exit(code);
}

WorkerCounts sum_of(const std::vector<Worker*>& workers) {
  WorkerCounts sum;
  for (const Worker* worker : workers) {
    const WorkerCounts counts = worker->counts();
    app::add_done(sum, counts);
    sum.queued += counts.queued;
    sum.running += counts.running;
    sum.store_away = sum.store_away || counts.store_away;
  }
  return sum;
}

}  // namespace

namespace detail {

void SupervisedState::start_guard() {
  std::thread([this] { guard(); }).detach();
}

void SupervisedState::guard() {
  const sigset_t signals = only_sigterm();
  int number = 0;
  while (sigwait(&signals, &number) != 0) {}
  count_end_request();
  const Steady::time_point end = Steady::now() + options_.grace + options_.kill_after;
  while (Steady::now() < end) {
    const timespec left = until(end);
    if (sigtimedwait(&signals, nullptr, &left) > 0) { count_end_request(); }
  }
  slot_.set_last_words("it did not end within the grace period");
  _exit(app::exit_of_unended);
}

void SupervisedState::count_end_request() {
  {
    const std::lock_guard lock(mutex_);
    end_requests_.fetch_add(1);
  }
  end_requested_.notify_all();
}

bool SupervisedState::wait_stop(Duration at_most) {
  std::unique_lock lock(mutex_);
  return end_requested_.wait_for(lock, at_most, [this] { return end_requests_.load() > 0; });
}

void SupervisedState::end(std::string_view why) {
  slot_.set_last_words(why);
  // The guard thread reacts as if the supervisor had sent SIGTERM; later calls change nothing.
  if (!ending_.exchange(true)) { kill(getpid(), SIGTERM); }
}

}  // namespace detail

int SupervisedProcess::number() const { return state_.number(); }
void SupervisedProcess::ready() { state_.slot().set_ready(); }
void SupervisedProcess::report(const WorkerCounts& counts) { state_.slot().set_counts(counts); }
bool SupervisedProcess::wait_stop(Duration at_most) { return state_.wait_stop(at_most); }
int SupervisedProcess::times_told() const { return state_.times_told(); }
void SupervisedProcess::end(std::string_view why) { state_.end(why); }
bool SupervisedProcess::ending() const { return state_.ending(); }
Duration SupervisedProcess::grace() const { return state_.options().grace; }
Duration SupervisedProcess::patience() const { return state_.options().patience; }

bool SupervisedProcess::run(Worker& worker) { return run(std::vector<Worker*>{&worker}); }

bool SupervisedProcess::run(const std::vector<Worker*>& workers) {
  for (Worker* worker : workers) {
    worker->state_->worker->report_stuck(patience(), [state = &state_](std::string_view what) { state->end(what); });
  }
  ready();
  while (!wait_stop(report_every)) { report(sum_of(workers)); }
  // All workers stop at once, as they share one grace period.
  std::vector<std::thread> stopping;
  for (Worker* worker : workers) {
    stopping.emplace_back([worker, this] { worker->stop(grace()); });
  }
  for (std::thread& thread : stopping) { thread.join(); }
  report(sum_of(workers));
  return !ending();
}

namespace app {

void run_process(const ProcessPlan& plan) {
  prctl(PR_SET_PDEATHSIG, SIGTERM);
  if (getppid() != plan.supervisor) { _exit(exit_of_unended); }  // the supervisor died before prctl() took effect
  // The state is never destroyed, because the guard thread uses it until the process is gone.
  auto* state = new hapax::detail::SupervisedState(plan.number, plan.options, plan.slot);
  try {
    state->start_guard();
    SupervisedProcess process(*state);
    const int code = plan.main(process);
    leave(state->ending() && code == 0 ? exit_of_stuck : code);
  } catch (const Error& error) {
    plan.slot.set_last_words(error.name() + ": " + error.what());
    if (dynamic_cast<const ConfigurationError*>(&error) != nullptr ||
        dynamic_cast<const SchemaMismatch*>(&error) != nullptr) {
      leave(78);
    }
    const bool callers = dynamic_cast<const InvalidArgument*>(&error) != nullptr ||
                         dynamic_cast<const UsageError*>(&error) != nullptr ||
                         dynamic_cast<const ConflictingDeclaration*>(&error) != nullptr;
    leave(callers ? 64 : 75);
  } catch (const std::exception& error) {
    plan.slot.set_last_words(error.what());
    leave(75);
  }
}

}  // namespace app

}  // namespace hapax
