// Ordering keys: executions of one key run strictly one after the other, in the order of their admission.
#include "conformance/fixture.hpp"

#include <map>

namespace hapax::conformance {

namespace {

class OrderingConformance : public Conformance {
 protected:
  static NewExecution ordered(const std::string& key, Duration delay = Duration{0}, int priority = 0) {
    NewExecution item = request();
    item.limit_key = LimitKey{.text = key, .ordered = true};
    item.delay = delay;
    item.priority = priority;
    return item;
  }

  void expect_order(const std::string& queue, const std::vector<Uuid>& ids) {
    TestWorker me = worker(24h, {queue});
    for (const Uuid& id : ids) {
      const Claim next = claim_one(me);
      EXPECT_EQ(next.id, id);
      ASSERT_EQ(finish(completed(next)), FinishVerdict::accepted);
    }
  }
};

TEST_F(OrderingConformance, TheyRunOneAfterTheOtherInTheOrderOfAdmissionWhateverTheirPriority) {
  std::vector<Uuid> ids;
  for (const int priority : {0, 9, -3, 5}) { ids.push_back(admit_id(ordered("a", 0s, priority))); }
  TestWorker one = worker();
  TestWorker two = worker();
  for (const Uuid& id : ids) {
    const Claim claim = claim_one(one);
    EXPECT_EQ(claim.id, id);
    EXPECT_TRUE(this->claim(two, 10).empty());
    ASSERT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  }
}

TEST_F(OrderingConformance, TheOrderIsTheStoresNotTheIds) {
  NewExecution late = ordered("a");
  NewExecution early = ordered("a");
  std::swap(late.id, early.id);  // the older ID is admitted last
  (void)admit_id(early);
  (void)admit_id(late);
  TestWorker me = worker();
  EXPECT_EQ(claim_one(me).id, early.id);
}

TEST_F(OrderingConformance, ItemsOfOneBatchKeepTheirOrder) {
  std::vector<NewExecution> items;
  for (int i = 0; i < 6; ++i) { items.push_back(ordered(i % 2 == 0 ? "a" : "b", 0s, i)); }
  (void)store().admit(items);
  TestWorker me = worker();
  for (int round = 0; round < 3; ++round) {
    std::vector<Claim> claims = claim(me, 10);
    ASSERT_EQ(claims.size(), 2U);
    for (const Claim& one : claims) {
      const auto index = static_cast<std::size_t>(round * 2 + (one.limit_key->text == "a" ? 0 : 1));
      EXPECT_EQ(one.id, items[index].id);
      ASSERT_EQ(finish(completed(one)), FinishVerdict::accepted);
    }
  }
}

TEST_F(OrderingConformance, ADelayedHeadBlocksItsKey) {
  const Uuid head = admit_id(ordered("a", 1h));
  const Uuid next = admit_id(ordered("a"));
  const Uuid other = admit_id(ordered("b"));
  TestWorker me = worker(24h);
  EXPECT_EQ(claim_one(me).id, other);
  advance(1h);
  const Claim claim = claim_one(me);
  EXPECT_EQ(claim.id, head);
  ASSERT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(me).id, next);
}

TEST_F(OrderingConformance, ARetryingOrSnoozedHeadBlocksItsKey) {
  for (const FinishKind kind : {FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    const std::string key = std::to_string(static_cast<int>(kind));
    const Uuid head = admit_id(ordered(key));
    const Uuid next = admit_id(ordered(key));
    TestWorker me = worker(24h);
    ASSERT_EQ(finish(ending(claim_one(me), kind, 1h)), FinishVerdict::accepted);
    if (kind != FinishKind::released) {
      EXPECT_TRUE(claim(me, 10).empty());
      advance(1h);
    }
    Claim claim = claim_one(me);
    EXPECT_EQ(claim.id, head);
    ASSERT_EQ(finish(completed(claim)), FinishVerdict::accepted);
    claim = claim_one(me);
    EXPECT_EQ(claim.id, next);
    ASSERT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  }
}

TEST_F(OrderingConformance, ALostHeadIsStillTheHead) {
  const Uuid head = admit_id(ordered("a"));
  const Uuid next = admit_id(ordered("a"));
  TestWorker gone = worker(10s);
  (void)claim_one(gone);
  advance(11s);
  (void)sweep();
  TestWorker me = worker();
  Claim claim = claim_one(me);
  EXPECT_EQ(claim.id, head);
  ASSERT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(me).id, next);
}

TEST_F(OrderingConformance, AnyEndingOfTheHeadReleasesItsKey) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 5; ++i) { ids.push_back(admit_id(ordered("a"))); }
  NewExecution doomed = ordered("a");
  doomed.deadline = 1min;
  TestWorker me = worker(24h);
  ASSERT_EQ(finish(failed(claim_one(me))), FinishVerdict::accepted);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::cancelled)), FinishVerdict::accepted);
  ASSERT_EQ(store().cancel({&ids[2], 1}, "no").at(0).verdict, CancelVerdict::cancelled);
  Claim claim = claim_one(me);
  EXPECT_EQ(claim.id, ids[3]);
  ASSERT_EQ(finish(ending(claim, FinishKind::timed_out)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(me).id, ids[4]);
}

