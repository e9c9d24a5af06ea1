// The fence: an execution has one accepted outcome, and a worker that lost its claim cannot write it.
#include "conformance/fixture.hpp"

#include <array>

namespace hapax::conformance {

namespace {

constexpr std::array every_kind = {FinishKind::completed, FinishKind::failed, FinishKind::cancelled,
                                   FinishKind::timed_out, FinishKind::retry,  FinishKind::snoozed,
                                   FinishKind::released};

class FenceConformance : public Conformance {
 protected:
  static Finish any(const Claim& claim, FinishKind kind) {
    Finish finish = ending(claim, kind, 1h);
    finish.result = R"("result")";
    finish.error = ErrorInfo{.type = "Broken", .message = "first", .detail = ""};
    return finish;
  }

  static std::string named(FinishKind kind) { return "finish kind " + std::to_string(static_cast<int>(kind)); }
};

TEST_F(FenceConformance, AttemptAndFenceRiseWithEachClaim) {
  (void)admit_id(request());
  TestWorker me = worker();
  for (int i = 1; i <= 5; ++i) {
    const Claim claim = claim_one(me);
    EXPECT_EQ(claim.attempt, i);
    EXPECT_EQ(claim.fence, i);
    EXPECT_EQ(get(claim.id).attempt, i);
    EXPECT_EQ(get(claim.id).fence, i);
    ASSERT_EQ(finish(ending(claim, FinishKind::retry)), FinishVerdict::accepted);
  }
}

TEST_F(FenceConformance, TheFenceNeverFallsAlsoWhereTheAttemptDoes) {
  (void)admit_id(request());
  TestWorker me = worker();
  for (int i = 1; i <= 3; ++i) {
    const Claim claim = claim_one(me);
    EXPECT_EQ(claim.attempt, 1);
    EXPECT_EQ(claim.fence, i);
    ASSERT_EQ(finish(ending(claim, FinishKind::released)), FinishVerdict::accepted);
    EXPECT_EQ(get(claim.id).fence, i);
  }
}

TEST_F(FenceConformance, AFinishUnderAnOldFenceChangesNothingWhileAnotherRuns) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const Claim old = claim_one(me);
  ASSERT_EQ(finish(ending(old, FinishKind::released)), FinishVerdict::accepted);
  const Claim present = claim_one(me);
  const std::string before = picture(id);

