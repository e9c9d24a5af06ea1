#include <hapax/testing.hpp>

#include "app/app_state.hpp"
#include "app/inline_runner.hpp"
#include "base/limits.hpp"
#include "model/validate.hpp"
#include "store/open.hpp"

#include <algorithm>

namespace hapax {

namespace {

constexpr int shown_inputs = 20;

std::vector<model::QueueRef> queues_of(detail::AppState& app, const std::optional<std::string>& only) {
  if (only) { return {app.queue(*only)}; }
  std::vector<model::QueueRef> queues;
  for (const model::QueueInfo& info : app.store().queues(app.namespace_name())) { queues.push_back(info.queue); }
  return queues;
}

void count(testing::DrainReport& report, model::FinishKind kind) {
  switch (kind) {
    case model::FinishKind::completed: ++report.completed; break;
    case model::FinishKind::failed:
    case model::FinishKind::timed_out: ++report.failed; break;
    case model::FinishKind::retry: ++report.retried; break;
    case model::FinishKind::snoozed:
    case model::FinishKind::released: ++report.snoozed; break;
    case model::FinishKind::cancelled: ++report.cancelled; break;
    case model::FinishKind::waiting: ++report.waiting; break;
    case model::FinishKind::continued: ++report.completed; break;
  }
}

}  // namespace

namespace detail {

void AppState::run_inline(const model::QueueRef& queue) {
  const auto names = tasks();
  if (names.empty()) { return; }
  app::InlineRunner runner(
      store(), {{queue}, names}, [this](engine::Run& run) { return execute(run); },
      [this](const engine::RunPtr& run) { return turn(run); });
  while (runner.run_one()) {}
}

}  // namespace detail

namespace testing {

App open(const OpenOptions& options) {
  model::check_name(options.namespace_name, "namespace");
  // A fixed start time, so that tests that print times print the same ones.
  auto clock = std::make_shared<base::ManualClock>(parse_time("2026-01-01T00:00:00Z"));
  store::OpenOptions store_options;
  store_options.clock = clock;
  auto state = hapax::detail::make_app_state(store::open("memory:", store_options), options.namespace_name);
  state->manual_clock = std::move(clock);
  return App(std::move(state));
}

void advance(App& app, Duration by) {
  if (!app.state()->manual_clock) {
    throw UsageError("only an app made by hapax::testing::open() has a clock that can be moved");
  }
  if (by < Duration::zero()) { throw InvalidArgument("by", "is negative: time does not go back"); }
  app.state()->manual_clock->advance(by);
  app.state()->engine().wake_all();
}

void inline_mode(App& app, bool on) { app.state()->runs_inline.store(on); }

DrainReport drain(App& app, const DrainOptions& options) {
  hapax::detail::AppState& state = *app.state();
  DrainReport report;
  const auto tasks = state.tasks();
  if (tasks.empty()) { throw UsageError("nothing can be drained: the app has no handlers"); }
  int runs = 0;
  while (true) {
    hapax::detail::tick_now(state.engine());
    // Handlers may create queues, so each round lists them again.
    app::InlineRunner runner(
        state.store(), {queues_of(state, options.queue), tasks}, [&](engine::Run& run) { return state.execute(run); },
        [&](const engine::RunPtr& run) { return state.turn(run); });
    bool ran = false;
    while (const auto finish = runner.run_one()) {
      ran = true;
      count(report, finish->kind);
      if (++runs > options.limit) {
        throw UsageError("drain ran " + std::to_string(runs) +
                         " executions without coming to an end; do tasks enqueue each other?");
      }
    }
    if (!ran) {
      // A workflow that waits only for an event has no due time.
      if (!options.through_delays || !runner.next_due() || *runner.next_due() > limits::delay_max * 2) {
        return report;
      }
      advance(app, std::max(*runner.next_due(), Duration(1)));
    }
  }
}

std::vector<ExecutionRecord> enqueued(App& app, const std::string& task) {
  std::vector<ExecutionRecord> found;
  ListOptions options{.statuses = {Status::pending, Status::running}, .task = task, .limit = 1000};
  while (true) {
    std::vector<ExecutionRecord> page = app.list(options);
    if (page.empty()) { break; }
    options.after = page.back().id;
    std::ranges::move(page, std::back_inserter(found));
  }
  std::ranges::reverse(found);
  return found;
}

void detail::require_enqueued(App& app, const std::string& task,
                              const std::function<bool(const std::string&)>& matches) {
  const std::vector<ExecutionRecord> found = enqueued(app, task);
  if (std::ranges::any_of(found, [&](const ExecutionRecord& execution) { return matches(execution.input); })) {
    return;
  }
  std::string text = "no pending or running execution of task '" + task + "' matches; there ";
  text += found.size() == 1 ? "is 1" : "are " + std::to_string(found.size());
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), shown_inputs); ++i) {
    text += (i == 0 ? ": " : ", ") + found[i].input;
  }
  throw RequirementFailed(text);
}

}  // namespace testing

}  // namespace hapax
