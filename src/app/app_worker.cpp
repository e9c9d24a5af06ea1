// The typed app's worker: the engine's worker with the app's handlers.
#include <hapax/app.hpp>
#include <hapax/worker.hpp>

#include "app/app_state.hpp"
#include "app/stop_signal.hpp"
#include "engine/worker_state.hpp"
#include "model/question.hpp"

#include <algorithm>
#include <thread>

namespace hapax {

Worker::Worker(std::unique_ptr<detail::WorkerState> state) : state_(std::move(state)) {}
Worker::Worker(Worker&&) noexcept = default;

Worker& Worker::operator=(Worker&& other) noexcept {
  if (this != &other) {
    if (state_) { stop(); }
    state_ = std::move(other.state_);
  }
  return *this;
}

Worker::~Worker() {
  if (state_) { stop(); }
}

void Worker::stop() { state_->worker->stop(); }

void Worker::stop(Duration grace) { state_->worker->stop(grace); }

int Worker::run_until_signal() {
  const int number = app::wait_for_stop_signal();
  stop();
  return number;
}

bool Worker::wait_until_empty(std::optional<Duration> at_most) { return state_->worker->wait_until_empty(at_most); }
Uuid Worker::session() const { return state_->worker->session(); }

WorkerCounts Worker::counts() const {
  const engine::WorkerStats stats = state_->worker->stats();
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

Worker App::work(const WorkerOptions& options) {
  engine::WorkerOptions engine_options;
  engine_options.queues.clear();
  for (const std::string& queue : options.queues) { engine_options.queues.push_back(state_->queue(queue)); }
  engine_options.cleanup_interval = options.cleanup_interval;
  engine_options.tasks = state_->tasks();
  if (engine_options.tasks.empty()) {
    throw UsageError("a worker needs a handler: call app.handle(task, fn) before app.work()");
  }
  engine_options.threads = options.threads;
  engine_options.lease = options.lease;
  engine_options.heartbeat = options.heartbeat;
  engine_options.grace = options.grace;
  engine_options.prefetch = options.prefetch;
  engine_options.name = options.name;
  engine_options.build = options.build;
  engine_options.sweep = options.sweep;
  engine_options.tells_sweep = false;  // the app does
  // The engine outlives its workers' threads.
  LogFields fields = {{"component", "worker"}};
  if (!options.name.empty()) { fields.emplace_back("worker", options.name); }
  const auto log = [&engine = state_->engine(), fields = std::move(fields)](std::string_view text) {
    engine.observations().log(LogLevel::warning, text, fields);
  };
  engine_options.events.trouble = log;
  if (const auto workflows = state_->workflows()) {
    int threads = options.threads;
    if (threads <= 0) { threads = static_cast<int>(std::max(1U, std::thread::hardware_concurrency())); }
    engine_options.questions = state_->queue(model::question_queue);
    engine_options.workflows = workflows->make_pool({.threads = threads,
                                                     .cached = options.workflow_cache,
                                                     .stack_bytes = options.workflow_stack,
                                                     .build = options.build,
                                                     .on_trouble = log});
  }
  auto state = std::make_unique<detail::WorkerState>();
  state->app = state_;
  state->worker = std::make_shared<engine::Worker>(
      state_->shared_engine(), std::move(engine_options),
      [app = state_->shared_from_this()](engine::Run& run) { return app->execute(run); });
  state_->add_worker(state->worker);
  if (options.schedules) { detail::start_ticker(state_->engine()); }
  state->worker->set_tasks(state_->tasks());  // a handler may have been added meanwhile
  return Worker(std::move(state));
}

}  // namespace hapax
