// Rate and concurrency limits of queues, workers and keys (SPEC D12, D13).
#include "conformance/fixture.hpp"

#include <map>
#include <mutex>
#include <thread>

namespace hapax::conformance {

namespace {

class LimitConformance : public Conformance {
 protected:
  void limit(const QueuePatch& patch, const std::string& queue = "default") {
    store().configure_queue({.name = queue}, patch);
  }

  std::vector<Uuid> admit_many(int count, const std::optional<std::string>& key = std::nullopt,
                               const std::string& queue = "default") {
    std::vector<NewExecution> items;
    for (int i = 0; i < count; ++i) {
      NewExecution item = request("work", queue);
      if (key) { item.limit_key = LimitKey{.text = *key}; }
      items.push_back(std::move(item));
    }
    std::vector<Uuid> ids;
    for (const Admission& admission : store().admit(items)) {
      EXPECT_TRUE(admission.created());
      ids.push_back(admission.id);
    }
    return ids;
  }

  QueueInfo info(const std::string& queue = "default") {
    for (const QueueInfo& one : store().queues("default")) {
      if (one.queue.name == queue) { return one; }
    }
    ADD_FAILURE() << "no queue " << queue;
    return {};
  }
};

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
  limit({.rate = RateLimit{.count = 10, .per = 1s}});
  (void)admit_many(5);
  TestWorker me = worker();
  EXPECT_FALSE(store().queues("default").at(0).rate_arrival) << "nothing has started yet";

  const ClaimReply first = claim_reply(me, 5);

