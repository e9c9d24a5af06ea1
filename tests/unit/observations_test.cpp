#include "engine/observations.hpp"

#include <hapax/error.hpp>

#include <gtest/gtest.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hapax::engine {
namespace {

using namespace std::chrono_literals;

class Kept final : public Observer {
 public:
  void on_store_call(const StoreCall& call) override {
    calls.emplace_back(std::string(call.verb) + (call.failed ? "!" : ""));
  }
  void on_attempt_begun(const AttemptBegin& begin) override { waits.push_back(begin.waited); }
  void on_attempt_ended(const AttemptEnd& end) override {
    outcomes.push_back(end.outcome);
    ran_for = end.ran_for;
    error_type = end.error_type;
  }
  void on_leases_lost(const LeaseLoss& loss) override { lost = loss; }
  void on_admissions(const AdmissionBatch& batch) override {
    for (const ObservedAdmission& one : batch.admissions) { callers.emplace_back(one.caller_trace); }
  }
  void trace_request(const Uuid&, TraceContext& trace) override { trace = {.traceparent = "own", .tracestate = "x=y"}; }

  std::vector<std::string> calls;
  std::vector<Duration> waits;
  std::vector<AttemptOutcome> outcomes;
  std::vector<std::string> callers;
  Duration ran_for{0};
  std::string error_type;
  std::optional<LeaseLoss> lost;
};

class ObservationsTest : public testing::Test {
 protected:
  ObservationsTest() { observations_.observe(kept_); }

  // A run that was due at 10 s, claimed at 13 s, received here and started 1 s later, 5 s ago.
  static RunPtr run(bool started = true) {
    model::Claim claim;
    claim.created_at = Time(4s);
    claim.due_at = Time(10s);
    claim.claimed_at = Time(13s);
    auto made = std::make_shared<engine::Run>(std::move(claim));
    const Time now = engine_now();
    made->received = now - 6s;
    if (started) { EXPECT_TRUE(made->start(now - 5s)); }
    return made;
  }

  const std::shared_ptr<Kept> kept_ = std::make_shared<Kept>();
  Observations observations_;
};

TEST_F(ObservationsTest, ACallOfTheStoreIsToldWithItsVerbAlsoWhenItFails) {
  Duration took{-1};
  EXPECT_EQ(observations_.store_call(
                "beat", [] { return 7; }, &took),
            7);
  EXPECT_GE(took, Duration::zero());
  EXPECT_THROW((void)observations_.store_call("sweep", []() -> int { throw StoreUnavailable("away"); }),
               StoreUnavailable);
  EXPECT_EQ(kept_->calls, (std::vector<std::string>{"beat", "sweep!"}));
}

TEST_F(ObservationsTest, AnAttemptWaitedSinceItsExecutionWasDue) {
  observations_.begun(*run());
  EXPECT_EQ(kept_->waits, std::vector<Duration>{4s});
  model::Claim claim;
  claim.created_at = Time(4s);  // where the due time is not known
  claim.claimed_at = Time(6s);
  observations_.begun(claim, 1s);
  EXPECT_EQ(kept_->waits.back(), Duration(3s));
}

TEST_F(ObservationsTest, AnEndIsToldWithTheOutcomeThatTheStoreAccepted) {
  model::Finish finish;
  finish.kind = model::FinishKind::retry;
  finish.ran_for = 2s;
  finish.error = model::ErrorInfo{"Timeout", "secret", ""};
  observations_.ended(Settled{run(), finish, {}}, model::FinishVerdict::accepted);
  EXPECT_EQ(kept_->ran_for, Duration(2s));
  EXPECT_EQ(kept_->error_type, "Timeout");
  observations_.ended(Settled{run(), finish, {}}, model::FinishVerdict::stale);
  // Recorded by the handler, in its own transaction.
  observations_.ended(Settled{run(), std::nullopt, {}}, model::FinishVerdict::accepted);
  EXPECT_GE(kept_->ran_for, Duration(5s));
  // Given back before a thread took it: no attempt.
  observations_.ended(Settled{run(false), finish, {}}, model::FinishVerdict::accepted);
  EXPECT_EQ(kept_->outcomes,
            (std::vector<AttemptOutcome>{AttemptOutcome::retried, AttemptOutcome::stale, AttemptOutcome::completed}));
}

TEST_F(ObservationsTest, LostLeasesEndTheAttemptsThatHadBegun) {
  const std::array<RunPtr, 2> runs = {run(), run(false)};
  observations_.lost(runs, true);
  ASSERT_TRUE(kept_->lost.has_value());
  EXPECT_EQ(kept_->lost->executions, 2U);
  EXPECT_TRUE(kept_->lost->session);
  EXPECT_EQ(kept_->outcomes, std::vector<AttemptOutcome>{AttemptOutcome::lost});
}

TEST_F(ObservationsTest, ARequestKeepsTheObserversContextAndTellsTheCallers) {
  model::NewExecution request;
  request.labels.traceparent = "callers";
  observations_.trace(request);
  EXPECT_EQ(request.labels.traceparent, "own");
  EXPECT_EQ(request.labels.tracestate, "x=y");
  const model::Admission admission;
  observations_.admitted({&request, 1}, {&admission, 1}, 1ms);
  EXPECT_EQ(kept_->callers, std::vector<std::string>{"callers"});
}

TEST(ObservationsWithoutAnObserver, ChangeNothing) {
  const Observations none;
  model::NewExecution request;
  request.labels.traceparent = "callers";
  none.trace(request);
  EXPECT_EQ(request.labels.traceparent, "callers");
  Duration took{-1};
  EXPECT_EQ(none.store_call(
                "beat", [] { return 7; }, &took),
            7);
  EXPECT_EQ(took, Duration(-1)) << "no clock is read";
  none.log(LogLevel::error, "nobody is told", {});
}

}  // namespace
}  // namespace hapax::engine
