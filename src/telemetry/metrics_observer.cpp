#include "telemetry/metrics_observer.hpp"

#include <chrono>
#include <mutex>
#include <set>
#include <utility>
#include <vector>

namespace hapax::telemetry {

namespace {

constexpr const char* requests_name = "hapax_requests_total";
constexpr const char* attempts_name = "hapax_attempts_total";
constexpr const char* requests_help = "Requests for executions by task, queue and answer";
constexpr const char* attempts_help = "Attempts by task, queue and outcome";

}  // namespace

MetricsObserver::MetricsObserver(Metrics& metrics)
    : metrics_(metrics),
      admission_size_(
          metrics.histogram("hapax_admission_batch_size", "Requests admitted in one transaction", {}, batch_sizes())),
      admission_seconds_(metrics.histogram("hapax_admission_seconds", "The store's time for one batch of admissions")),
      claims_(metrics.counter("hapax_claims_total", "Executions handed to workers")),
      claim_size_(metrics.histogram("hapax_claim_batch_size", "Executions handed out by one claim that found any", {},
                                    batch_sizes())),
      claim_seconds_(metrics.histogram("hapax_claim_seconds", "The store's time for one claim")),
      retries_(metrics.counter("hapax_retries_total", "Failed attempts that are tried again")),
      stale_(metrics.counter("hapax_stale_refusals_total", "Outcomes refused for a fence that is not the execution's")),
      finish_size_(
          metrics.histogram("hapax_finish_batch_size", "Outcomes recorded in one transaction", {}, batch_sizes())),
      finish_seconds_(metrics.histogram("hapax_finish_seconds", "The store's time for one batch of outcomes")),
      step_seconds_(metrics.histogram("hapax_step_seconds", "How long the bodies of workflow steps ran")),
      own_lost_(
          metrics.counter("hapax_leases_lost_here_total", "Executions whose lease a worker of this process lost")),
      lost_sessions_(metrics.counter("hapax_sessions_lost_total",
                                     "Worker sessions whose lease was over while they ran something")),
      lost_leases_(metrics.counter("hapax_lease_losses_total", "Executions taken back from lost sessions")),
      dead_by_loss_(metrics.counter("hapax_lost_dead_total", "Executions that failed as they were lost too often")),
      timed_out_(metrics.counter("hapax_deadlines_total", "Executions that ended at their deadline")),
      sweep_failures_(metrics.counter("hapax_sweep_failures_total", "Sweeps of this process that failed")),
      sweep_bad_rows_(metrics.gauge("hapax_sweep_bad_rows", "Rows that the last sweep could neither read nor change")) {
  for (std::size_t i = 0; i < admissions_.size(); ++i) {
    admissions_[i] = &metrics.counter("hapax_admissions_total", "Requests for executions by what they were answered",
                                      {{"outcome", std::string(to_string(static_cast<AdmissionOutcome>(i)))}});
  }
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    outcomes_[i] = &metrics.counter("hapax_outcomes_total", "Outcomes of attempts that the store accepted",
                                    {{"outcome", std::string(to_string(static_cast<AttemptOutcome>(i)))}});
  }
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    steps_[i] = &metrics.counter("hapax_steps_total", "Bodies of workflow steps that ran, by outcome",
                                 {{"outcome", i == 0 ? "completed" : "failed"}});
  }
  for (std::size_t i = 0; i < lines_.size(); ++i) {
    lines_[i] = &metrics.counter("hapax_log_lines_total", "Lines of the library's log, by level",
                                 {{"level", std::string(to_string(static_cast<LogLevel>(i)))}});
  }
  metrics.declare("hapax_store_seconds", "histogram", "The store's time for one call, by verb");
  metrics.declare("hapax_store_failures_total", "counter", "Calls of the store that failed, by verb");
  metrics.declare(requests_name, "counter", requests_help);
  metrics.declare(attempts_name, "counter", attempts_help);
  other_ = make("other", "other", "other");
}

std::unique_ptr<MetricsObserver::OfTask> MetricsObserver::make(std::string_view namespace_name, std::string_view queue,
                                                               std::string_view task) {
  auto made = std::make_unique<OfTask>();
  made->labels = {
      {"namespace", std::string(namespace_name)}, {"queue", std::string(queue)}, {"task", std::string(task)}};
  made->wait = &metrics_.histogram("hapax_wait_seconds", "From the time an execution was due to its attempt's begin",
                                   made->labels);
  made->run = &metrics_.histogram("hapax_attempt_seconds", "How long attempts ran", made->labels);
  return made;
}

MetricsObserver::OfTask& MetricsObserver::of(const ObservedTask& task) {
  std::string key;
  key.reserve(task.namespace_name.size() + task.queue.size() + task.task.size() + 2);
  key.append(task.namespace_name).append(1, '\0').append(task.queue).append(1, '\0').append(task.task);
  {
    const std::shared_lock lock(tasks_mutex_);
    if (const auto known = tasks_.find(key); known != tasks_.end()) { return *known->second; }
    if (tasks_.size() >= tasks_shown) { return *other_; }
  }
  const std::unique_lock lock(tasks_mutex_);
  if (const auto known = tasks_.find(key); known != tasks_.end()) { return *known->second; }
  if (tasks_.size() >= tasks_shown) { return *other_; }
  return *tasks_.emplace(std::move(key), make(task.namespace_name, task.queue, task.task)).first->second;
}

