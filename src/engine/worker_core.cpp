#include "engine/worker_core.hpp"

#include "base/uuid7.hpp"
#include "engine/waiters.hpp"

#include <unistd.h>
#include <algorithm>
#include <exception>

namespace hapax::engine {

namespace {

// How long a handler may take to return after the grace period, before its thread is detached.
constexpr Duration after_grace = std::chrono::seconds(1);
constexpr Duration empty_look_min = std::chrono::milliseconds(10);
constexpr Duration empty_look_max = std::chrono::milliseconds(250);

}  // namespace

WorkerCore::WorkerCore(std::shared_ptr<Engine> engine, std::shared_ptr<store::WorkStore> store, WorkerOptions options,
                       Handler handler)
    : engine_(std::move(engine)),
      store_(std::move(store)),
      options_(std::move(options)),
      tasks_(options_.tasks.begin(), options_.tasks.end()) {
  pool_ = std::make_shared<ThreadPool>(ThreadPool::Options{
      .threads = options_.threads, .handler = std::move(handler), .on_start = {}, .on_settled = {}});
}

WorkerCore::~WorkerCore() = default;

void WorkerCore::start() {
  // The callbacks hold a weak pointer, because a handler may outlive the worker.
  const std::weak_ptr<WorkerCore> weak = weak_from_this();
  const Observations* const observations = engine_ ? &engine_->observations() : nullptr;
  pool_->set_callbacks(
      [weak](const RunPtr& run) {
        if (const auto core = weak.lock()) { core->started(run); }
      },
      [weak] {
        if (const auto core = weak.lock()) { core->dispatcher_thread_->wake(); }
      });
  heartbeat_ = std::make_unique<Heartbeat>(
      *store_, session_,
      Heartbeat::Options{.description = {.id = {},
                                         .worker = options_.name,
                                         .host = host_name(),
                                         .pid = getpid(),
                                         .lease = options_.lease,
                                         .queues = options_.queues,
                                         .tasks = options_.tasks,
                                         .build = options_.build},
                         .interval = *options_.heartbeat,
                         .on_lost = [this](const std::vector<RunPtr>&) { dispatcher_thread_->wake(); },
                         .on_opened = [this] { something_changed(); },
                         .on_cancel = [this](const RunPtr& run) { cancelling(run); },
                         .on_trouble = [this](std::string_view what) { trouble(what); },
                         .observations = observations});
  dispatcher_ = std::make_unique<Dispatcher>(
      *store_, session_, *pool_,
      Dispatcher::Options{
          .queues = options_.queues,
          .tasks = options_.tasks,
          .prefetch = options_.prefetch,
          .workflows = options_.workflows.get(),
          .questions = options_.questions,
          .on_answered = [this](std::span<const Settled> batch,
                                std::span<const model::FinishVerdict> verdicts) { answered(batch, verdicts); },
          .on_woken =
              [this](std::span<const model::QueueRef> queues) {
                if (engine_) { engine_->wake_workers(queues); }
              },
          .on_trouble = [this](std::string_view what) { trouble(what); },
          .observations = observations,
          .on_doubt =
              [this] {
                heartbeat_->request_beat();
                heartbeat_thread_->wake();
              }});
  watchdog_ = std::make_unique<Watchdog>(
      *pool_, [this](std::string_view what) { trouble(what); }, options_.stop_patience);
  try {
    store_->warm_up();
  } catch (const Error& error) {
    // The worker's first calls get the same error and handle it.
    trouble(error.what());
  }
  heartbeat_->open();
  heartbeat_thread_ = std::make_unique<StepThread>([this](Time now) { return heartbeat_->step(now); });
  dispatcher_thread_ = std::make_unique<StepThread>([this](Time now) { return dispatcher_->step(now); });
  pool_->start();
  if (options_.workflows) {
    options_.workflows->start([weak] {
      if (const auto core = weak.lock()) { core->dispatcher_thread_->wake(); }
    });
  }
  heartbeat_thread_->start();
  dispatcher_thread_->start();
  if (!engine_) { return; }
  engine_->wakeups().add(shared_from_this());
  engine_->wakeups().listen();
  if (options_.sweep) {
    if (options_.tells_sweep) {
      sweep_trouble_ = std::make_shared<TroubleListener>([this](std::string_view what) { trouble(what); });
      engine_->wakeups().sweeps().add(sweep_trouble_);
    }
    engine_->start_sweeper(
        {.interval = options_.cleanup_interval, .namespace_name = options_.queues.front().namespace_name});
  }
}

void WorkerCore::started(const RunPtr& run) {
  if (options_.events.started) { options_.events.started(run->claim()); }
  if (engine_) { engine_->observations().begun(*run); }
  if (draining_.load(std::memory_order_relaxed)) { run->set_draining(); }
  if ((run->claim().attempt_timeout || run->claim().deadline_in) && watchdog_->watch(run)) { ensure_watchdog_thread(); }
}

// Only tasks are watched: a cancelled workflow unwinds and runs its compensation, which may take long.
void WorkerCore::cancelling(const RunPtr& run) {
  if (run->claim().kind == model::Kind::task && watchdog_->watch_cancelled(run)) { ensure_watchdog_thread(); }
}

void WorkerCore::report_stuck(Duration patience, std::function<void(std::string_view)> on_stuck) {
  watchdog_->report_stuck(patience, std::move(on_stuck));
  pool_->leave_stuck();
}

void WorkerCore::ensure_watchdog_thread() {
  const std::lock_guard lock(watchdog_mutex_);
  if (stopped_.load()) { return; }
  if (!watchdog_thread_) {
    watchdog_thread_ = std::make_unique<StepThread>([this](Time now) { return watchdog_->step(now); });
    watchdog_thread_->start();
  }
  watchdog_thread_->wake();
}

void WorkerCore::answered(std::span<const Settled> batch, std::span<const model::FinishVerdict> verdicts) {
  const bool anybody = engine_ && engine_->waiters().any();
  std::vector<Waiters::RecordedOutcome> recorded;
  bool look = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const Settled& settled = batch[i];
    if (verdicts[i] == model::FinishVerdict::accepted && (anybody || settled.run->born_running)) {
      const auto status = settled.finish ? terminal_status(*settled.finish) : Status::completed;
      // The reason of a cancellation is in the store, so waiters read it there.
      look = look || status == Status::cancelled;
      if (status && status != Status::cancelled) {
        model::Outcome outcome{.id = settled.run->claim().id, .status = *status};
        if (*status == Status::completed) {
          outcome.result = settled.finish ? settled.finish->result : settled.result;
          if (settled.finish && settled.finish->kind == model::FinishKind::continued) {
            outcome.continued_as = settled.finish->turn->next->id;
          }
        } else {
          outcome.error = settled.finish->error;
        }
        recorded.push_back({std::move(outcome), settled.run->born_running});
      }
    }
    if (engine_) { engine_->observations().ended(settled, verdicts[i]); }
    if (options_.events.finished && settled.finish) {
      options_.events.finished(settled.run->claim(), *settled.finish, verdicts[i]);
    }
  }
  if (!recorded.empty()) {
    // A caller that gets a result often enqueues its next execution at once.
    const Engine::AdmissionBurst burst = engine_->admission_burst();
    engine_->waiters().publish(recorded);
  }
  if (look) { engine_->waiters().hint(); }
  if (draining_.load() || watchers_.load() > 0) {
    { const std::lock_guard lock(answered_mutex_); }
    answered_condition_.notify_all();
  }
}