  const std::optional<Time> arrival = store().queues("default").at(0).rate_arrival;
  ASSERT_TRUE(arrival) << "for those who ask what holds an execution back";
  EXPECT_GT(*arrival, store().now() - 1s);
  EXPECT_LE(*arrival, store().now() + 102ms);
  ASSERT_EQ(first.claims.size(), 1U) << "no burst: one by one";
  ASSERT_TRUE(first.next_due);
  EXPECT_GT(*first.next_due, 50ms);
  EXPECT_LE(*first.next_due, 102ms);
  EXPECT_TRUE(claim(me, 5).empty());
  advance(*first.next_due);
  EXPECT_EQ(claim(me, 5).size(), 1U);
}

TEST_F(LimitConformance, ABurstStartsAtOnceAfterAQuietTime) {
  limit({.rate = RateLimit{.count = 10, .per = 1s, .burst = 3}});
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
  // It looks a little late each time.
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

TEST_F(LimitConformance, ALimitIsOneForAllWorkers) {
  limit({.rate = RateLimit{.count = 10, .per = 1s, .burst = 1}});
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
  limit({.rate = RateLimit{.count = 10, .per = 1s}});
  NewExecution heavy = request();
  heavy.weight = 30;
  (void)admit_id(heavy);
  (void)admit_many(1);
  TestWorker me = worker();
  EXPECT_EQ(claim(me, 10).size(), 1U);
  advance(2900ms);
  EXPECT_TRUE(claim(me, 10).empty()) << "it has spent three seconds";
  advance(200ms);
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

// ---- Keys ----------------------------------------------------------------------------------------------------------

TEST_F(LimitConformance, OneOfAKeyRunsAtATimeAndOtherKeysAreNotHeldUp) {
  const std::vector<Uuid> a = admit_many(3, "a");
  const std::vector<Uuid> b = admit_many(2, "b");
  const std::vector<Uuid> none = admit_many(1);
  TestWorker me = worker();
  std::vector<Claim> held = claim(me, 10);
  ASSERT_EQ(held.size(), 3U);
  EXPECT_EQ(held[0].id, a[0]);
  EXPECT_EQ(held[0].limit_key, LimitKey{.text = "a"});
  EXPECT_EQ(held[1].id, b[0]);
  EXPECT_EQ(held[2].id, none[0]);
  EXPECT_EQ(info().parked, 3);
  EXPECT_EQ(info().ready, 0);
  EXPECT_TRUE(get(a[1]).parked);
  EXPECT_EQ(status(a[1]), Status::pending);

  EXPECT_EQ(finish(completed(held[0])), FinishVerdict::accepted);

  EXPECT_EQ(claim_one(me).id, a[1]);
  EXPECT_TRUE(claim(me, 10).empty());
}

TEST_F(LimitConformance, AKeysLimitIsTheQueuesSetting) {
  limit({.key_concurrency = 2});
  (void)admit_many(5, "a");
  TestWorker me = worker();
  const std::vector<Claim> held = claim(me, 10);
  ASSERT_EQ(held.size(), 2U);
  EXPECT_EQ(finish(completed(held[0])), FinishVerdict::accepted);
  EXPECT_EQ(claim(me, 10).size(), 1U);
  limit({.key_concurrency = 4});
  EXPECT_EQ(claim(me, 10).size(), 2U) << "a higher limit frees those that were parked";
}

TEST_F(LimitConformance, KeysOfTwoQueuesDoNotMeet) {
  (void)admit_many(1, "a", "one");
  (void)admit_many(1, "a", "two");
  TestWorker me = worker(30s, {"one", "two"});
  EXPECT_EQ(claim(me, 10).size(), 2U);
}

TEST_F(LimitConformance, AParkedOneComesBackHoweverTheHolderLeft) {
  const std::vector<Uuid> ids = admit_many(8, "a");
  TestWorker me = worker();
  ASSERT_EQ(finish(failed(claim_one(me))), FinishVerdict::accepted);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 1h)), FinishVerdict::accepted);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::snoozed, 1h)), FinishVerdict::accepted);
  Claim held = claim_one(me);
  EXPECT_EQ(held.id, ids[3]);
  // The one that goes back into the line may be cancelled before it is claimed.
  ASSERT_EQ(finish(completed(held)), FinishVerdict::accepted);
  ASSERT_EQ(store().cancel({&ids[4], 1}, "no").at(0).verdict, CancelVerdict::cancelled);
  held = claim_one(me);
  EXPECT_EQ(held.id, ids[5]);
  store().close_session(me.session);
  TestWorker next = worker(10s);
  held = claim_one(next);
  EXPECT_EQ(held.id, ids[5]);
  advance(11s);
  (void)sweep();
  TestWorker last = worker();
  const std::vector<Claim> after = claim(last, 10);
  ASSERT_EQ(after.size(), 1U);
  EXPECT_EQ(after[0].id, ids[5]) << "lost before: it runs alone";
  ASSERT_EQ(finish(completed(after[0])), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(last).id, ids[6]);
}

TEST_F(LimitConformance, AParkedOneCanBeCancelledPurgedAndMoved) {
  const std::vector<Uuid> ids = admit_many(6, "a");
  TestWorker me = worker(30s, {"default", "other"});
  const Claim held = claim_one(me);
  EXPECT_EQ(store().cancel({&ids[1], 1}, "no").at(0).verdict, CancelVerdict::cancelled);
  EXPECT_EQ(store().move({}, {.name = "other"}, 2), 2);
  const std::vector<Claim> moved = claim(me, 10);
  ASSERT_EQ(moved.size(), 1U) << "a key of its own in the other queue";
  EXPECT_EQ(moved[0].queue.name, "other");
  EXPECT_EQ(store().purge({}, 10), 2);
  EXPECT_EQ(finish(completed(held)), FinishVerdict::accepted);
  EXPECT_EQ(finish(completed(moved[0])), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(me).queue.name, "other");
  EXPECT_EQ(info().parked + info().ready, 0);
}

TEST_F(LimitConformance, AParkedOnesDeadlineStillEndsIt) {
  NewExecution item = request();
  item.limit_key = LimitKey{.text = "a"};
  (void)admit_id(item);
  TestWorker me = worker(1h);
  (void)claim_one(me);
  item.id = base::new_uuid7();
  item.deadline = 1min;
  const Uuid late = admit_id(item);
  EXPECT_TRUE(claim(me, 10).empty());
  advance(2min);
  EXPECT_EQ(sweep().timed_out, 1);
  EXPECT_EQ(status(late), Status::timed_out);
}

