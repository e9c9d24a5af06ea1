// Rate and concurrency limits of queues and workers.
#include "conformance/limit_fixture.hpp"

#include <map>

namespace hapax::conformance {

namespace {

// ---- Settings ------------------------------------------------------------------------------------------------------

TEST_F(LimitConformance, LimitsAreSettingsOfTheQueueAndSeenByEveryHandle) {
  const RateLimit rate{.count = 100, .per = 1min, .burst = 7};
  limit({.rate = rate,
         .key_rate = RateLimit{.count = 2},
         .concurrency = 20,
         .worker_concurrency = 5,
         .key_concurrency = 3});
  const auto other = second();
  QueueLimits seen = other->queues("default").at(0).settings.limits;
  EXPECT_EQ(seen.rate, rate);
  EXPECT_EQ(seen.key_rate, RateLimit{.count = 2});
  EXPECT_EQ(seen.concurrency, 20);
  EXPECT_EQ(seen.worker_concurrency, 5);
  EXPECT_EQ(seen.key_concurrency, 3);
  limit({.rate = std::optional<RateLimit>(), .concurrency = 10});
  seen = other->queues("default").at(0).settings.limits;
  EXPECT_FALSE(seen.rate);
  EXPECT_EQ(seen.concurrency, 10);
  EXPECT_EQ(seen.key_concurrency, 3);
}

// ---- Rates ---------------------------------------------------------------------------------------------------------

TEST_F(LimitConformance, ARateLimitLetsNoMoreStartThanItAllowsAndSaysWhenTheNextMay) {
  limit({.rate = RateLimit{.count = 10, .per = 100s}});
  (void)admit_many(5);
  TestWorker me = worker();
  EXPECT_FALSE(store().queues("default").at(0).rate_arrival) << "nothing has started yet";

  const ClaimReply first = claim_reply(me, 5);

  const std::optional<Time> arrival = store().queues("default").at(0).rate_arrival;
  ASSERT_TRUE(arrival) << "for those who ask what holds an execution back";
  EXPECT_GT(*arrival, store().now() - 100s);
  EXPECT_LE(*arrival, store().now() + 10'200ms);
  ASSERT_EQ(first.claims.size(), 1U) << "no burst: one by one";
  ASSERT_TRUE(first.next_due);
  EXPECT_GT(*first.next_due, 5s);
  EXPECT_LE(*first.next_due, 10'200ms);
  EXPECT_TRUE(claim(me, 5).empty());
  advance(*first.next_due);
  EXPECT_EQ(claim(me, 5).size(), 1U);
}

TEST_F(LimitConformance, AClockThatIsSetBackDoesNotHoldUpARateLimit) {
  limit({.rate = RateLimit{.count = 100, .per = 1s}, .key_rate = RateLimit{.count = 100, .per = 1s}});
  (void)admit_many(1, "a");
  TestWorker me = worker();
  ASSERT_EQ(finish(completed(claim_one(me))), FinishVerdict::accepted);
  advance(-1h);
  (void)admit_many(1, "a");
  EXPECT_EQ(claim(me, 5).size(), 1U);
}

TEST_F(LimitConformance, ABurstStartsAtOnceAfterAQuietTime) {
  limit({.rate = RateLimit{.count = 10, .per = 100s, .burst = 3}});
  (void)admit_many(10);
  TestWorker me = worker();
  EXPECT_EQ(claim(me, 10).size(), 4U);
  EXPECT_TRUE(claim(me, 10).empty());
  advance(1h);
  EXPECT_EQ(claim(me, 10).size(), 4U) << "the bucket holds no more, however long it was quiet";
}

TEST_F(LimitConformance, OverAnyStretchNoMoreStartThanLimitAndBurstAndNearlyThatMany) {
  const RateLimit rate{.count = 20, .per = 1s, .burst = 5};
  limit({.rate = rate});
  (void)admit_many(300);
  TestWorker me = worker();
  std::vector<Time> starts;
  // Each claim comes 3 ms late.
  for (Duration passed{0}; passed < 10s;) {
    const ClaimReply reply = claim_reply(me, 50);
    for (const Claim& one : reply.claims) { starts.push_back(one.claimed_at); }
    const Duration wait = reply.next_due.value_or(100ms) + 3ms;
    advance(wait);
    passed += wait;
  }
  for (std::size_t i = 0; i < starts.size(); ++i) {
    std::size_t within = 0;
    for (std::size_t j = i; j < starts.size() && starts[j] - starts[i] < 1s; ++j) { ++within; }
    EXPECT_LE(within, 25U);
  }
  EXPECT_GE(starts.size(), 190U) << "95 % of the rate";
}

TEST_F(LimitConformance, ARaisedRateTakesEffectAtOnceAndTheBurstIsNotGivenAnew) {
  limit({.rate = RateLimit{.count = 1, .per = 1h}});
  (void)admit_many(20);
  TestWorker me = worker(24h);
  EXPECT_EQ(claim(me, 10).size(), 1U);
  EXPECT_TRUE(claim(me, 10).empty());
  limit({.rate = RateLimit{.count = 60, .per = 1min, .burst = 3}});
  EXPECT_EQ(claim(me, 10).size(), 1U);
  for (int i = 0; i < 5; ++i) {
    const ClaimReply held_up = claim_reply(me, 10);
    EXPECT_TRUE(held_up.claims.empty());
    ASSERT_TRUE(held_up.next_due);
    EXPECT_LE(*held_up.next_due, 1100ms);
    advance(*held_up.next_due);
    EXPECT_EQ(claim(me, 10).size(), 1U);
  }
}

TEST_F(LimitConformance, ARateThatIsTakenAwayAndSetAgainIsANewOne) {
  limit({.rate = RateLimit{.count = 1, .per = 1h}, .key_rate = RateLimit{.count = 1, .per = 1h}});
  (void)admit_many(3, "a");
  TestWorker me = worker(24h);
  ASSERT_EQ(finish(completed(claim_one(me))), FinishVerdict::accepted);
  EXPECT_TRUE(claim(me, 10).empty());
  limit({.rate = std::optional<RateLimit>(), .key_rate = std::optional<RateLimit>()});
  limit({.rate = RateLimit{.count = 1, .per = 1min}, .key_rate = RateLimit{.count = 1, .per = 1min}});
  EXPECT_EQ(claim(me, 10).size(), 1U);
}

TEST_F(LimitConformance, ARaisedRateOfEachKeyTakesEffectAtOnce) {
  limit({.key_rate = RateLimit{.count = 1, .per = 1h}, .key_concurrency = 10});
  (void)admit_many(5, "a");
  (void)admit_many(5, "b");
  TestWorker me = worker(24h);
  EXPECT_EQ(claim(me, 10).size(), 2U);
  EXPECT_TRUE(claim(me, 10).empty());
  limit({.key_rate = RateLimit{.count = 1, .per = 1s}});
  EXPECT_EQ(claim(me, 10).size(), 2U);
  advance(1100ms);
  EXPECT_EQ(claim(me, 10).size(), 2U);
}

TEST_F(LimitConformance, OtherSettingsLeaveTheRatesDebtAlone) {
  limit({.rate = RateLimit{.count = 1, .per = 1h}});
  (void)admit_many(3);
  TestWorker me = worker(24h);
  EXPECT_EQ(claim(me, 10).size(), 1U);
  limit({.rate = RateLimit{.count = 1, .per = 1h}, .concurrency = 50});
  EXPECT_TRUE(claim(me, 10).empty());
}

TEST_F(LimitConformance, ALimitIsOneForAllWorkers) {
  limit({.rate = RateLimit{.count = 10, .per = 100s, .burst = 1}});
  (void)admit_many(10);
  TestWorker one = worker();
  TestWorker two = worker();
  EXPECT_EQ(claim(one, 10).size(), 2U);
  EXPECT_TRUE(claim(two, 10).empty());
}

TEST_F(LimitConformance, AHeavyOneCountsAsSeveral) {
  limit({.rate = RateLimit{.count = 10, .per = 1s, .burst = 4}});
  NewExecution heavy = request();
  heavy.weight = 4;
  (void)admit_id(heavy);
  (void)admit_many(10);
  TestWorker me = worker();
  EXPECT_EQ(claim(me, 10).size(), 2U) << "four and one";
}

TEST_F(LimitConformance, OneHeavierThanTheBucketStartsWhenItIsEmpty) {
  limit({.rate = RateLimit{.count = 10, .per = 100s}});
  NewExecution heavy = request();
  heavy.weight = 30;
  (void)admit_id(heavy);
  (void)admit_many(1);
  TestWorker me = worker(24h);
  EXPECT_EQ(claim(me, 10).size(), 1U);
  advance(290s);
  EXPECT_TRUE(claim(me, 10).empty()) << "it has spent three hundred seconds";
  advance(20s);
  EXPECT_EQ(claim(me, 10).size(), 1U);
}

TEST_F(LimitConformance, AQueueWithoutLimitsIsNotHeldUpByOneWithThem) {
  limit({.rate = RateLimit{.count = 1, .per = 1h}}, "slow");
  (void)admit_many(5, std::nullopt, "slow");
  (void)admit_many(5, std::nullopt, "free");
  TestWorker me = worker(30s, {"slow", "free"});
  const std::vector<Claim> claims = claim(me, 10);
  ASSERT_EQ(claims.size(), 6U);
  EXPECT_EQ(claims[0].queue.name, "slow");
  EXPECT_EQ(claims[1].queue.name, "free");
}

TEST_F(LimitConformance, AQueueWithLimitsGivesNoMoreThanCouldStartAtOnce) {
  limit({.concurrency = 100}, "limited");
  (void)admit_many(10, std::nullopt, "limited");
  (void)admit_many(10, std::nullopt, "free");
  TestWorker me = worker(30s, {"limited", "free"});
  const ClaimReply reply = store().claim(
      {.session = me.session, .claim_number = 1, .queues = me.queues, .tasks = {}, .limit = 12, .idle = 3});
  std::map<std::string, int> taken;
  for (const Claim& one : reply.claims) { ++taken[one.queue.name]; }
  EXPECT_EQ(taken["limited"], 3);
  EXPECT_EQ(taken["free"], 9);
}

// ---- Concurrency ---------------------------------------------------------------------------------------------------

TEST_F(LimitConformance, NoMoreRunAtOnceThanTheQueueAllowsOverAllWorkers) {
  limit({.concurrency = 3});
  (void)admit_many(10);
  TestWorker one = worker();
  TestWorker two = worker();
  const std::vector<Claim> held = claim(one, 2);
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(claim(two, 10).size(), 1U);
  EXPECT_TRUE(claim(two, 10).empty());
  EXPECT_EQ(finish(completed(held[0])), FinishVerdict::accepted);
  EXPECT_EQ(claim(two, 10).size(), 1U);
}

TEST_F(LimitConformance, APlaceIsFreeAgainHoweverItsHolderLeft) {
  limit({.concurrency = 1});
  (void)admit_many(8);
  TestWorker me = worker();
  ASSERT_EQ(finish(failed(claim_one(me))), FinishVerdict::accepted);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 1h)), FinishVerdict::accepted);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::snoozed, 1h)), FinishVerdict::accepted);
  (void)claim_one(me);
  store().close_session(me.session);
  TestWorker next = worker(10s);
  (void)claim_one(next);
  advance(11s);
  (void)sweep();
  TestWorker last = worker();
  EXPECT_EQ(claim(last, 10).size(), 1U) << "the lost one's place";
}

