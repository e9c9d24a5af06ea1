// What an app tells its observer and its log.
#include "api/stores.hpp"

#include <hapax/observer.hpp>
#include <hapax/prometheus.hpp>

#include <gmock/gmock.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

namespace hapax {
namespace {

using namespace std::chrono_literals;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// Keeps one text for each event.
class Recorder final : public Observer {
 public:
  void on_open(const ObservedApp& app) override {
    queues_ = app.queues;
    add("open " + std::string(app.namespace_name));
  }
  void on_admissions(const AdmissionBatch& batch) override {
    for (const ObservedAdmission& one : batch.admissions) {
      add("admission " + std::string(one.task.task) + " " + std::string(one.task.queue) + " " +
          std::string(to_string(one.outcome)) + (one.execution == one.task.id ? "" : " other"));
    }
  }
  void on_claims(const ClaimBatch& batch) override {
    for (const ObservedTask& one : batch.tasks) { add("claim " + std::string(one.task)); }
  }
  void on_attempt_begun(const AttemptBegin& begin) override {
    EXPECT_GE(begin.waited, Duration::zero());
    add("begun " + std::string(begin.task.task) + " " + std::to_string(begin.attempt));
  }
  void on_attempt_ended(const AttemptEnd& end) override {
    EXPECT_GE(end.ran_for, Duration::zero());
    EXPECT_GE(end.ended_ago, Duration::zero());
    add("ended " + std::string(end.task.task) + " " + std::to_string(end.attempt) + " " +
        std::string(to_string(end.outcome)) + (end.error_type.empty() ? "" : " " + std::string(end.error_type)));
  }
  void on_step_ended(const StepEnd& end) override {
    add("step " + std::string(end.step) + (end.failed ? " failed" : ""));
  }
  void on_store_call(const StoreCall& call) override { add("store " + std::string(call.verb)); }
  void on_log(LogLevel level, std::string_view message, const LogFields&) override {
    add("log " + std::string(to_string(level)) + " " + std::string(message));
  }
  void trace_request(const Uuid&, TraceContext& trace) override { trace.traceparent = made; }
  void trace_attempt(const Uuid&, std::int64_t, TraceContext& trace) override {
    EXPECT_EQ(trace.traceparent, made);
    trace.tracestate = "attempt=1";
  }

  [[nodiscard]] std::vector<std::string> events(std::string_view prefix = "") const {
    const std::lock_guard lock(mutex_);
    std::vector<std::string> found;
    std::ranges::copy_if(events_, std::back_inserter(found),
                         [&](const std::string& e) { return e.starts_with(prefix); });
    return found;
  }
  [[nodiscard]] std::vector<QueueStats> queues() const { return queues_(); }

  static constexpr const char* made = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

