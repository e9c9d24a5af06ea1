#include "engine/engine.hpp"

#include "engine/catalogue_cache.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "engine/step_thread.hpp"
#include "engine/sweeper.hpp"
#include "engine/waiters.hpp"
#include "engine/wakeups.hpp"
#include "model/admission.hpp"
#include "model/retention.hpp"
#include "store/busy_if_blocked.hpp"

#include <algorithm>

namespace hapax::engine {

namespace {

std::size_t request_bytes(const model::NewExecution& request) { return request.input.size() + 256; }

}  // namespace

class BackgroundSweeper {
 public:
  BackgroundSweeper(store::Store& store, base::Random& random, Wakeups& wakeups, const Observations& observations,
                    std::function<Duration()> interval)
      : sweeper_(store, random,
                 {.retention_interval = model::default_cleanup_interval,
                  .current_retention_interval = std::move(interval),
                  .on_swept =
                      [&wakeups, &observations](const model::SweepReport& report) {
                        wakeups.sweeps().swept(report, engine_now());
                        if (report.requeued > 0) { wakeups.everything_changed(); }
                        observations.swept(report);
                      },
                  .on_failed =
                      [&wakeups, &observations](std::string_view error) {
                        observations.sweep_failed();
                        wakeups.sweeps().failed(error, engine_now());
                      },
                  .observations = &observations}),
        thread_([this](Time now) { return sweeper_.step(now); }) {
    thread_.start();
  }

 private:
  Sweeper sweeper_;
  StepThread thread_;
};

Engine::Engine(std::shared_ptr<store::Store> store)
    : store_(std::move(store)),
      capabilities_(store_->info().capabilities),
      wakeups_(std::make_unique<Wakeups>(*store_)),
      waiters_(std::make_unique<Waiters>(*store_)) {
  wakeups_->set_on_hint([this] { waiters_->hint(); });
  admissions_ = std::make_unique<Batcher<model::NewExecution, model::Admission>>(
      Batcher<model::NewExecution, model::Admission>::Options{
          .flush =
              [this](std::span<model::NewExecution> requests) {
                base::fault_point("engine.admit.before");
                auto admissions = observations_.admission(requests, [&] { return store_->try_admit(requests); });
                base::fault_point("engine.admit.after");
                return admissions;
              },
          .flush_alone =
              [this](std::span<model::NewExecution> requests) {
                return store::busy_if_blocked(
                    [&] { return observations_.admission(requests, [&] { return store_->admit(requests); }); });
              },
          .flushed = [this](std::span<model::NewExecution> requests,
                            std::span<model::Admission> admissions) { admitted(requests, admissions); },
          .size = request_bytes,
          .policy = {.max_items = limits::admit_batch}});
  journal_ = std::make_unique<Batcher<model::JournalEntry, model::FinishVerdict>>(
      Batcher<model::JournalEntry, model::FinishVerdict>::Options{
          .flush =
              [this](std::span<model::JournalEntry> entries) {
                return observations_.store_call("journal", [&] { return store_->journal_append(entries); });
              },
          .size = [](const model::JournalEntry& entry) { return entry.data.size(); },
          .policy = {.max_items = limits::admit_batch}});
  turns_ = std::make_unique<Batcher<std::vector<model::Advance>, std::vector<model::AdvanceReply>>>(
      Batcher<std::vector<model::Advance>, std::vector<model::AdvanceReply>>::Options{
          .flush = [this](std::span<std::vector<model::Advance>> requests) { return flush_turns(requests); },
          .policy = {.max_items = limits::admit_batch}});
}

std::vector<std::vector<model::AdvanceReply>> Engine::flush_turns(std::span<std::vector<model::Advance>> requests) {
  std::vector<model::Advance> all;
  std::size_t count = 0;
  for (const std::vector<model::Advance>& request : requests) { count += request.size(); }
  all.reserve(count);
  for (std::vector<model::Advance>& request : requests) { std::ranges::move(request, std::back_inserter(all)); }
  std::vector<model::AdvanceReply> replies;
  try {
    replies = observations_.store_call("advance", [&] { return store_->advance(all); });
  } catch (...) {
    // The requests are moved back, because each may be sent again alone.
    auto next = all.begin();
    for (std::vector<model::Advance>& request : requests) {
      for (model::Advance& turn : request) { turn = std::move(*next++); }
    }
    throw;
  }
  std::vector<std::vector<model::AdvanceReply>> answers;
  auto next = replies.begin();
  for (const std::vector<model::Advance>& request : requests) {
    const auto its_count = static_cast<std::ptrdiff_t>(request.size());
    answers.emplace_back(next, next + its_count);
    next += its_count;
  }
  std::vector<model::QueueRef> changed;
  for (const model::Advance& turn : all) {
    for (const model::JournalEntry& entry : turn.entries) {
      if (entry.start && std::ranges::find(changed, entry.start->queue) == changed.end()) {
        changed.push_back(entry.start->queue);
      }
    }
  }
  if (!changed.empty()) { wake_workers(changed); }
  return answers;
}

std::vector<model::AdvanceReply> Engine::advance(std::vector<model::Advance> turns) {
  return turns_->submit(std::move(turns));
}

void Engine::stop_background() {
  std::map<std::string, std::unique_ptr<StepThread>> threads;
  std::unique_ptr<BackgroundSweeper> sweeper;
  {
    const std::lock_guard lock(background_mutex_);
    threads.swap(background_);
    sweeper.swap(sweeper_);
  }
}

Engine::~Engine() {
  stop_background();
  admissions_.reset();
  wakeups_->stop();
  waiters_->stop();
}

class Engine::PendingWakeups {
 public:
  explicit PendingWakeups(Engine& engine) : engine_(engine) {}