TEST_F(LimitConformance, ALimitSetWhileMoreAreRunningCountsThem) {
  (void)admit_many(10);
  TestWorker me = worker();
  std::vector<Claim> held = claim(me, 4);
  ASSERT_EQ(held.size(), 4U);
  limit({.concurrency = 2});
  EXPECT_TRUE(claim(me, 10).empty());
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(finish(completed(held[static_cast<std::size_t>(i)])), FinishVerdict::accepted);
  }
  EXPECT_EQ(claim(me, 10).size(), 1U);
  limit({.concurrency = std::optional<int>()});
  EXPECT_EQ(claim(me, 10).size(), 5U) << "without a limit, all";
}

TEST_F(LimitConformance, AWorkersOwnLimitLeavesTheRestToOthers) {
  limit({.worker_concurrency = 2});
  (void)admit_many(10);
  TestWorker one = worker();
  TestWorker two = worker();
  const std::vector<Claim> held = claim(one, 10);
  EXPECT_EQ(held.size(), 2U);
  EXPECT_TRUE(claim(one, 10).empty());
  EXPECT_EQ(claim(two, 10).size(), 2U);
  EXPECT_EQ(finish(completed(held.at(0))), FinishVerdict::accepted);
  EXPECT_EQ(claim(one, 10).size(), 1U);
}

TEST_F(LimitConformance, NothingIsBornRunningInAQueueWithLimits) {
  limit({.concurrency = 1});
  TestWorker me = worker();
  NewExecution item = request();
  item.born_running = BornRunning{.session = me.session, .claim_number = 1};
  const Admission admission = admit(item);
  EXPECT_EQ(admission.status, Status::pending);
  EXPECT_FALSE(admission.fence);
  NewExecution with_key = request("work", "other");
  with_key.limit_key = LimitKey{.text = "k"};
  with_key.born_running = BornRunning{.session = me.session, .claim_number = 1};
  EXPECT_EQ(admit(with_key).status, Status::pending);
}

}  // namespace

}  // namespace hapax::conformance
