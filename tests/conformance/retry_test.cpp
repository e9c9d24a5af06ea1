// Attempts that do not end the execution: retry, snooze, release, and the rows they leave.
#include "conformance/fixture.hpp"

#include "base/limits.hpp"

namespace hapax::conformance {

namespace {

class RetryConformance : public Conformance {
 protected:
  Finish retried(const Claim& claim, Duration delay, const std::string& message = "broken") {
    Finish finish = failed(claim, message);
    finish.kind = FinishKind::retry;
    finish.delay = delay;
    return finish;
  }

  // Common to all three: the execution waits again.
  void expect_waiting(const Uuid& id, int attempt) {
    const Execution waiting = get(id);
    EXPECT_EQ(waiting.status, Status::pending);
    EXPECT_EQ(waiting.attempt, attempt);
    EXPECT_EQ(waiting.fence, 1);
    EXPECT_FALSE(waiting.session);
    EXPECT_EQ(waiting.worker, "");
    EXPECT_FALSE(waiting.started_at);
    EXPECT_FALSE(waiting.error) << "an error is told only of what finished";
    EXPECT_FALSE(waiting.finished_at);
    EXPECT_FALSE(waiting.dead);
  }
};

TEST_F(RetryConformance, ARetryWaitsItsDelayAndSpendsTheAttempt) {
  const Uuid id = admit_id(request());
  TestWorker me = worker(24h);
  const Time before = store().now();
  ASSERT_EQ(finish(retried(claim_one(me), 1h)), FinishVerdict::accepted);

  expect_waiting(id, 1);
  EXPECT_GE(get(id).run_at, before + 1h);
  EXPECT_LE(get(id).run_at, store().now() + 1h);
  EXPECT_TRUE(claim(me).empty());
  advance(1h);
  const Claim again = claim_one(me);
  EXPECT_EQ(again.id, id);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(again.fence, 2);
}

TEST_F(RetryConformance, ARetryWithoutDelayIsDueAtOnce) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  ASSERT_EQ(finish(retried(claim_one(me), Duration{0})), FinishVerdict::accepted);

  EXPECT_EQ(claim_one(me).id, id);
}

TEST_F(RetryConformance, ASnoozeWaitsItsDelayAndSpendsNothing) {
  const Uuid id = admit_id(request());
  TestWorker me = worker(24h);
  const Time before = store().now();
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::snoozed, 1h)), FinishVerdict::accepted);

  expect_waiting(id, 0);
  EXPECT_GE(get(id).run_at, before + 1h);
  EXPECT_TRUE(claim(me).empty());
  advance(1h);
  const Claim again = claim_one(me);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(again.fence, 2);
}

TEST_F(RetryConformance, AReleaseIsReadyAtOnceInItsOldPlaceAndSpendsNothing) {
  const Uuid id = admit_id(request());
  const Time run_at = get(id).run_at;
  (void)admit_id(request());
  TestWorker me = worker();
  const Claim held = claim(me, 1).at(0);
  advance(1min);
  ASSERT_EQ(finish(ending(held, FinishKind::released)), FinishVerdict::accepted);

  expect_waiting(id, 0);
  EXPECT_EQ(get(id).run_at, run_at);
  EXPECT_TRUE(store().attempts(id).empty()) << "a release leaves no trace";
  const Claim again = claim(me, 1).at(0);
  EXPECT_EQ(again.id, id);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(again.fence, 2);
}

TEST_F(RetryConformance, AFailedAttemptIsRecordedWithItsErrorAndTimes) {
  const Uuid id = admit_id(request());
  TestWorker me = worker(24h);
  const Claim held = claim_one(me);
  const std::string worker_name = get(id).worker;
  advance(10min);
  Finish finish_it = retried(held, 1h, "no route");
  finish_it.error->detail = "line 1\nline 2";
  finish_it.ran_for = 3min;
  ASSERT_EQ(finish(finish_it), FinishVerdict::accepted);

  const std::vector<Attempt> attempts = store().attempts(id);

  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].number, 1);
  EXPECT_EQ(attempts[0].outcome, "failed");
  EXPECT_EQ(attempts[0].worker, worker_name);
  EXPECT_EQ(attempts[0].error, finish_it.error);
  ASSERT_TRUE(attempts[0].started_at && attempts[0].ended_at);
  EXPECT_EQ(*attempts[0].ended_at - *attempts[0].started_at, Duration(3min));
}