  void add(const model::NewExecution& request, const model::Admission& admission) {
    if (!admission.created()) { return; }
    const Duration in =
        request.run_at ? std::max(Duration::zero(), *request.run_at - admission.created_at) : request.delay;
    if (in > Duration::zero()) { engine_.wakeups_->queue_changed(request.queue, in); }
    if (in <= announce_within && std::ranges::find(changed_, request.queue) == changed_.end()) {
      changed_.push_back(request.queue);
    }
  }
  void wake() {
    if (!changed_.empty()) { engine_.wake_workers(changed_); }
  }

 private:
  Engine& engine_;
  std::vector<model::QueueRef> changed_;  // few queues, many requests: a list beats a map
};

void Engine::admitted(std::span<model::NewExecution> requests, std::span<model::Admission> admissions) {
  PendingWakeups woken(*this);
  std::vector<Reservation> reservations;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    model::NewExecution& request = requests[i];
    const model::Admission& admission = admissions[i];
    if (request.born_running) { reservations.push_back({*request.born_running, &request, &admission}); }
    if (!request.born_running || !admission.fence) { woken.add(request, admission); }
  }
  if (!reservations.empty()) { wakeups_->reserved(reservations); }
  woken.wake();
}

std::vector<model::ActivityReply> Engine::change_activities(std::span<const model::ActivityChange> changes) {
  Duration took{0};
  std::vector<model::ActivityReply> replies = observations_.store_call(
      "activities", [&] { return store_->change_activities(changes); }, &took);
  PendingWakeups woken(*this);
  for (std::size_t i = 0; i < changes.size(); ++i) {
    const std::vector<model::Admission>& admissions = replies[i].admissions;
    for (std::size_t run = 0; run < admissions.size(); ++run) { woken.add(changes[i].admit[run], admissions[run]); }
    observations_.admitted(std::span(changes[i].admit).first(admissions.size()), admissions, took);
  }
  woken.wake();
  return replies;
}

model::Admission Engine::admit(model::NewExecution request) {
  observations_.trace(request);
  reserve(request);
  const std::optional<model::BornRunning> reservation = request.born_running;
  try {
    return admissions_->submit(std::move(request));
  } catch (...) {
    if (reservation) { end_reservation(*reservation); }
    throw;
  }
}

void Engine::admit_async(model::NewExecution request, AdmitCallback callback) {
  observations_.trace(request);
  reserve(request);
  const std::optional<model::BornRunning> reservation = request.born_running;
  if (!reservation) {
    admissions_->submit_async(std::move(request), std::move(callback));
    return;
  }
  admissions_->submit_async(std::move(request), [this, reservation, callback = std::move(callback)](
                                                    model::Admission admission, const std::exception_ptr& error) {
    if (error) { end_reservation(*reservation); }
    callback(std::move(admission), error);
  });
}

void Engine::end_reservation(const model::BornRunning& place) {
  const Reservation reservation{.place = place};
  wakeups_->reserved(std::span<const Reservation>(&reservation, 1));
}