 private:
  void add(std::string event) {
    const std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
  }
  mutable std::mutex mutex_;
  std::vector<std::string> events_;
  std::function<std::vector<QueueStats>()> queues_;
};

class Observed : public OnStore {
 protected:
  const std::shared_ptr<Recorder> recorder_ = std::make_shared<Recorder>();
  [[nodiscard]] App open_observed() { return hapax::open(url_, {.migrate = true, .observer = recorder_}); }
};

TEST_P(Observed, AdmissionsAndAttemptsWithTaskQueueAndOutcome) {
  const Task<int, int> pay{"pay"};
  App app = open_observed();
  std::atomic<int> calls{0};
  std::string seen;
  app.handle(pay, [&](TaskContext& ctx, const int& n) {
    seen = ctx.traceparent() + " " + ctx.tracestate();
    if (calls.fetch_add(1) == 0) { throw std::runtime_error("no"); }
    return n;
  });
  const EnqueueOptions options{.task_id = "a", .queue = "money", .retry = RetryPolicy{.base = 1ms, .cap = 1ms}};
  (void)app.enqueue(pay, 1, options);
  (void)app.enqueue(pay, 1, options);
  Worker worker = app.work({.queues = {"money"}, .threads = 1});
  EXPECT_TRUE(worker.wait_until_empty(60s));
  worker.stop();
  EXPECT_THAT(recorder_->events("open"), ElementsAre("open default"));
  EXPECT_THAT(recorder_->events("admission"),
              ElementsAre("admission pay money created", "admission pay money deduplicated other"));
  EXPECT_THAT(recorder_->events("claim"), ElementsAre("claim pay", "claim pay"));
  EXPECT_THAT(recorder_->events("begun"), ElementsAre("begun pay 1", "begun pay 2"));
  EXPECT_THAT(recorder_->events("ended"),
              ElementsAre("ended pay 1 retried std::runtime_error", "ended pay 2 completed"));
  EXPECT_THAT(recorder_->events("store"), Contains("store admit"));
  EXPECT_THAT(recorder_->events("store"), Contains("store exchange"));
  EXPECT_EQ(seen, std::string(Recorder::made) + " attempt=1");
}

TEST_P(Observed, StepsOfAWorkflowThatRanHere) {
  const Workflow<int, int> order{"order"};
  App app = open_observed();
  app.handle(order, [](WorkflowContext& ctx, const int& n) {
    const int one = ctx.step("one", [&] { return n; });
    ctx.sleep(1ms);
    return ctx.step("two", [&] { return one; });
  });
  Worker worker = app.work({.threads = 1, .workflow_cache = 0});
  EXPECT_EQ(app.start(order, 3, {.workflow_id = "o"}).result_for(60s), 3);
  worker.stop();
  // The run is replayed after the timer; a step from the journal is not told again.
  EXPECT_THAT(recorder_->events("step"), ElementsAre("step one", "step two"));
  EXPECT_THAT(recorder_->events("ended order"), Contains("ended order 1 completed"));
}

TEST_P(Observed, QueuesCanBeReadUntilTheAppIsGone) {
  {
    App app = open_observed();
    (void)app.enqueue(Task<int, int>{"pay"}, 1);
    ASSERT_EQ(recorder_->queues().size(), 1U);
    EXPECT_EQ(recorder_->queues().front().ready, 1);
  }
  EXPECT_THROW((void)recorder_->queues(), StoreUnavailable);
}

TEST_P(Observed, AnObserverThatThrowsHarmsNoWork) {
  struct Thrower final : Observer {
    void on_admissions(const AdmissionBatch&) override { throw std::runtime_error("observer"); }
    void on_attempt_begun(const AttemptBegin&) override { throw std::runtime_error("observer"); }
    void on_attempt_ended(const AttemptEnd&) override { throw 1; }
    void trace_attempt(const Uuid&, std::int64_t, TraceContext&) override { throw 1; }
  };
  const Task<int, int> twice{"twice"};
  App app =
      hapax::open(url_, {.migrate = true, .observer = observe_with({nullptr, std::make_shared<Thrower>(), recorder_})});
  app.handle(twice, [](const int& n) { return 2 * n; });
  Worker worker = app.work({.threads = 1});
  EXPECT_EQ(app.enqueue(twice, 2).result_for(60s), 4);
  worker.stop();
  EXPECT_THAT(recorder_->events("ended"), ElementsAre("ended twice 1 completed"));
}

TEST_P(Observed, TheAppsOwnMetrics) {
  const auto metrics = std::make_shared<PrometheusMetrics>();
  const Task<int, int> twice{"twice"};
  App app = hapax::open(url_, {.migrate = true, .observer = metrics});
  app.handle(twice, [](const int& n) { return 2 * n; });
  Worker worker = app.work({.threads = 1});
  EXPECT_EQ(app.enqueue(twice, 2).result_for(60s), 4);
  worker.stop();
  const std::string text = metrics->text();
  EXPECT_THAT(text, HasSubstr("hapax_admissions_total{outcome=\"created\"} 1\n"));
  EXPECT_THAT(
      text,
      HasSubstr(
          "hapax_attempts_total{namespace=\"default\",queue=\"default\",task=\"twice\",outcome=\"completed\"} 1\n"));
  EXPECT_THAT(text, HasSubstr("hapax_queue_depth{namespace=\"default\",queue=\"default\",state=\"ready\"} 0\n"));
}

TEST_P(Observed, LinesOfTheLogGoToTheFunctionAndToTheObserver) {
  const Workflow<int, int> bad{"swallower"};
  std::promise<LogFields> told;
  std::atomic<bool> first{true};
  const LogFunction on_log = [&](LogLevel, std::string_view, const LogFields& fields) {
    if (first.exchange(false)) { told.set_value(fields); }
  };
  App app = hapax::open(url_, {.migrate = true, .on_log = on_log, .observer = recorder_});
  app.handle(bad, [](WorkflowContext& ctx, const int&) {
    while (true) {
      try {
        ctx.wait_signal<int>("never");
      } catch (...) { continue; }  // swallows its unwinding, which is told
    }
    return 0;
  });
  Worker worker = app.work({.threads = 1, .name = "w-1", .workflow_cache = 0});
  (void)app.start(bad, 1, {.workflow_id = "bad"});
  std::future<LogFields> fields = told.get_future();
  ASSERT_EQ(fields.wait_for(60s), std::future_status::ready);
  EXPECT_THAT(fields.get(), ElementsAre(::testing::Pair("component", "worker"), ::testing::Pair("worker", "w-1")));
  worker.stop();
  EXPECT_THAT(recorder_->events("log warning workflow 'swallower'"), ::testing::Not(::testing::IsEmpty()));
}

INSTANTIATE_TEST_SUITE_P(Stores, Observed, all_stores, [](const auto& info) { return info.param; });

}  // namespace
}  // namespace hapax