  for (const FinishKind kind : every_kind) {
    EXPECT_EQ(finish(any(old, kind)), FinishVerdict::stale) << named(kind);
    EXPECT_EQ(picture(id), before) << named(kind);
  }
  EXPECT_EQ(finish(completed(present, "1")), FinishVerdict::accepted);
}

TEST_F(FenceConformance, AFinishOfAnotherKindChangesNothingOnceOneWasAccepted) {
  for (const FinishKind accepted : every_kind) {
    SCOPED_TRACE(named(accepted));
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    const Claim claim = claim_one(me);
    ASSERT_EQ(finish(any(claim, accepted)), FinishVerdict::accepted);
    const std::string before = picture(id);

    for (const FinishKind late : every_kind) {
      if (late == accepted) { continue; }
      EXPECT_EQ(finish(any(claim, late)), FinishVerdict::stale) << named(late);
    }

    EXPECT_EQ(picture(id), before);
    (void)store().cancel({&id, 1}, "out of the way of the next");
  }
}

TEST_F(FenceConformance, ARepeatedFinishIsAcceptedAgainAndChangesNothing) {
  for (const FinishKind kind : every_kind) {
    SCOPED_TRACE(named(kind));
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    const Claim claim = claim_one(me);
    ASSERT_EQ(finish(any(claim, kind)), FinishVerdict::accepted);
    const std::string before = picture(id);
    advance(1min);

    Finish again = any(claim, kind);
    again.result = R"("another")";
    again.error->message = "another";
    EXPECT_EQ(finish(again), FinishVerdict::accepted);

    EXPECT_EQ(picture(id), before) << "the first outcome is the one that counts";
    (void)store().cancel({&id, 1}, "out of the way of the next");
  }
}

TEST_F(FenceConformance, ARepeatedFinishIsStaleOnceTheExecutionWasClaimedAgain) {
  for (const FinishKind kind : {FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    SCOPED_TRACE(named(kind));
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    const Claim first = claim_one(me);
    ASSERT_EQ(finish(ending(first, kind)), FinishVerdict::accepted);
    const Claim next = claim_one(me);
    const std::string before = picture(id);

    EXPECT_EQ(finish(ending(first, kind)), FinishVerdict::stale);

    EXPECT_EQ(picture(id), before);
    EXPECT_EQ(finish(completed(next)), FinishVerdict::accepted);
  }
}

TEST_F(FenceConformance, ARepeatedFinishIsAcceptedAgainAlsoWhenTheExecutionHasEndedSince) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const Finish retried = ending(claim_one(me), FinishKind::retry, 1h);
  ASSERT_EQ(finish(retried), FinishVerdict::accepted);
  bring_to(id, Status::cancelled);

  EXPECT_EQ(finish(retried), FinishVerdict::accepted);

  EXPECT_EQ(status(id), Status::cancelled);
}

TEST_F(FenceConformance, AnEarlierFinishDoesNotVouchForAnAttemptThatTheStoreTookBack) {
  for (const FinishKind kind : {FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    SCOPED_TRACE(named(kind));
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    ASSERT_EQ(finish(ending(claim_one(me), kind)), FinishVerdict::accepted);
    const Claim lost = claim_one(me);
    advance(me.lease + 1s);
    ASSERT_EQ(sweep().requeued, 1);
    const std::string before = picture(id);

    EXPECT_EQ(finish(ending(lost, kind)), FinishVerdict::stale) << "the accepted one was under another fence";

    EXPECT_EQ(picture(id), before);
    (void)store().cancel({&id, 1}, "out of the way of the next");
  }
}

TEST_F(FenceConformance, AFinishUnderAFenceThatNeverWasIsStale) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const std::string pending = picture(id);
  for (const FinishKind kind : every_kind) {
    EXPECT_EQ(finish(any({.id = id, .fence = 0}, kind)), FinishVerdict::stale) << named(kind);
    EXPECT_EQ(finish(any({.id = id, .fence = 1}, kind)), FinishVerdict::stale) << named(kind);
  }
  EXPECT_EQ(picture(id), pending);

  const Claim claim = claim_one(me);
  const std::string running = picture(id);
  for (const FinishKind kind : every_kind) {
    EXPECT_EQ(finish(any({.id = id, .fence = claim.fence + 1}, kind)), FinishVerdict::stale) << named(kind);
    EXPECT_EQ(finish(any({.id = id, .fence = 0}, kind)), FinishVerdict::stale) << named(kind);
  }
  EXPECT_EQ(picture(id), running);
}

TEST_F(FenceConformance, AFinishOfAnUnknownExecutionIsStale) {
  for (const FinishKind kind : every_kind) {
    EXPECT_EQ(finish(any({.id = base::new_uuid7(), .fence = 1}, kind)), FinishVerdict::stale) << named(kind);
  }
}

TEST_F(FenceConformance, EachFinishOfABatchIsJudgedAloneAndAnsweredInOrder) {
  std::vector<NewExecution> items(every_kind.size() + 1);
  for (NewExecution& item : items) { item = request(); }
  (void)store().admit(items);
  TestWorker me = worker();
  const std::vector<Claim> claims = claim(me, 100);
  ASSERT_EQ(claims.size(), items.size());
  std::vector<Finish> finishes;
  for (std::size_t i = 0; i < every_kind.size(); ++i) { finishes.push_back(any(claims[i], every_kind[i])); }
  finishes.push_back(completed({.id = claims.back().id, .fence = 9}));
  finishes.push_back(completed({.id = base::new_uuid7(), .fence = 1}));

  const std::vector<FinishVerdict> verdicts = store().finish(finishes);

  ASSERT_EQ(verdicts.size(), finishes.size());
  constexpr std::array ended_as = {Status::completed, Status::failed,  Status::cancelled, Status::timed_out,
                                   Status::pending,   Status::pending, Status::pending};
  for (std::size_t i = 0; i < every_kind.size(); ++i) {
    EXPECT_EQ(verdicts[i], FinishVerdict::accepted) << named(every_kind[i]);
    EXPECT_EQ(status(claims[i].id), ended_as[i]) << named(every_kind[i]);
  }
  EXPECT_EQ(verdicts[every_kind.size()], FinishVerdict::stale);
  EXPECT_EQ(verdicts.back(), FinishVerdict::stale);
  EXPECT_EQ(status(claims.back().id), Status::running);
}

TEST_F(FenceConformance, AnAcceptedResultIsKeptWithItsTimes) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const Claim claim = claim_one(me);
  advance(10min);
  Finish done = completed(claim, R"({"n":[1,2.50,"x"]})");
  done.ran_for = 4min;
  const Time before = store().now();
  ASSERT_EQ(finish(done), FinishVerdict::accepted);

  const Execution execution = get(id);

  EXPECT_EQ(execution.status, Status::completed);
  EXPECT_EQ(execution.result, R"({"n":[1,2.50,"x"]})") << "byte for byte";
  EXPECT_FALSE(execution.error);
  ASSERT_TRUE(execution.finished_at && execution.started_at && execution.expires_at);
  EXPECT_GE(*execution.finished_at, before);
  EXPECT_EQ(*execution.finished_at - *execution.started_at, Duration(4min));
  EXPECT_EQ(*execution.expires_at - *execution.finished_at, Duration(7 * 24h));
  const std::optional<Outcome> outcome = store().outcomes({&id, 1}).at(0);
  ASSERT_TRUE(outcome);
  EXPECT_EQ(outcome->status, Status::completed);
  EXPECT_EQ(outcome->result, execution.result);
}

}  // namespace

}  // namespace hapax::conformance