void MetricsObserver::count(std::atomic<Counter*>& counter, const char* name, const OfTask& task,
                            std::string_view outcome) {
  Counter* known = counter.load(std::memory_order_acquire);
  if (known == nullptr) {
    Labels labels = task.labels;
    labels.emplace_back("outcome", outcome);
    known = &metrics_.counter(name, "", labels);
    counter.store(known, std::memory_order_release);
  }
  known->add();
}

void MetricsObserver::on_admissions(const AdmissionBatch& batch) {
  for (const ObservedAdmission& admission : batch.admissions) {
    const auto outcome = static_cast<std::size_t>(admission.outcome);
    admissions_.at(outcome)->add();
    OfTask& task = of(admission.task);
    count(task.requests.at(outcome), requests_name, task, to_string(admission.outcome));
  }
  admission_size_.observe(static_cast<double>(batch.admissions.size()));
  if (batch.took) { admission_seconds_.observe(*batch.took); }
}

void MetricsObserver::on_claims(const ClaimBatch& batch) {
  claims_.add(batch.tasks.size());
  if (!batch.tasks.empty()) { claim_size_.observe(static_cast<double>(batch.tasks.size())); }
  claim_seconds_.observe(batch.took);
}

void MetricsObserver::on_attempt_begun(const AttemptBegin& begin) { of(begin.task).wait->observe(begin.waited); }

void MetricsObserver::on_attempt_ended(const AttemptEnd& end) {
  const auto outcome = static_cast<std::size_t>(end.outcome);
  if (outcome < outcomes_.size()) { outcomes_[outcome]->add(); }
  if (end.outcome == AttemptOutcome::retried) { retries_.add(); }
  if (end.outcome == AttemptOutcome::stale) { stale_.add(); }
  OfTask& task = of(end.task);
  count(task.attempts.at(outcome), attempts_name, task, to_string(end.outcome));
  task.run->observe(end.ran_for);
}

void MetricsObserver::on_outcomes(const OutcomeBatch& batch) {
  finish_size_.observe(static_cast<double>(batch.outcomes));
  finish_seconds_.observe(batch.took);
}

void MetricsObserver::on_step_ended(const StepEnd& end) {
  steps_[end.failed ? 1 : 0]->add();
  step_seconds_.observe(end.ran_for);
}

void MetricsObserver::on_leases_lost(const LeaseLoss& loss) { own_lost_.add(loss.executions); }

void MetricsObserver::on_store_call(const StoreCall& call) {
  const Labels verb = {{"verb", std::string(call.verb)}};
  if (call.failed) { metrics_.counter("hapax_store_failures_total", "", verb).add(); }
  metrics_.histogram("hapax_store_seconds", "", verb).observe(call.took);
}

void MetricsObserver::on_sweep(const SweepEnd& sweep) {
  if (sweep.failed) {
    sweep_failures_.add();
    return;
  }
  const int taken_back = sweep.requeued + sweep.dead;
  // Sessions that held nothing are not losses: every claim without a session leaves one to expire.
  if (taken_back > 0) { lost_sessions_.add(static_cast<std::uint64_t>(sweep.lost_sessions)); }
  lost_leases_.add(static_cast<std::uint64_t>(taken_back));
  dead_by_loss_.add(static_cast<std::uint64_t>(sweep.dead));
  timed_out_.add(static_cast<std::uint64_t>(sweep.timed_out));
  sweep_bad_rows_.set(sweep.bad_rows);
}

void MetricsObserver::on_log(LogLevel level, std::string_view /*message*/, const LogFields& /*fields*/) {
  lines_.at(static_cast<std::size_t>(level))->add();
}

void write_queues(MetricsVisitor& to, std::span<const QueueFigures> figures) {
  std::vector<QueueFigures> queues;
  std::set<std::pair<std::string_view, std::string_view>> seen;
  for (const QueueFigures& one : figures) {
    if (seen.emplace(one.namespace_name, one.queue).second) { queues.push_back(one); }
  }
  const auto labels = [](const QueueFigures& queue) {
    return Labels{{"namespace", queue.namespace_name}, {"queue", queue.queue}};
  };
  to.begin_family("hapax_queue_depth", "gauge", "Executions of a queue by state");
  for (const QueueFigures& queue : queues) {
    const std::array<std::pair<const char*, std::int64_t>, 5> states = {{{"ready", queue.ready},
                                                                         {"delayed", queue.delayed},
                                                                         {"parked", queue.parked},
                                                                         {"running", queue.running},
                                                                         {"dead", queue.dead}}};
    for (const auto& [state, count] : states) {
      Labels its = labels(queue);
      its.emplace_back("state", state);
      to.value(its, static_cast<double>(count));
    }
  }
  to.begin_family("hapax_queue_oldest_seconds", "gauge",
                  "How long the oldest due execution of a queue has been waiting");
  for (const QueueFigures& queue : queues) {
    to.value(labels(queue), std::chrono::duration<double>(queue.oldest_ready).count());
  }
  to.begin_family("hapax_queue_paused", "gauge", "1 while a queue is paused");
  for (const QueueFigures& queue : queues) { to.value(labels(queue), queue.paused ? 1 : 0); }
}

}  // namespace hapax::telemetry