TEST_F(RetryConformance, AttemptsTellAWholeLifeInOrder) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  ASSERT_EQ(finish(retried(claim_one(me), 0s, "one")), FinishVerdict::accepted);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::snoozed)), FinishVerdict::accepted);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::released)), FinishVerdict::accepted);
  ASSERT_EQ(finish(retried(claim_one(me), 0s, "two")), FinishVerdict::accepted);
  const Claim last = claim_one(me);
  EXPECT_EQ(last.attempt, 3);
  EXPECT_EQ(last.fence, 5);

  std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 4U);
  EXPECT_EQ(attempts[3].number, 3);
  EXPECT_EQ(attempts[3].outcome, "running");
  EXPECT_EQ(attempts[3].started_at, last.claimed_at);
  EXPECT_FALSE(attempts[3].ended_at);

  ASSERT_EQ(finish(failed(last, "three")), FinishVerdict::accepted);
  attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 4U);
  struct Expected {
    int number;
    const char* outcome;
    const char* message;
  };
  constexpr Expected expected[] = {
      {1, "failed", "one"}, {2, "snoozed", ""}, {2, "failed", "two"}, {3, "failed", "three"}};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ(attempts[i].number, expected[i].number) << i;
    EXPECT_EQ(attempts[i].outcome, expected[i].outcome) << i;
    EXPECT_EQ(attempts[i].error ? attempts[i].error->message : "", expected[i].message) << i;
    EXPECT_TRUE(attempts[i].ended_at) << i;
  }
}

TEST_F(RetryConformance, AnExecutionThatJustWorksHasOneAttempt) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const Claim held = claim_one(me);
  ASSERT_EQ(finish(completed(held)), FinishVerdict::accepted);

  const std::vector<Attempt> attempts = store().attempts(id);

  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].number, 1);
  EXPECT_EQ(attempts[0].outcome, "completed");
  EXPECT_EQ(attempts[0].worker, get(id).worker);
  EXPECT_EQ(attempts[0].ended_at, get(id).finished_at);
  EXPECT_FALSE(attempts[0].error);
}

TEST_F(RetryConformance, AnExecutionThatWaitsForItsRetryCountsAsDelayed) {
  (void)admit_id(request());
  TestWorker me = worker();
  ASSERT_EQ(finish(retried(claim_one(me), 1h)), FinishVerdict::accepted);

  const QueueInfo info = store().queues("default").at(0);

  EXPECT_EQ(info.delayed, 1);
  EXPECT_EQ(info.ready, 0);
  EXPECT_EQ(info.running, 0);
  const std::optional<Duration> next = claim_reply(me).next_due;
  ASSERT_TRUE(next);
  EXPECT_LE(*next, 1h);
}

TEST_F(RetryConformance, ARetryOfOnePastItsFirstRunAtKeepsThePriority) {
  NewExecution urgent = request();
  urgent.priority = 3;
  (void)admit_id(urgent);
  TestWorker me = worker();
  ASSERT_EQ(finish(retried(claim_one(me), 1s)), FinishVerdict::accepted);
  (void)admit_id(request());
  advance(1min);

  EXPECT_EQ(claim(me, 1).at(0).id, urgent.id);
}

TEST_F(RetryConformance, NoErrorTextCanKeepAnOutcomeFromBeingWritten) {
  using namespace std::string_literals;
  const std::string bad = "nul \0 bad \xff\xfe lone \xed\xa0\x80 quote \" \\ "s + std::string(100'000, 'x');
  for (const FinishKind kind : {FinishKind::retry, FinishKind::failed, FinishKind::timed_out, FinishKind::cancelled}) {
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    Finish finish_it = ending(claim_one(me), kind, 1h);
    finish_it.error = ErrorInfo{.type = bad, .message = bad, .detail = bad};

    ASSERT_EQ(finish(finish_it), FinishVerdict::accepted);

    const std::vector<Attempt> attempts = store().attempts(id);
    ASSERT_EQ(attempts.size(), 1U);
    ASSERT_TRUE(attempts[0].error);
    EXPECT_TRUE(attempts[0].error->message.starts_with("nul \\x00 bad \\xff\\xfe")) << attempts[0].error->message;
    EXPECT_LE(attempts[0].error->message.size(), limits::error_message_bytes);
    EXPECT_LE(attempts[0].error->detail.size(), limits::error_detail_bytes);
  }
}

}  // namespace

}  // namespace hapax::conformance
