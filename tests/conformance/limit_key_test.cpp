// Limits of concurrency keys: how many executions of a key run, which wait, and which go back to waiting.
#include "conformance/limit_fixture.hpp"

#include <map>
#include <mutex>
#include <thread>

namespace hapax::conformance {

namespace {

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
  // An execution that was put back to waiting may be cancelled before it is claimed again.
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

// ---- Keys of several tasks -----------------------------------------------------------------------------------------

TEST_F(LimitConformance, AParkedOneOfATaskThatNobodyServesDoesNotStarveItsKey) {
  std::vector<Uuid> ids;
  for (const char* task : {"x", "y", "x", "x", "y"}) {
    NewExecution item = request(task);
    item.limit_key = LimitKey{.text = "a"};
    ids.push_back(admit_id(item));
  }
  TestWorker all = worker();
  const Claim first = claim_one(all);
  EXPECT_EQ(first.id, ids[0]);
  ASSERT_EQ(finish(completed(first)), FinishVerdict::accepted);
  store().close_session(all.session);

  TestWorker one = worker();
  one.tasks = {"x"};
  Claim next = claim_one(one);
  EXPECT_EQ(next.id, ids[2]);
  TestWorker two = worker();
  two.tasks = {"y"};
  EXPECT_TRUE(claim(two, 10).empty()) << "the key has one running";
  ASSERT_EQ(finish(ending(next, FinishKind::retry, 1h)), FinishVerdict::accepted);
  next = claim_one(one);
  EXPECT_EQ(next.id, ids[3]);
  ASSERT_EQ(finish(completed(next)), FinishVerdict::accepted);
  next = claim_one(two);
  EXPECT_EQ(next.id, ids[1]);
  ASSERT_EQ(finish(completed(next)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(two).id, ids[4]);
}

// ---- What waits costs nothing --------------------------------------------------------------------------------------

TEST_F(LimitConformance, AHeavyOneUnderAKeysRateIsSaidToStartWhenItMay) {
  limit({.key_rate = RateLimit{.count = 60, .per = 1min, .burst = 60}, .key_concurrency = 10});
  for (const int weight : {40, 60}) {
    NewExecution item = request();
    item.limit_key = LimitKey{.text = "a"};
    item.weight = weight;
    (void)admit_id(item);
  }
  TestWorker me = worker(24h);
  const ClaimReply first = claim_reply(me, 10);
  ASSERT_EQ(first.claims.size(), 1U);
  ASSERT_TRUE(first.next_due);
  EXPECT_GT(*first.next_due, 30s);
  EXPECT_LT(*first.next_due, 45s);
  advance(*first.next_due);
  EXPECT_EQ(claim(me, 10).size(), 1U);
}

TEST_F(LimitConformance, AKeyThatCannotStartItsParkedOnesIsLeftAloneByIdleClaims) {
  limit({.key_rate = RateLimit{.count = 60, .per = 1min, .burst = 60}, .key_concurrency = 10});
  NewExecution head = request();
  NewExecution next = request();
  head.limit_key = next.limit_key = LimitKey{.text = "ordered", .ordered = true};
  head.delay = 1h;
  NewExecution light = request();
  NewExecution heavy = request();
  light.limit_key = heavy.limit_key = LimitKey{.text = "heavy"};
  light.weight = 40;
  heavy.weight = 60;
  for (const NewExecution& item : {head, next, light, heavy}) { (void)admit_id(item); }
  const auto other = second();
  TestWorker me = worker(24h);
  ASSERT_EQ(finish(completed(claim_one(me))), FinishVerdict::accepted);
  (void)claim(me, 10);
  const std::unique_ptr<store::Listener> listener = other->listen();
  const std::string before = row_versions(*other);
  for (int i = 0; i < 3; ++i) { EXPECT_TRUE(claim(me, 10).empty()); }
  EXPECT_FALSE(listener->wait(0s)) << "an idle claim wrote";
  EXPECT_EQ(row_versions(*other), before);
  EXPECT_TRUE(get(next.id).parked);
  EXPECT_TRUE(get(heavy.id).parked);
  advance(1h);
  const std::vector<Claim> claims = claim(me, 10);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].id == heavy.id ? claims[1].id : claims[0].id, head.id);
}

// ---- Crowds --------------------------------------------------------------------------------------------------------

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

// Several claimers at once, each with its own handle: a key with limit 1 never has two claims, and all executions end.
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
