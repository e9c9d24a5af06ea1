// Guards whose callers are gone: never queued again, taken over by one caller.
#include "conformance/guard_fixture.hpp"

#include <atomic>
#include <thread>

namespace hapax::conformance {

class GuardLostConformance : public GuardConformance {};

TEST_F(GuardLostConformance, OneWhoseLeaseIsOverIsTakenOverWithoutASweep) {
  Caller first = caller("first");
  const Admission lost = begin(first, "k");
  advance(30s);
  Caller second = caller("second");
  EXPECT_TRUE(store().guard(identity("k"))->abandoned);
  const Admission taken = admit(call(second, "k"));
  EXPECT_EQ(taken.verdict, AdmissionVerdict::taken_over);
  EXPECT_EQ(taken.id, lost.id);
  EXPECT_EQ(taken.fence, 2);
  const Execution execution = get(lost.id);
  EXPECT_EQ(execution.status, Status::running);
  EXPECT_EQ(execution.attempt, 2);
  EXPECT_EQ(execution.lost, 1);
  EXPECT_EQ(execution.worker, "second");
  EXPECT_FALSE(store().guard(identity("k"))->abandoned);
  const std::vector<Attempt> attempts = store().attempts(lost.id);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].outcome, "lost");
  EXPECT_EQ(attempts[0].number, 1);
  EXPECT_EQ(attempts[1].outcome, "running");
}

TEST_F(GuardLostConformance, TheFirstCallersLateOutcomeIsStale) {
  Caller first = caller();
  const Admission lost = begin(first, "k");
  advance(31s);
  Caller second = caller();
  const Admission taken = begin(second, "k");
  EXPECT_EQ(finish(outcome(lost, FinishKind::completed)), FinishVerdict::stale);
  EXPECT_EQ(finish(outcome(lost, FinishKind::failed, {.period = 1h, .holds_identity = false})), FinishVerdict::stale);
  EXPECT_EQ(store().guard(identity("k"))->status, Status::running);
  EXPECT_EQ(finish(outcome(taken, FinishKind::completed)), FinishVerdict::accepted);
  EXPECT_EQ(finish(outcome(taken, FinishKind::completed)), FinishVerdict::accepted);  // the same finish repeated
  EXPECT_EQ(finish(outcome(lost, FinishKind::completed)), FinishVerdict::stale);
}

TEST_F(GuardLostConformance, ALateOutcomeCountsWhileNobodyHasTakenItOver) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  advance(31s);
  (void)sweep();
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
  EXPECT_EQ(store().guard(identity("k"))->result, "\"paid\"");
}

TEST_F(GuardLostConformance, ASweepLeavesItRunningUnderNoSession) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  advance(31s);
  const SweepReport report = sweep(true);
  EXPECT_EQ(report.lost_sessions, 1);
  EXPECT_EQ(report.requeued, 0);
  EXPECT_EQ(report.dead, 0);
  EXPECT_EQ(status(admission.id), Status::running);
  EXPECT_EQ(sweep(true), SweepReport{});
  EXPECT_TRUE(store().sessions().empty());
  EXPECT_TRUE(store().guard(identity("k"))->abandoned);
  TestWorker greedy = worker(30s, {std::string(guard_queue)});
  EXPECT_TRUE(claim(greedy).empty());
  Caller second = caller();
  EXPECT_EQ(begin(second, "k").fence, 2);
}

TEST_F(GuardLostConformance, ASweepTakesTasksOfTheSameSessionBack) {
  TestWorker both = worker();
  const Uuid task = admit_id(request());
  (void)claim_one(both);
  Caller same{.session = both.session, .last_claim = 10, .label = "both"};
  const Admission admission = begin(same, "k");
  advance(31s);
  const SweepReport report = sweep();
  EXPECT_EQ(report.requeued, 1);
  EXPECT_EQ(report.lost_sessions, 1);
  EXPECT_EQ(status(task), Status::pending);
  EXPECT_EQ(status(admission.id), Status::running);
}

TEST_F(GuardLostConformance, RetentionLeavesWhatIsInProgress) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  advance(std::chrono::days(1000));
  for (int i = 0; i < 3; ++i) { (void)sweep(true); }
  EXPECT_EQ(status(admission.id), Status::running);
  EXPECT_TRUE(store().guard(identity("k")).has_value());
}

TEST_F(GuardLostConformance, OneThatIsNeverTakenOverIsNot) {
  Caller first = caller();
  const Admission admission = begin(first, "k", std::nullopt);
  advance(std::chrono::days(1));
  (void)sweep();
  Caller second = caller();
  const Admission met = admit(call(second, "k"));
  EXPECT_EQ(met.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(met.status, Status::running);
  const std::optional<Guard> guard = store().guard(identity("k"));
  EXPECT_FALSE(guard->abandoned);
  EXPECT_FALSE(guard->takeover_after.has_value());
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
}

TEST_F(GuardLostConformance, ABeatKeepsIt) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  for (int i = 0; i < 5; ++i) {
    advance(20s);
    const BeatReply reply = beat(first, {{admission.id, 1}}, first.last_claim);
    EXPECT_FALSE(reply.session_lost);
    EXPECT_TRUE(reply.lost.empty());
    EXPECT_EQ(reply.released, 0);
  }
  const std::optional<Guard> guard = store().guard(identity("k"));
  EXPECT_GE(guard->heartbeat - guard->started_at, Duration(99s));
  Caller second = caller();
  EXPECT_EQ(admit(call(second, "k")).verdict, AdmissionVerdict::deduplicated);
}