void WorkerCore::trouble(std::string_view what) const {
  if (options_.events.trouble) { options_.events.trouble(what); }
}

bool WorkerCore::serves(const model::QueueRef& queue) const {
  return std::ranges::find(options_.queues, queue) != options_.queues.end();
}

bool WorkerCore::claims_from(const model::QueueRef& queue) const {
  return serves(queue) || queue == options_.questions;
}

void WorkerCore::queue_changed(const model::QueueRef& queue, Duration in) {
  if (!draining_.load(std::memory_order_relaxed) && claims_from(queue) && dispatcher_->hint(engine_now() + in)) {
    dispatcher_thread_->wake();
  }
}

void WorkerCore::something_changed() {
  (void)dispatcher_->hint(engine_now());
  dispatcher_thread_->wake();
}

bool WorkerCore::queues_are_empty() {
  std::vector<std::string_view> namespaces;
  for (const model::QueueRef& queue : options_.queues) {
    if (std::ranges::find(namespaces, queue.namespace_name) == namespaces.end()) {
      namespaces.emplace_back(queue.namespace_name);
    }
  }
  for (const std::string_view namespace_name : namespaces) {
    for (const model::QueueInfo& info : store_->queues(namespace_name)) {
      if (serves(info.queue) && info.ready + info.delayed + info.parked + info.running > 0) { return false; }
    }
  }
  return true;
}