TEST_F(OrderingConformance, ACancelledOneInTheMiddleIsPassedOver) {
  std::vector<Uuid> ids;
  for (int i = 0; i < 3; ++i) { ids.push_back(admit_id(ordered("a"))); }
  TestWorker me = worker();
  const Claim head = claim_one(me);
  ASSERT_EQ(store().cancel({&ids[1], 1}, "no").at(0).verdict, CancelVerdict::cancelled);
  EXPECT_TRUE(claim(me, 10).empty());
  ASSERT_EQ(finish(completed(head)), FinishVerdict::accepted);
  EXPECT_EQ(claim_one(me).id, ids[2]);
}

TEST_F(OrderingConformance, ARetriedDeadLetterJoinsTheTail) {
  const Uuid head = admit_id(ordered("a"));
  const Uuid second_one = admit_id(ordered("a"));
  TestWorker me = worker();
  ASSERT_EQ(finish(failed(claim_one(me))), FinishVerdict::accepted);
  const RetryRequest again{.id = head, .new_id = base::new_uuid7()};
  ASSERT_EQ(store().retry({&again, 1}).at(0).verdict, RetryVerdict::created);
  Claim claim = claim_one(me);
  EXPECT_EQ(claim.id, second_one);
  ASSERT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  claim = claim_one(me);
  EXPECT_EQ(claim.id, again.new_id);
  EXPECT_EQ(claim.limit_key, (LimitKey{.text = "a", .ordered = true}));
}

TEST_F(OrderingConformance, MovedOnesJoinTheTailOfTheOtherQueue) {
  NewExecution there = ordered("a");
  there.queue.name = "other";
  (void)admit_id(there);
  const Uuid first = admit_id(ordered("a"));
  const Uuid next = admit_id(ordered("a"));
  EXPECT_EQ(store().move({}, {.name = "other"}, 10), 2);
  TestWorker me = worker(30s, {"other"});
  for (const Uuid& id : {there.id, first, next}) {
    const Claim claim = claim_one(me);
    EXPECT_EQ(claim.id, id);
    ASSERT_EQ(finish(completed(claim)), FinishVerdict::accepted);
  }
}

TEST_F(OrderingConformance, MovedOnesKeepTheirOrderWhateverTheirPriority) {
  std::vector<Uuid> ids;
  for (const int priority : {0, 5, 10}) { ids.push_back(admit_id(ordered("a", 0s, priority))); }
  EXPECT_EQ(store().move({}, {.name = "other"}, 10), 3);
  expect_order("other", ids);
}

