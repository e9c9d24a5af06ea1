// Cancellation: a pending execution ends at once, a running one is asked to stop.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class CancelConformance : public Conformance {
 protected:
  CancelResult cancel(const Uuid& id, std::string_view reason = "no longer wanted") {
    const std::vector<CancelResult> results = store().cancel({&id, 1}, reason);
    EXPECT_EQ(results.size(), 1U);
    return results.at(0);
  }

  void expect_cancelled(const Uuid& id, const std::string& reason) {
    const Execution ended = get(id);
    EXPECT_EQ(ended.status, Status::cancelled);
    EXPECT_EQ(ended.error, (ErrorInfo{.type = "Cancelled", .message = reason, .detail = ""}));
    EXPECT_FALSE(ended.dead);
    EXPECT_FALSE(ended.cancel_requested);
    EXPECT_TRUE(ended.finished_at);
    EXPECT_TRUE(ended.expires_at);
  }
};

// ---- Pending -------------------------------------------------------------------------------------------------------

TEST_F(CancelConformance, APendingExecutionIsCancelledAtOnce) {
  const Uuid id = admit_id(request());

  const CancelResult result = cancel(id, "changed my mind");

  EXPECT_EQ(result.verdict, CancelVerdict::cancelled);
  EXPECT_EQ(result.status, Status::cancelled);
  expect_cancelled(id, "changed my mind");
  EXPECT_EQ(get(id).attempt, 0);
  EXPECT_FALSE(get(id).session);
  EXPECT_TRUE(store().attempts(id).empty());
  TestWorker me = worker();
  EXPECT_TRUE(claim(me).empty());
}

TEST_F(CancelConformance, ADelayedExecutionIsCancelledAtOnce) {
  NewExecution item = request();
  item.delay = 1h;
  (void)admit_id(item);

  EXPECT_EQ(cancel(item.id).verdict, CancelVerdict::cancelled);

  advance(2h);
  TestWorker me = worker();
  const ClaimReply reply = claim_reply(me);
  EXPECT_TRUE(reply.claims.empty());
  EXPECT_FALSE(reply.next_due);
}

TEST_F(CancelConformance, AnExecutionThatWaitsForItsRetryIsCancelledWithItsHistory) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 1h)), FinishVerdict::accepted);

  EXPECT_EQ(cancel(id).verdict, CancelVerdict::cancelled);

  expect_cancelled(id, "no longer wanted");
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U) << "what ended while pending had no last attempt";
  EXPECT_EQ(attempts[0].outcome, "failed");
}

// ---- Running -------------------------------------------------------------------------------------------------------

TEST_F(CancelConformance, ARunningExecutionIsAskedToStop) {
  const Uuid id = admit_id(request());
  (void)admit_id(request());
  TestWorker me = worker();
  const std::vector<Claim> held = claim(me);
  ASSERT_EQ(held.size(), 2U);
  TestWorker other = worker();
  EXPECT_TRUE(store().cancel_requests(me.session).empty());
  EXPECT_TRUE(beat(me, held).cancel.empty());

  const CancelResult result = cancel(id);

  EXPECT_EQ(result.verdict, CancelVerdict::requested);
  EXPECT_EQ(result.status, Status::running);
  EXPECT_EQ(status(id), Status::running);
  EXPECT_TRUE(get(id).cancel_requested);
  EXPECT_EQ(store().cancel_requests(me.session), std::vector{id});
  EXPECT_EQ(beat(me, held).cancel, std::vector{id});
  EXPECT_EQ(beat(me, held).cancel, std::vector{id}) << "told until it is heard";
  EXPECT_TRUE(store().cancel_requests(other.session).empty());
  EXPECT_TRUE(store().cancel_requests(base::new_uuid7()).empty());
  EXPECT_TRUE(beat(other, {}).cancel.empty());
}

TEST_F(CancelConformance, AWorkerThatHeardEndsItWithTheReasonThatWasGivenFirst) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const Claim held = claim_one(me);
  (void)cancel(id, "first reason");
  EXPECT_EQ(cancel(id, "second reason").verdict, CancelVerdict::requested);

  ASSERT_EQ(finish(ending(held, FinishKind::cancelled)), FinishVerdict::accepted);

  expect_cancelled(id, "first reason");
  EXPECT_TRUE(store().cancel_requests(me.session).empty());
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].outcome, "cancelled");
}

TEST_F(CancelConformance, TheReasonIsTheMessageAndTheWorkersOwnAccountTheDetail) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  Finish stopped = ending(claim_one(me), FinishKind::cancelled);
  stopped.error = ErrorInfo{.type = "Stopped", .message = "a \",\"detail\":\" b", .detail = "after page \"3\"\n\\"};
  (void)cancel(id, "ordered \"twice\"");

  ASSERT_EQ(finish(stopped), FinishVerdict::accepted);

  EXPECT_EQ(get(id).error,
            (ErrorInfo{.type = "Cancelled", .message = "ordered \"twice\"", .detail = "after page \"3\"\n\\"}));
  EXPECT_EQ(store().attempts(id).back().error, get(id).error);
}

TEST_F(CancelConformance, WithoutAReasonAWorkersOwnAccountIsKeptWhole) {
  for (const bool asked : {true, false}) {
    SCOPED_TRACE(asked);
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    Finish stopped = ending(claim_one(me), FinishKind::cancelled);
    stopped.error = ErrorInfo{.type = "Stopped", .message = "after page 3", .detail = "3"};
    if (asked) { (void)cancel(id, ""); }

    ASSERT_EQ(finish(stopped), FinishVerdict::accepted);

    EXPECT_EQ(get(id).error, stopped.error);
  }
}