void Engine::reserve(model::NewExecution& request) {
  static const bool plain = base::takes_plain_path("engine-born-running");
  if (!plain && !request.born_running && request.delay == Duration::zero() && !request.run_at &&
      request.kind != model::Kind::guard && !request.seed) {
    request.born_running = wakeups_->reserve(request.queue, request.task, request.kind);
  }
}

std::vector<model::Admission> Engine::admit_bulk(std::span<model::NewExecution> requests) {
  for (model::NewExecution& request : requests) { observations_.trace(request); }
  std::vector<model::Admission> admissions = observations_.admission(requests, [&] { return store_->admit(requests); });
  admitted(requests, admissions);
  return admissions;
}

std::vector<std::vector<model::Admission>> Engine::admit_bulk(const BulkSource& next) {
  std::vector<std::span<model::NewExecution>> batches;
  std::vector<std::vector<model::Admission>> admissions;
  std::vector<Duration> took;  // how long each store call took
  Time done{};
  store_->transaction([&](store::Transaction& transaction) {
    for (std::span<model::NewExecution> batch = next(); !batch.empty(); batch = next()) {
      const Time begun = engine_now();
      for (model::NewExecution& request : batch) { observations_.trace(request); }
      batches.push_back(batch);
      admissions.push_back(transaction.admit(batch));
      took.push_back(engine_now() - begun);
    }
    done = engine_now();
  });
  if (!took.empty()) { took.back() += engine_now() - done; }
  for (std::size_t i = 0; i < batches.size(); ++i) {
    observations_.admitted(batches[i], admissions[i], took[i]);
    admitted(batches[i], admissions[i]);
  }
  return admissions;
}

model::FinishVerdict Engine::journal(model::JournalEntry entry) { return journal_->submit(std::move(entry)); }

std::shared_ptr<CatalogueCache> Engine::catalogue(const std::string& namespace_name) {
  const std::lock_guard lock(catalogues_mutex_);
  if (const auto known = catalogues_.find(namespace_name); known != catalogues_.end()) {
    if (std::shared_ptr<CatalogueCache> cache = known->second.lock()) { return cache; }
  }
  std::erase_if(catalogues_, [](const auto& each) { return each.second.expired(); });
  auto made = std::make_shared<CatalogueCache>(*store_, namespace_name);
  catalogues_[namespace_name] = made;
  return made;
}

void Engine::wake_workers(std::span<const model::QueueRef> queues) {
  for (const model::QueueRef& queue : queues) { wakeups_->queue_changed(queue, Duration::zero()); }
  store_->announce(queues);
}

void Engine::start_sweeper(const Cleanup& cleanup) {
  const std::lock_guard lock(background_mutex_);
  const auto same = [&](const Cleanup& one) {
    return one.interval == cleanup.interval && one.namespace_name == cleanup.namespace_name;
  };
  if (std::ranges::none_of(cleanups_, same)) { cleanups_.push_back(cleanup); }
  if (sweeper_) { return; }
  sweeper_ = std::make_unique<BackgroundSweeper>(*store_, random_, *wakeups_, observations_,
                                                 [this] { return cleanup_interval(); });
}

Duration Engine::cleanup_interval() {
  std::vector<Cleanup> cleanups;
  {
    const std::lock_guard lock(background_mutex_);
    cleanups = cleanups_;
  }
  Duration shortest = Duration::max();
  for (const Cleanup& cleanup : cleanups) {
    Duration one = cleanup.interval.value_or(model::default_cleanup_interval);
    if (!cleanup.interval) {
      for (const model::Setting& setting : store_->catalogue(cleanup.namespace_name).settings) {
        if (setting.name == model::cleanup_interval_setting) { one = parse_duration(setting.value, setting.name); }
      }
    }
    shortest = std::min(shortest, one);
  }
  return shortest;
}

void Engine::start_background(const std::string& name, const std::function<StepThread::Step()>& make) {
  const std::lock_guard lock(background_mutex_);
  std::unique_ptr<StepThread>& thread = background_[name];
  if (thread) { return; }
  thread = std::make_unique<StepThread>(make());
  thread->start();
}

void Engine::wake_background(const std::string& name) {
  const std::lock_guard lock(background_mutex_);
  const auto found = background_.find(name);
  if (found != background_.end() && found->second) { found->second->wake(); }
}

void Engine::wake_all() {
  {
    const std::lock_guard lock(background_mutex_);
    for (const auto& [name, thread] : background_) {
      if (thread) { thread->wake(); }
    }
  }
  wakeups_->everything_changed();
  waiters_->hint();
}

}  // namespace hapax::engine
