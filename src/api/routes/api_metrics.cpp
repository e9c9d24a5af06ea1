#include "api/routes/api_metrics.hpp"

#include "engine/wakeups.hpp"

#include <chrono>

namespace hapax::api {

namespace {

constexpr std::array admission_words = {"created",          "deduplicated", "already_exists", "already_completed",
                                        "already_finished", "mismatch",     "queue_draining", "taken_over",
                                        "session_gone",     "name_taken"};
static_assert(admission_words.size() == static_cast<std::size_t>(model::AdmissionVerdict::name_taken) + 1);
constexpr std::array outcome_words = {"completed", "failed",   "cancelled", "timed_out", "retried",
                                      "snoozed",   "released", "waiting",   "continued"};

void tell_queues(store::Store& store, http::MetricsText& text, const http::Principal& principal) {
  const std::vector<model::QueueInfo> queues = store.queues(principal.namespace_name);
  const auto labels = [&](const model::QueueInfo& info) {
    return http::Labels{{"namespace", info.queue.namespace_name}, {"queue", info.queue.name}};
  };
  text.begin("hapax_queue_depth", "gauge", "Executions of a queue by state");
  for (const model::QueueInfo& info : queues) {
    const std::array<std::pair<const char*, std::int64_t>, 5> states = {{{"ready", info.ready},
                                                                         {"delayed", info.delayed},
                                                                         {"parked", info.parked},
                                                                         {"running", info.running},
                                                                         {"dead", info.dead}}};
    for (const auto& [state, count] : states) {
      http::Labels its = labels(info);
      its.emplace_back("state", state);
      text.sample(its, static_cast<double>(count));
    }
  }
  text.begin("hapax_queue_oldest_seconds", "gauge", "How long the oldest due execution of a queue has been waiting");
  for (const model::QueueInfo& info : queues) {
    text.sample(labels(info), std::chrono::duration<double>(info.oldest_ready.value_or(Duration::zero())).count());
  }
  text.begin("hapax_queue_paused", "gauge", "1 while a queue is paused");
  for (const model::QueueInfo& info : queues) { text.sample(labels(info), info.settings.paused ? 1 : 0); }
}

}  // namespace

ApiMetrics::ApiMetrics(http::Metrics& metrics, engine::Engine& engine)
    : admission_size_(metrics.histogram("hapax_admission_batch_size", "Requests admitted in one transaction", {},
                                        http::batch_sizes())),
      admission_seconds_(metrics.histogram("hapax_admission_seconds", "The store's time for one batch of admissions")),
      claims_(metrics.counter("hapax_claims_total", "Executions handed to workers over HTTP")),
      claim_size_(metrics.histogram("hapax_claim_batch_size", "Executions handed out by one claim that found any", {},
                                    http::batch_sizes())),
      claim_seconds_(metrics.histogram("hapax_claim_seconds", "The store's time for one claim")),
      retries_(metrics.counter("hapax_retries_total", "Failed attempts that are tried again")),
      stale_(metrics.counter("hapax_stale_refusals_total", "Outcomes refused for a fence that is not the execution's")),
      finish_size_(metrics.histogram("hapax_finish_batch_size", "Outcomes recorded in one transaction", {},
                                     http::batch_sizes())),
      finish_seconds_(metrics.histogram("hapax_finish_seconds", "The store's time for one batch of outcomes")),
      lost_sessions_(metrics.counter("hapax_sessions_lost_total",
                                     "Worker sessions whose lease was over while they ran something")),
      lost_leases_(metrics.counter("hapax_lease_losses_total", "Executions taken back from lost sessions")),
      dead_by_loss_(metrics.counter("hapax_lost_dead_total", "Executions that failed as they were lost too often")),
      timed_out_(metrics.counter("hapax_deadlines_total", "Executions that ended at their deadline")),
      sweep_failures_(metrics.counter("hapax_sweep_failures_total", "Sweeps of this server that failed")),
      sweep_bad_rows_(metrics.gauge("hapax_sweep_bad_rows", "Rows that the last sweep could neither read nor change")) {
  for (std::size_t i = 0; i < admissions_.size(); ++i) {
    admissions_[i] = &metrics.counter("hapax_admissions_total", "Requests for executions by what they were answered",
                                      {{"outcome", admission_words[i]}});
  }
  for (std::size_t i = 0; i < outcomes_.size(); ++i) {
    outcomes_[i] = &metrics.counter("hapax_outcomes_total", "Outcomes of attempts that workers reported over HTTP",
                                    {{"outcome", outcome_words[i]}});
  }
  engine.wakeups().observe(
      {.admitted = [this](std::span<const model::Admission> admissions, Duration took) { admitted(admissions, took); },
       .swept =
           [this](const model::SweepReport& report) {
             // Sessions that held nothing are not losses: every claim without a session leaves one to expire.
             const bool took_back = report.requeued + report.dead > 0;
             if (took_back) { lost_sessions_.add(static_cast<std::uint64_t>(report.lost_sessions)); }
             lost_leases_.add(static_cast<std::uint64_t>(report.requeued + report.dead));
             dead_by_loss_.add(static_cast<std::uint64_t>(report.dead));
             timed_out_.add(static_cast<std::uint64_t>(report.timed_out));
             sweep_bad_rows_.set(report.bad);
           },
       .sweep_failed = [this] { sweep_failures_.add(); }});
  metrics.on_look([&store = engine.store()](http::MetricsText& text, const http::Principal& principal) {
    tell_queues(store, text, principal);
  });
}

void ApiMetrics::admitted(std::span<const model::Admission> admissions, Duration took) {
  for (const model::Admission& admission : admissions) {
    // Verdicts beyond the array (name_taken) are not counted; an exception here would come after the commit.
    const auto verdict = static_cast<std::size_t>(admission.verdict);
    if (verdict < admissions_.size()) { admissions_[verdict]->add(); }
  }
  admission_size_.observe(static_cast<double>(admissions.size()));
  admission_seconds_.observe(took);
}

void ApiMetrics::claimed(std::size_t count, Duration took) {
  claims_.add(count);
  if (count > 0) { claim_size_.observe(static_cast<double>(count)); }
  claim_seconds_.observe(took);
}

void ApiMetrics::finished(std::span<const model::Finish> finishes, std::span<const model::FinishVerdict> verdicts,
                          Duration took) {
  for (std::size_t i = 0; i < finishes.size(); ++i) {
    if (verdicts[i] == model::FinishVerdict::stale) {
      stale_.add();
      continue;
    }
    outcomes_.at(static_cast<std::size_t>(finishes[i].kind))->add();
    if (finishes[i].kind == model::FinishKind::retry) { retries_.add(); }
  }
  finish_size_.observe(static_cast<double>(finishes.size()));
  finish_seconds_.observe(took);
}

}  // namespace hapax::api
