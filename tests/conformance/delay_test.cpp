// A delayed execution is invisible until it is due, and then like any other.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class DelayConformance : public Conformance {
 protected:
  Uuid delayed(Duration delay, const std::string& queue = "default") {
    NewExecution item = request("work", queue);
    item.delay = delay;
    return admit_id(item);
  }

  // Up to 1 min less than expected counts as equal, because the store's clock runs during the test.
  static void expect_about(const std::optional<Duration>& told, Duration expected) {
    ASSERT_TRUE(told);
    EXPECT_LE(*told, expected);
    EXPECT_GT(*told, expected - 1min);
  }
};

TEST_F(DelayConformance, ADelayedExecutionIsPendingAndInvisibleUntilDue) {
  const Uuid id = delayed(1h);
  TestWorker me = worker(24h);

  EXPECT_EQ(status(id), Status::pending);
  EXPECT_TRUE(claim(me).empty());
  advance(59min);
  EXPECT_TRUE(claim(me).empty());
  advance(1min);
  EXPECT_EQ(claim_one(me).id, id);
}

TEST_F(DelayConformance, ADelayCountsFromTheStoresInstant) {
  NewExecution item = request();
  item.delay = 90min;

  const Admission admission = admit(item);

  EXPECT_EQ(get(item.id).run_at, admission.created_at + 90min);
}

TEST_F(DelayConformance, AnAbsoluteInstantIsKept) {
  NewExecution item = request();
  item.run_at = store().now() + 2h;
  (void)admit_id(item);
  TestWorker me = worker(24h);

  EXPECT_EQ(get(item.id).run_at, item.run_at);
  EXPECT_TRUE(claim(me).empty());
  advance(2h);
  EXPECT_EQ(claim_one(me).id, item.id);
}

TEST_F(DelayConformance, AnAbsoluteInstantThatHasPassedIsDueAtOnce) {
  NewExecution item = request();
  item.run_at = store().now() - 2h;
  (void)admit_id(item);
  TestWorker me = worker();

  EXPECT_EQ(claim_one(me).id, item.id);
}

TEST_F(DelayConformance, AnEmptyClaimTellsWhenTheNextOneIsDue) {
  (void)delayed(3h);
  (void)delayed(2h, "other");
  (void)delayed(1h, "not asked for");
  TestWorker me = worker(24h, {"default", "other", "empty"});

  const ClaimReply reply = claim_reply(me);

  EXPECT_TRUE(reply.claims.empty());
  expect_about(reply.next_due, 2h);
}

TEST_F(DelayConformance, AClaimThatGivesLessThanItsLimitTellsWhenTheNextOneIsDue) {
  (void)delayed(1h);
  (void)admit_id(request());
  (void)admit_id(request());
  TestWorker me = worker();

  EXPECT_FALSE(claim_reply(me, 1).next_due) << "there may be more to claim now";
  const ClaimReply rest = claim_reply(me, 2);
  EXPECT_EQ(rest.claims.size(), 1U);
  expect_about(rest.next_due, 1h);
}

TEST_F(DelayConformance, NothingIsTheNextDueOfNothing) {
  TestWorker me = worker();
  EXPECT_FALSE(claim_reply(me).next_due);
  (void)admit_id(request());
  EXPECT_FALSE(claim_reply(me).next_due);
}

TEST_F(DelayConformance, DueOnesTakeTheirPlaceByPriorityThenByWhenTheyWereDue) {
  const Uuid late = delayed(2min);
  const Uuid early = delayed(1min);
  NewExecution urgent = request();
  urgent.delay = 3min;
  urgent.priority = 5;
  (void)admit_id(urgent);
  advance(5min);
  const Uuid fresh = admit_id(request());
  TestWorker me = worker();

  std::vector<Uuid> got;
  for (const Claim& one : claim(me)) { got.push_back(one.id); }

  EXPECT_EQ(got, (std::vector{urgent.id, early, late, fresh}));
}

TEST_F(DelayConformance, AQueueTellsReadyFromDelayed) {
  (void)delayed(1h);
  (void)admit_id(request());

  QueueInfo info = store().queues("default").at(0);
  EXPECT_EQ(info.ready, 1);
  EXPECT_EQ(info.delayed, 1);

  advance(1h);
  info = store().queues("default").at(0);
  EXPECT_EQ(info.ready, 2);
  EXPECT_EQ(info.delayed, 0);
}

}  // namespace

}  // namespace hapax::conformance