TEST_F(LimitConformance, HigherPrioritiesOfAKeyComeBackFirst) {
  std::vector<Uuid> ids;
  for (const int priority : {0, 0, 5}) {
    NewExecution item = request();
    item.limit_key = LimitKey{.text = "a"};
    item.priority = priority;
    ids.push_back(admit_id(item));
  }
  TestWorker me = worker();
  const Claim first = claim_one(me);
  EXPECT_EQ(first.id, ids[2]);
  ASSERT_EQ(finish(completed(first)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(me).id, ids[0]);
}

TEST_F(LimitConformance, ARateOfEachKeyIsCountedByKey) {
  limit({.key_rate = RateLimit{.count = 1, .per = 1min}, .key_concurrency = 10});
  (void)admit_many(3, "a");
  (void)admit_many(3, "b");
  TestWorker me = worker();
  const ClaimReply first = claim_reply(me, 10);
  ASSERT_EQ(first.claims.size(), 2U);
  EXPECT_NE(first.claims[0].limit_key, first.claims[1].limit_key);
  ASSERT_TRUE(first.next_due);
  EXPECT_GT(*first.next_due, 55s);
  EXPECT_LE(*first.next_due, 62s);
  EXPECT_TRUE(claim(me, 10).empty());
  for (const Claim& one : first.claims) { ASSERT_EQ(finish(completed(one)), FinishVerdict::accepted); }
  EXPECT_TRUE(claim(me, 10).empty()) << "an ending does not give the rate back";
  (void)beat(me, {});
  advance(20s);
  (void)beat(me, {});
  advance(*first.next_due - 20s);
  EXPECT_EQ(claim(me, 10).size(), 2U);
}

TEST_F(LimitConformance, AZombiesWritesAreRefusedAndItsPlaceIsAnothers) {
  (void)admit_many(2, "a");
  TestWorker zombie = worker(10s);
  const Claim first = claim_one(zombie);
  advance(11s);
  (void)sweep();
  TestWorker me = worker();
  const Claim again = claim_one(me);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(finish(completed(first)), FinishVerdict::stale);
  EXPECT_TRUE(claim(me, 10).empty());
  EXPECT_EQ(finish(completed(again)), FinishVerdict::accepted);
  EXPECT_EQ(claim(me, 10).size(), 1U);
}

// Several claimers at once, each with its own handle: a key with limit 1 never has two claims, and all get done.
TEST_F(LimitConformance, ConcurrentClaimersNeverHaveTwoOfAKey) {
  constexpr int keys = 4;
  constexpr int each = 25;
  for (int key = 0; key < keys; ++key) { (void)admit_many(each, std::to_string(key)); }
  std::mutex mutex;
  std::map<std::string, int> running;
  int done = 0;
  int worst = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i) {
    threads.emplace_back([&, mine = second(), me = worker(1h)]() mutable {
      const auto give_up = std::chrono::steady_clock::now() + 60s;
      while (std::chrono::steady_clock::now() < give_up) {
        const ClaimReply reply = mine->claim({.session = me.session,
                                              .claim_number = ++me.claim_number,
                                              .queues = me.queues,
                                              .tasks = {},
                                              .limit = 2,
                                              .idle = 2});
        {
          const std::lock_guard lock(mutex);
          for (const Claim& one : reply.claims) { worst = std::max(worst, ++running[one.limit_key->text]); }
          if (done == keys * each) { return; }
        }
        for (const Claim& one : reply.claims) {
          {
            const std::lock_guard lock(mutex);
            --running[one.limit_key->text];
            ++done;
          }
          const Finish outcome = completed(one);
          EXPECT_EQ(mine->finish({&outcome, 1}).at(0), FinishVerdict::accepted);
        }
      }
    });
  }
  for (std::thread& thread : threads) { thread.join(); }
  EXPECT_EQ(worst, 1);
  EXPECT_EQ(done, keys * each);
}

}  // namespace

}  // namespace hapax::conformance
