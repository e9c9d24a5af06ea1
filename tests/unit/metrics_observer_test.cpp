#include "telemetry/metrics_observer.hpp"

#include <gmock/gmock.h>

#include <array>
#include <string>

namespace hapax::telemetry {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string text_of(const Metrics& metrics) {
  MetricsText text;
  metrics.visit(text);
  return text.text();
}

TEST(MetricsObserver, CountsAdmissionsByOutcomeAndByTask) {
  Metrics metrics;
  MetricsObserver observer(metrics);
  const ObservedTask pay{.namespace_name = "shop", .queue = "q", .task = "pay"};
  const std::array<ObservedAdmission, 3> admissions = {{{.task = pay, .outcome = AdmissionOutcome::created},
                                                        {.task = pay, .outcome = AdmissionOutcome::deduplicated},
                                                        {.task = pay, .outcome = AdmissionOutcome::deduplicated}}};
  observer.on_admissions({.admissions = admissions, .took = std::chrono::milliseconds(2)});
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr("hapax_admissions_total{outcome=\"deduplicated\"} 2\n"));
  EXPECT_THAT(text,
              HasSubstr("hapax_requests_total{namespace=\"shop\",queue=\"q\",task=\"pay\",outcome=\"created\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr("hapax_requests_total{namespace=\"shop\",queue=\"q\",task=\"pay\",outcome=\"deduplicated\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("hapax_admission_seconds_count 1\n"));
  EXPECT_THAT(text, HasSubstr("hapax_admission_batch_size_sum 3\n"));
}

TEST(MetricsObserver, AnAdmissionInTheCallersTransactionHasNoTime) {
  Metrics metrics;
  MetricsObserver observer(metrics);
  const ObservedAdmission one{.outcome = AdmissionOutcome::created};
  observer.on_admissions({.admissions = {&one, 1}, .took = std::nullopt});
  EXPECT_THAT(text_of(metrics), HasSubstr("hapax_admission_seconds_count 0\n"));
}

TEST(MetricsObserver, CountsAttemptsByTheirOutcome) {
  Metrics metrics;
  MetricsObserver observer(metrics);
  const ObservedTask pay{.namespace_name = "shop", .queue = "q", .task = "pay"};
  observer.on_attempt_begun({.task = pay, .waited = std::chrono::seconds(3)});
  observer.on_attempt_ended(
      {.task = pay, .outcome = AttemptOutcome::retried, .ran_for = std::chrono::milliseconds(20)});
  observer.on_attempt_ended({.task = pay, .outcome = AttemptOutcome::stale});
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr("hapax_outcomes_total{outcome=\"retried\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("hapax_outcomes_total{outcome=\"stale\"}")));
  EXPECT_THAT(text, HasSubstr("hapax_retries_total 1\n"));
  EXPECT_THAT(text, HasSubstr("hapax_stale_refusals_total 1\n"));
  EXPECT_THAT(text,
              HasSubstr("hapax_attempts_total{namespace=\"shop\",queue=\"q\",task=\"pay\",outcome=\"stale\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("hapax_wait_seconds_bucket{namespace=\"shop\",queue=\"q\",task=\"pay\",le=\"2.5\"} 0\n"));
  EXPECT_THAT(text, HasSubstr("hapax_wait_seconds_bucket{namespace=\"shop\",queue=\"q\",task=\"pay\",le=\"5\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("hapax_attempt_seconds_count{namespace=\"shop\",queue=\"q\",task=\"pay\"} 2\n"));
}

TEST(MetricsObserver, TasksBeyondTheLimitCountUnderOther) {
  Metrics metrics;
  MetricsObserver observer(metrics);
  for (std::size_t i = 0; i < tasks_shown + 7; ++i) {
    const std::string name = "t" + std::to_string(i);
    observer.on_attempt_ended({.task = {.namespace_name = "n", .queue = "q", .task = name}});
  }
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr("task=\"t" + std::to_string(tasks_shown - 1) + "\",outcome=\"completed\"} 1\n"));
  EXPECT_THAT(text, Not(HasSubstr("task=\"t" + std::to_string(tasks_shown) + "\"")));
  EXPECT_THAT(
      text,
      HasSubstr("hapax_attempts_total{namespace=\"other\",queue=\"other\",task=\"other\",outcome=\"completed\"} 7\n"));
}

TEST(MetricsObserver, SessionsThatHeldNothingAreNoLosses) {
  Metrics metrics;
  MetricsObserver observer(metrics);
  observer.on_sweep({.lost_sessions = 5});
  EXPECT_THAT(text_of(metrics), HasSubstr("hapax_sessions_lost_total 0\n"));
  observer.on_sweep({.lost_sessions = 1, .requeued = 2, .dead = 1, .timed_out = 4, .bad_rows = 3});
  observer.on_sweep({.failed = true});
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr("hapax_sessions_lost_total 1\n"));
  EXPECT_THAT(text, HasSubstr("hapax_lease_losses_total 3\n"));
  EXPECT_THAT(text, HasSubstr("hapax_lost_dead_total 1\n"));
  EXPECT_THAT(text, HasSubstr("hapax_deadlines_total 4\n"));
  EXPECT_THAT(text, HasSubstr("hapax_sweep_bad_rows 3\n"));
  EXPECT_THAT(text, HasSubstr("hapax_sweep_failures_total 1\n"));
}

TEST(MetricsObserver, CallsOfTheStoreAreCountedByVerb) {
  Metrics metrics;
  MetricsObserver observer(metrics);
  observer.on_store_call({.verb = "beat", .took = std::chrono::milliseconds(1)});
  observer.on_store_call({.verb = "beat", .took = std::chrono::milliseconds(1), .failed = true});
  const std::string text = text_of(metrics);
  EXPECT_THAT(text, HasSubstr("hapax_store_seconds_count{verb=\"beat\"} 2\n"));
  EXPECT_THAT(text, HasSubstr("hapax_store_failures_total{verb=\"beat\"} 1\n"));
}

TEST(QueueFiguresText, AQueueOfTwoAppsIsWrittenOnce) {
  MetricsText text;
  const std::array<QueueFigures, 2> figures = {{{.namespace_name = "n", .queue = "q", .ready = 4, .paused = true},
                                                {.namespace_name = "n", .queue = "q", .ready = 4}}};
  write_queues(text, figures);
  EXPECT_THAT(text.text(), HasSubstr("hapax_queue_depth{namespace=\"n\",queue=\"q\",state=\"ready\"} 4\n"));
  EXPECT_EQ(text.text().find("hapax_queue_paused{"), text.text().rfind("hapax_queue_paused{"));
  EXPECT_THAT(text.text(), HasSubstr("hapax_queue_paused{namespace=\"n\",queue=\"q\"} 1\n"));
}

}  // namespace
}  // namespace hapax::telemetry