TEST_F(OrderingConformance, MovedInSmallBatchesTheyKeepTheirOrderAlsoWhereSomeAreParkedOrDelayed) {
  std::map<std::string, std::vector<Uuid>> ids;
  for (int i = 0; i < 12; ++i) {
    const std::string key = i % 3 == 0 ? "a" : i % 3 == 1 ? "b" : "c";
    ids[key].push_back(admit_id(ordered(key, i == 1 ? 1h : 0s, i % 5)));
  }
  // Last come an execution without a key and one with an unordered key.
  (void)admit_id(request());
  NewExecution unordered = request();
  unordered.limit_key = LimitKey{.text = "c"};
  (void)admit_id(unordered);
  TestWorker first = worker(24h);
  std::vector<Claim> heads = claim(first, 10);
  ASSERT_EQ(heads.size(), 4U) << "a, c and the two others: b's head is delayed";
  for (const Claim& one : heads) {
    const bool again = one.limit_key == LimitKey{.text = "a", .ordered = true};
    ASSERT_EQ(finish(again ? ending(one, FinishKind::retry, 30min) : completed(one)), FinishVerdict::accepted);
  }
  ids["c"].erase(ids["c"].begin());
  int moved = 0;
  for (int batch = 0; batch < 20; ++batch) {
    const int some = store().move({}, {.name = "other"}, 2);
    EXPECT_LE(some, 2);
    if (some == 0) { break; }
    moved += some;
    // A moved execution may run at once.
    TestWorker other = worker(24h, {"other"});
    for (const Claim& one : claim(other, 10)) {
      std::vector<Uuid>& line = ids[one.limit_key->text];
      ASSERT_FALSE(line.empty());
      EXPECT_EQ(one.id, line.front()) << one.limit_key->text;
      line.erase(line.begin());
      ASSERT_EQ(finish(completed(one)), FinishVerdict::accepted);
    }
  }
  EXPECT_EQ(moved, 11);
  advance(1h);
  for (const char* key : {"a", "b", "c"}) {
    SCOPED_TRACE(key);
    TestWorker other = worker(24h, {"other"});
    while (!ids[key].empty()) {
      const std::vector<Claim> claims = claim(other, 10);
      ASSERT_FALSE(claims.empty());
      for (const Claim& one : claims) {
        std::vector<Uuid>& line = ids[one.limit_key->text];
        ASSERT_FALSE(line.empty());
        EXPECT_EQ(one.id, line.front());
        line.erase(line.begin());
        ASSERT_EQ(finish(completed(one)), FinishVerdict::accepted);
      }
    }
  }
}

TEST_F(OrderingConformance, AMovedDelayedOrRetryingHeadStillBlocksItsKey) {
  const std::vector<Uuid> delayed = {admit_id(ordered("a", 1h)), admit_id(ordered("a"))};
  TestWorker me = worker(24h, {"default", "other"});
  EXPECT_TRUE(claim(me, 10).empty());
  const std::vector<Uuid> retrying = {admit_id(ordered("b")), admit_id(ordered("b", 0s, 9))};
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 1h)), FinishVerdict::accepted);
  EXPECT_EQ(store().move({}, {.name = "other"}, 10), 4);
  EXPECT_TRUE(claim(me, 10).empty());
  advance(1h);
  for (std::size_t turn = 0; turn < 2; ++turn) {
    const std::vector<Claim> claims = claim(me, 10);
    ASSERT_EQ(claims.size(), 2U);
    for (const Claim& one : claims) {
      EXPECT_EQ(one.id, (one.limit_key->text == "a" ? delayed : retrying)[turn]);
      ASSERT_EQ(finish(completed(one)), FinishVerdict::accepted);
    }
  }
}

TEST_F(OrderingConformance, AThousandOfOneKeyAndOneOfAnotherTakeOneClaim) {
  std::vector<NewExecution> items;
  for (int i = 0; i < 1000; ++i) { items.push_back(ordered("busy")); }
  (void)store().admit(items);
  const Uuid other = admit_id(ordered("quiet"));
  TestWorker me = worker();
  const std::vector<Claim> claims = claim(me, 10);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].id, items[0].id);
  EXPECT_EQ(claims[1].id, other);
}

}  // namespace

}  // namespace hapax::conformance