TEST_F(CancelConformance, AnOutcomeThatCameAllTheSameStands) {
  TestWorker me = worker();
  const Uuid done = admit_id(request());
  const Claim first = claim_one(me);
  (void)cancel(done);
  EXPECT_EQ(finish(completed(first, "42")), FinishVerdict::accepted);
  EXPECT_EQ(status(done), Status::completed);
  EXPECT_EQ(get(done).result, "42");
  EXPECT_FALSE(get(done).cancel_requested);

  const Uuid broken = admit_id(request());
  const Claim next = claim_one(me);
  (void)cancel(broken);
  EXPECT_EQ(finish(failed(next, "oops")), FinishVerdict::accepted);
  EXPECT_EQ(status(broken), Status::failed);
  EXPECT_EQ(get(broken).error->message, "oops");
}

TEST_F(CancelConformance, WhatWouldHaveGoneOnEndsAsCancelledInstead) {
  for (const FinishKind kind : {FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    SCOPED_TRACE(static_cast<int>(kind));
    const Uuid id = admit_id(request());
    TestWorker me = worker();
    const Claim held = claim_one(me);
    (void)cancel(id, "enough");
    Finish going_on = failed(held);
    going_on.kind = kind;
    going_on.ran_for = 2s;

    ASSERT_EQ(finish(going_on), FinishVerdict::accepted);

    expect_cancelled(id, "enough");
    EXPECT_EQ(get(id).attempt, 1);
    const std::vector<Attempt> attempts = store().attempts(id);
    ASSERT_EQ(attempts.size(), 1U);
    EXPECT_EQ(attempts[0].number, 1);
    EXPECT_EQ(attempts[0].outcome, "cancelled");
    const std::string before = picture(id);
    EXPECT_EQ(finish(going_on), FinishVerdict::accepted) << "a repeated finish is known by its kind";
    EXPECT_EQ(finish(ending(held, FinishKind::cancelled)), FinishVerdict::stale);
    EXPECT_EQ(picture(id), before);
    EXPECT_TRUE(claim(me).empty());
  }
}

TEST_F(CancelConformance, WhatTheStoreTakesBackEndsAsCancelledToo) {
  const Uuid closed = admit_id(request());
  TestWorker me = worker();
  (void)claim_one(me);
  (void)cancel(closed, "one");
  store().close_session(me.session);
  expect_cancelled(closed, "one");

  const Uuid unknown = admit_id(request());
  TestWorker forgetful = worker();
  (void)claim_one(forgetful);
  (void)cancel(unknown, "two");
  EXPECT_EQ(beat(forgetful, {}).released, 1);
  expect_cancelled(unknown, "two");

  const Uuid lost = admit_id(request());
  (void)claim_one(forgetful);
  (void)cancel(lost, "three");
  advance(forgetful.lease + 1s);
  EXPECT_EQ(sweep(), (SweepReport{.lost_sessions = 1})) << "neither requeued nor dead";
  expect_cancelled(lost, "three");
  EXPECT_EQ(get(lost).lost, 1);
  ASSERT_EQ(store().attempts(lost).size(), 1U);
  EXPECT_EQ(store().attempts(lost)[0].outcome, "lost");
}

// ---- Neither -------------------------------------------------------------------------------------------------------

TEST_F(CancelConformance, WhatHasEndedStaysAsItIs) {
  for (const Status ended : {Status::completed, Status::failed, Status::cancelled, Status::timed_out}) {
    const Uuid id = admit_id(request());
    bring_to(id, ended);
    const std::string before = picture(id);

    const CancelResult result = cancel(id);

    EXPECT_EQ(result.verdict, CancelVerdict::finished);
    EXPECT_EQ(result.status, ended);
    EXPECT_EQ(picture(id), before);
  }
}

TEST_F(CancelConformance, AnUnknownExecutionIsNotFound) {
  EXPECT_EQ(cancel(base::new_uuid7()).verdict, CancelVerdict::not_found);
}

TEST_F(CancelConformance, ManyAreCancelledInOneCallAndAnsweredInOrder) {
  const Uuid running = admit_id(request());
  TestWorker me = worker();
  (void)claim_one(me);
  const Uuid done = admit_id(request());
  bring_to(done, Status::completed);
  const Uuid pending = admit_id(request());
  const std::vector<Uuid> ids = {done, base::new_uuid7(), pending, running};

  const std::vector<CancelResult> results = store().cancel(ids, "all");

  ASSERT_EQ(results.size(), 4U);
  EXPECT_EQ(results[0].verdict, CancelVerdict::finished);
  EXPECT_EQ(results[1].verdict, CancelVerdict::not_found);
  EXPECT_EQ(results[2].verdict, CancelVerdict::cancelled);
  EXPECT_EQ(results[3].verdict, CancelVerdict::requested);
}

TEST_F(CancelConformance, AReasonIsMadeStorable) {
  const std::string bad("a\0b\xff", 4);
  const Uuid pending = admit_id(request());
  (void)cancel(pending, bad);
  expect_cancelled(pending, "a\\x00b\\xff");

  const Uuid running = admit_id(request());
  TestWorker me = worker();
  const Claim held = claim_one(me);
  (void)cancel(running, bad);
  ASSERT_EQ(finish(ending(held, FinishKind::cancelled)), FinishVerdict::accepted);
  expect_cancelled(running, "a\\x00b\\xff");
}

TEST_F(CancelConformance, ACancelledIdentityMayRunAgain) {
  const Uuid id = admit_id(keyed("a"));
  (void)cancel(id);

  const Admission next = admit(keyed("a"));

  EXPECT_TRUE(next.created());
  EXPECT_EQ(next.run, 2);
}

}  // namespace

}  // namespace hapax::conformance