TEST_F(GuardLostConformance, ABeatTellsWhatSomebodyElseHasTakenOver) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  advance(31s);
  Caller second = caller();
  (void)begin(second, "k");
  const BeatReply reply = beat(first, {{admission.id, 1}}, first.last_claim);
  EXPECT_EQ(reply.lost, std::vector<Uuid>{admission.id});
}

// The answer to the begin was lost, so the caller never runs the function and its beat does not list it.
TEST_F(GuardLostConformance, OneThatABeatDoesNotKnowIsTakenOverAtOnce) {
  Caller first = caller();
  const Admission unknown = begin(first, "k");
  const Admission known = begin(first, "known");
  const BeatReply reply = beat(first, {{known.id, 1}}, first.last_claim);
  EXPECT_EQ(reply.released, 1);
  EXPECT_EQ(status(unknown.id), Status::running);
  EXPECT_TRUE(store().guard(identity("k"))->abandoned);
  EXPECT_FALSE(store().guard(identity("known"))->abandoned);
  Caller second = caller();
  EXPECT_EQ(begin(second, "k").fence, 2);
  EXPECT_EQ(finish(outcome(known, FinishKind::completed)), FinishVerdict::accepted);
}

TEST_F(GuardLostConformance, AClosedSessionLeavesItToTheNextCaller) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  store().close_session(first.session);
  EXPECT_EQ(status(admission.id), Status::running);
  Caller second = caller();
  EXPECT_EQ(begin(second, "k").fence, 2);
}

TEST_F(GuardLostConformance, ASessionThatIsOpenedAgainHasItsGuardsBack) {
  Caller first = caller("first");
  const Admission admission = begin(first, "k");
  advance(31s);
  (void)sweep();
  EXPECT_TRUE(beat(first, {{admission.id, 1}}).session_lost);
  open(first);
  EXPECT_FALSE(store().guard(identity("k"))->abandoned);
  EXPECT_EQ(get(admission.id).worker, "first");
  EXPECT_TRUE(beat(first, {{admission.id, 1}}, first.last_claim).lost.empty());
  Caller second = caller();
  EXPECT_EQ(admit(call(second, "k")).verdict, AdmissionVerdict::deduplicated);
}

TEST_F(GuardLostConformance, TheTakersFingerprintAndThresholdCountFromThenOn) {
  Caller first = caller();
  NewExecution item = call(first, "k");
  item.identity->fingerprint = base::sha256("one");
  (void)admit(item);
  advance(31s);
  Caller second = caller("second", 10s);
  NewExecution other = call(second, "k", 10s);
  other.identity->fingerprint = base::sha256("other");
  EXPECT_EQ(admit(other).verdict, AdmissionVerdict::taken_over);
  const std::optional<Guard> guard = store().guard(identity("k"));
  EXPECT_EQ(guard->fingerprint, base::sha256("other"));
  EXPECT_EQ(guard->takeover_after, Duration(10s));
}

TEST_F(GuardLostConformance, ATakerWithoutASessionTakesNothing) {
  Caller first = caller();
  Caller second = caller();
  (void)begin(first, "k");
  advance(31s);
  EXPECT_EQ(admit(call(second, "k")).verdict, AdmissionVerdict::session_gone);
  EXPECT_EQ(store().guard(identity("k"))->fence, 1);
}

TEST_F(GuardLostConformance, OfManyTakersOneWins) {
  constexpr int keys = 20;
  constexpr int takers = 8;
  Caller first = caller();
  for (int i = 0; i < keys; ++i) { (void)begin(first, "k" + std::to_string(i)); }
  advance(31s);
  std::vector<std::shared_ptr<Store>> handles;
  std::vector<Caller> callers;
  for (int i = 0; i < takers; ++i) {
    callers.push_back(caller("taker" + std::to_string(i)));
    handles.push_back(second());
  }
  std::atomic<int> won = 0, met = 0, other = 0;
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < takers; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < keys; ++i) {
        const NewExecution item = call(callers[t], "k" + std::to_string(i));
        const Admission admission = handles[t]->admit({&item, 1}).front();
        if (admission.verdict == AdmissionVerdict::taken_over && admission.fence == 2) {
          ++won;
        } else if (admission.verdict == AdmissionVerdict::deduplicated && admission.status == Status::running) {
          ++met;
        } else {
          ++other;
        }
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(won.load(), keys);
  EXPECT_EQ(met.load(), keys * (takers - 1));
  EXPECT_EQ(other.load(), 0);
}

}  // namespace hapax::conformance