bool WorkerCore::wait_until_empty(std::optional<Duration> at_most) {
  const Time until = at_most ? engine_now() + std::min(*at_most, longest_wait) : never;
  Duration look = empty_look_min;
  watchers_.fetch_add(1);
  const auto leave = [this](bool result) {
    watchers_.fetch_sub(1);
    return result;
  };
  while (!stopped_.load()) {
    if (session_.held() == 0 && dispatcher_->all_sent()) {
      try {
        if (queues_are_empty()) { return leave(true); }
      } catch (const StoreUnavailable& error) { trouble(error.what()); }
      look = std::min(look * 2, empty_look_max);
    } else {
      look = empty_look_min;
    }
    const Time now = engine_now();
    if (now >= until) { return leave(false); }
    std::unique_lock lock(answered_mutex_);
    answered_condition_.wait_for(lock, std::min(look, until == never ? look : until - now));
  }
  return leave(false);
}

bool WorkerCore::wait_all_sent(Time until) {
  std::unique_lock lock(answered_mutex_);
  while (session_.held() > 0 || !dispatcher_->all_sent() || reserved_.load() > 0) {
    const Time now = engine_now();
    if (now >= until) { return false; }
    answered_condition_.wait_for(lock, std::min<Duration>(until - now, std::chrono::milliseconds(20)));
  }
  return true;
}

void WorkerCore::stop(Duration grace) {
  // forget() comes before the lock, because a listener that is being called may itself stop the worker.
  if (sweep_trouble_) { sweep_trouble_->forget(); }
  const std::lock_guard stop_lock(stop_mutex_);
  if (stopped_.load()) { return; }
  const Time until = engine_now() + std::min(grace, longest_wait);
  draining_.store(true);
  // The pool holds before any handler learns of the stop: a handler that ends at once must not make room for the next
  // run.
  pool_->hold();
  if (options_.workflows) { options_.workflows->hold(); }
  for (const RunPtr& run : session_.runs()) { run->set_draining(); }
  dispatcher_->drain();
  dispatcher_thread_->wake();
  if (!wait_all_sent(until)) {
    for (const RunPtr& run : session_.runs()) {
      run->request_stop(StopReason::shutdown);
      if (run->settle()) { pool_->push({run, release_finish(*run), {}}); }
    }
    dispatcher_thread_->wake();
    (void)wait_all_sent(engine_now() + after_grace);
  }
  // remove() comes last, because a reserved execution still needs the worker to take its run.
  if (engine_) { engine_->wakeups().remove(this); }
  stopped_.store(true);
  { const std::lock_guard lock(answered_mutex_); }
  answered_condition_.notify_all();
  {
    const std::lock_guard lock(watchdog_mutex_);
    if (watchdog_thread_) { watchdog_thread_->stop(); }
  }
  if (options_.workflows) { options_.workflows->stop(std::max(until, engine_now() + after_grace)); }
  pool_->stop(std::max(until, engine_now() + after_grace));
  dispatcher_thread_->stop();
  heartbeat_thread_->stop();
  try {
    heartbeat_->send_last_counts();
  } catch (const std::exception& error) { trouble(error.what()); }
  try {
    store_->close_session(session_.id());
  } catch (const std::exception& error) {
    // The session now ends when its lease is over.
    trouble(error.what());
  }
}

void WorkerCore::set_tasks(std::vector<std::string> tasks) {
  {
    const std::lock_guard lock(tasks_mutex_);
    tasks_ = {tasks.begin(), tasks.end()};
  }
  dispatcher_->set_tasks(std::move(tasks));
  something_changed();
}

WorkerStats WorkerCore::stats() const {
  WorkerStats stats = dispatcher_->stats();
  const PoolLoad load = pool_->glance();
  stats.queued = load.queued;
  stats.running = load.running + (options_.workflows ? options_.workflows->active() : 0);
  stats.sessions_lost = heartbeat_->sessions_lost();
  stats.store_away = dispatcher_->store_away();
  return stats;
}

}  // namespace hapax::engine
