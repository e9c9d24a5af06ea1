// The deadline of a whole execution.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class DeadlineConformance : public Conformance {
 protected:
  Uuid due_within(Duration deadline) {
    NewExecution item = request();
    item.deadline = deadline;
    return admit_id(item);
  }

  void expect_timed_out(const Uuid& id) {
    const Execution ended = get(id);
    EXPECT_EQ(ended.status, Status::timed_out);
    ASSERT_TRUE(ended.error);
    EXPECT_EQ(ended.error->type, "DeadlineExceeded");
    EXPECT_TRUE(ended.finished_at);
    EXPECT_TRUE(ended.expires_at);
    EXPECT_FALSE(ended.dead) << "dead letters are the failed ones only";
    EXPECT_FALSE(ended.result);
  }
};

TEST_F(DeadlineConformance, APendingExecutionTimesOutAtTheSweepAfterItsDeadline) {
  const Uuid id = due_within(1h);
  advance(59min);
  EXPECT_EQ(sweep(), SweepReport{});
  EXPECT_EQ(status(id), Status::pending);
  advance(2min);

  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 1}));

  expect_timed_out(id);
  EXPECT_TRUE(store().attempts(id).empty());
  EXPECT_EQ(sweep(), SweepReport{});
}

TEST_F(DeadlineConformance, ADelayedExecutionTimesOutBeforeItIsDue) {
  NewExecution item = request();
  item.delay = 5h;
  item.deadline = 1h;
  (void)admit_id(item);
  advance(2h);

  EXPECT_EQ(sweep().timed_out, 1);

  expect_timed_out(item.id);
  TestWorker me = worker();
  EXPECT_FALSE(claim_reply(me).next_due);
}

TEST_F(DeadlineConformance, ARunningExecutionTimesOutAndItsWorkerIsStale) {
  const Uuid id = due_within(1h);
  TestWorker me = worker(24h);
  const Claim held = claim_one(me);
  advance(61min);

  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 1}));

  expect_timed_out(id);
  const std::string before = picture(id);
  EXPECT_EQ(finish(completed(held)), FinishVerdict::stale);
  EXPECT_EQ(finish(ending(held, FinishKind::timed_out)), FinishVerdict::stale);
  EXPECT_EQ(beat(me, {held}).lost, std::vector{id});
  EXPECT_EQ(picture(id), before);
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].number, 1);
  EXPECT_EQ(attempts[0].outcome, "timed_out");
  EXPECT_EQ(attempts[0].started_at, held.claimed_at);
  EXPECT_EQ(store().sessions().at(0).running, 0);
}

TEST_F(DeadlineConformance, AnOutcomeBeforeTheSweepStands) {
  const Uuid id = due_within(1h);
  TestWorker me = worker(24h);
  const Claim held = claim_one(me);
  advance(2h);

  EXPECT_EQ(finish(completed(held, "1")), FinishVerdict::accepted);

  EXPECT_EQ(sweep(), SweepReport{});
  EXPECT_EQ(status(id), Status::completed);
}

TEST_F(DeadlineConformance, AWorkerMayTellThatTheDeadlinePassed) {
  const Uuid id = due_within(1h);
  TestWorker me = worker(24h);
  Finish late = ending(claim_one(me), FinishKind::timed_out);
  late.error = ErrorInfo{.type = "DeadlineExceeded", .message = "told by the worker", .detail = ""};

  ASSERT_EQ(finish(late), FinishVerdict::accepted);

  expect_timed_out(id);
  EXPECT_EQ(get(id).error, late.error);
}

TEST_F(DeadlineConformance, WhatIsPastItsDeadlineIsNeverHandedOut) {
  const Uuid late = due_within(1h);
  advance(61min);
  const Uuid fine = due_within(1h);
  TestWorker me = worker();

  const Claim claim = claim_one(me);

  EXPECT_EQ(claim.id, fine);
  EXPECT_EQ(get(late).attempt, 0);
  EXPECT_EQ(sweep().timed_out, 1);
  expect_timed_out(late);
}

TEST_F(DeadlineConformance, AClaimTellsTheTimeThatIsLeft) {
  const Uuid id = due_within(1h);
  advance(20min);
  TestWorker me = worker();

  const Claim claim = claim_one(me);

  EXPECT_EQ(claim.deadline, get(id).created_at + 1h);
  ASSERT_TRUE(claim.deadline_in);
  EXPECT_LE(*claim.deadline_in, 40min);
  EXPECT_GT(*claim.deadline_in, 39min);
}

TEST_F(DeadlineConformance, ADeadlineOutlivesRetriesAndLosses) {
  const Uuid retried = due_within(10h);
  TestWorker me = worker(1h);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 20h)), FinishVerdict::accepted);
  const Uuid lost = due_within(10h);
  (void)claim_one(me);
  advance(2h);
  EXPECT_EQ(sweep(), (SweepReport{.lost_sessions = 1, .requeued = 1}));
  advance(8h);

  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 2}));

  expect_timed_out(retried);
  expect_timed_out(lost);
}

TEST_F(DeadlineConformance, ALostSessionComesBeforeADeadlineInOneSweep) {
  const Uuid id = due_within(1h);
  TestWorker me = worker();
  (void)claim_one(me);
  advance(2h);

  EXPECT_EQ(sweep(), (SweepReport{.lost_sessions = 1, .requeued = 1, .timed_out = 1}));

  expect_timed_out(id);
  EXPECT_EQ(get(id).lost, 1);
  ASSERT_EQ(store().attempts(id).size(), 1U);
  EXPECT_EQ(store().attempts(id)[0].outcome, "lost");
}

TEST_F(DeadlineConformance, ASweepEndsAtMostItsLimitAndSaysThatThereIsMore) {
  for (int i = 0; i < 5; ++i) { (void)due_within(1h); }
  advance(2h);

  std::vector<int> passes;
  SweepReport report;
  do {
    report = store().sweep({.limit = 2});
    passes.push_back(report.timed_out);
  } while (report.more && passes.size() < 10);

  int total = 0;
  for (const int ended : passes) {
    EXPECT_LE(ended, 2);
    total += ended;
  }
  EXPECT_EQ(total, 5);
  EXPECT_GE(passes.size(), 3U);
}

TEST_F(DeadlineConformance, ATimedOutIdentityMayRunAgain) {
  NewExecution item = keyed("a");
  item.deadline = 1h;
  (void)admit_id(item);
  advance(2h);
  (void)sweep();

  EXPECT_EQ(admit(keyed("a")).run, 2);
}

}  // namespace

}  // namespace hapax::conformance
