// Which executions a claim returns, and in which order.
#include "conformance/fixture.hpp"

#include <algorithm>

namespace hapax::conformance {

namespace {

class ClaimOrder : public Conformance {
 protected:
  static std::vector<Uuid> ids(const std::vector<Claim>& claims) {
    std::vector<Uuid> all;
    for (const Claim& claim : claims) { all.push_back(claim.id); }
    return all;
  }

  Uuid with_priority(int priority, Duration ago = Duration{0}) {
    NewExecution item = request();
    item.priority = priority;
    if (ago > Duration{0}) { item.run_at = start_ - ago; }
    return admit_id(item);
  }

 private:
  void SetUp() override {
    Conformance::SetUp();
    start_ = store().now();
  }
  Time start_;
};

TEST_F(ClaimOrder, HigherPriorityGoesFirst) {
  const Uuid lowest = with_priority(-32768);
  const Uuid normal = with_priority(0);
  const Uuid highest = with_priority(32767);
  const Uuid low = with_priority(-1);
  TestWorker me = worker();

  EXPECT_EQ(ids(claim(me)), (std::vector{highest, normal, low, lowest}));
}

TEST_F(ClaimOrder, AmongEqualPrioritiesTheEarlierDueGoesFirst) {
  const Uuid third = with_priority(0, 1min);
  const Uuid first = with_priority(0, 3min);
  const Uuid second_due = with_priority(0, 2min);
  const Uuid before_all = with_priority(1, 1s);
  TestWorker me = worker();

  EXPECT_EQ(ids(claim(me)), (std::vector{before_all, first, second_due, third}));
}

TEST_F(ClaimOrder, AmongEquallyDueTheSmallerIdGoesFirst) {
  const Time due = store().now() - 1min;
  std::vector<NewExecution> items;
  std::vector<Uuid> in_order;
  for (int i = 0; i < 20; ++i) {
    items.push_back(request());
    items.back().run_at = due;
    in_order.push_back(items.back().id);
  }
  std::reverse(items.begin(), items.end());
  (void)store().admit(items);
  TestWorker me = worker();

  EXPECT_EQ(ids(claim(me, 20)), in_order);
}

TEST_F(ClaimOrder, AClaimTakesAtMostItsLimitAndTheNextGoesOn) {
  std::vector<Uuid> in_order;
  for (int i = 0; i < 7; ++i) { in_order.push_back(with_priority(-i)); }
  TestWorker me = worker();

  std::vector<Uuid> got;
  for (const std::size_t expected : {3U, 3U, 1U, 0U}) {
    const std::vector<Claim> claims = claim(me, 3);
    EXPECT_EQ(claims.size(), expected);
    for (const Claim& one : claims) { got.push_back(one.id); }
  }

  EXPECT_EQ(got, in_order);
}

TEST_F(ClaimOrder, QueuesAreLookedAtInTheOrderOfTheRequest) {
  const Uuid one = admit_id(request("work", "one"));
  NewExecution urgent = request("work", "two");
  urgent.priority = 100;  // priorities order a queue, not the queues
  (void)admit_id(urgent);
  const Uuid three = admit_id(request("work", "three"));
  TestWorker me = worker(30s, {"three", "one", "two"});

  EXPECT_EQ(ids(claim(me, 2)), (std::vector{three, one}));
  EXPECT_EQ(ids(claim(me, 2)), std::vector{urgent.id});
}

TEST_F(ClaimOrder, TheFirstQueueMayFillTheWholeClaim) {
  for (int i = 0; i < 5; ++i) {
    (void)admit_id(request("work", "one"));
    (void)admit_id(request("work", "two"));
  }
  TestWorker me = worker(30s, {"two", "one"});

  for (const Claim& one : claim(me, 5)) { EXPECT_EQ(one.queue.name, "two"); }
  for (const Claim& one : claim(me, 5)) { EXPECT_EQ(one.queue.name, "one"); }
}

TEST_F(ClaimOrder, QueuesThatWereNotAskedForAreLeftAlone) {
  (void)admit_id(request("work", "other"));
  TestWorker me = worker(30s, {"mine", "never made"});

  EXPECT_TRUE(claim(me).empty());
}

TEST_F(ClaimOrder, ATaskFilterPassesOverTheOthersAndKeepsTheOrder) {
  const Uuid resize = admit_id(request("resize"));
  NewExecution urgent = request("other");
  urgent.priority = 9;
  (void)admit_id(urgent);
  const Uuid crop = admit_id(request("crop"));
  const Uuid again = admit_id(request("resize"));
  TestWorker me = worker();
  me.tasks = {"crop", "resize", "unknown"};

  EXPECT_EQ(ids(claim(me)), (std::vector{resize, crop, again}));
  EXPECT_EQ(status(urgent.id), Status::pending);
}

TEST_F(ClaimOrder, AWorkerOfAnyTaskIsGivenNoWorkflows) {
  NewExecution flow = request("order");
  flow.kind = Kind::workflow;
  flow.priority = 10;
  (void)admit_id(flow);
  const Uuid task = admit_id(request());
  TestWorker me = worker();

  EXPECT_EQ(ids(claim(me)), std::vector{task});
  EXPECT_TRUE(claim(me).empty());
  EXPECT_EQ(get(flow.id).fence, 0) << "it was not touched";

  me.tasks = {"order"};
  EXPECT_EQ(ids(claim(me)), std::vector{flow.id}) << "who names it has it";
}

TEST_F(ClaimOrder, AWorkerOfAnyTaskIsNotToldOfWorkflowsThatWereLost) {
  NewExecution flow = request("order");
  flow.kind = Kind::workflow;
  (void)admit_id(flow);
  TestWorker doomed = worker(10s);
  doomed.tasks = {"order"};
  (void)claim_one(doomed);
  advance(11s);
  (void)sweep();
  TestWorker me = worker();

  EXPECT_TRUE(claim(me).empty());
  EXPECT_FALSE(claim_reply(me, 10, false).suspects_due);
  me.tasks = {"order"};
  EXPECT_EQ(claim_one(me).id, flow.id);
}

TEST_F(ClaimOrder, UnderLimitsAWorkerOfAnyTaskIsGivenNoWorkflowsEither) {
  store().configure_queue({}, {.concurrency = 5});
  NewExecution flow = request("order");
  flow.kind = Kind::workflow;
  (void)admit_id(flow);
  const Uuid task = admit_id(request());
  TestWorker me = worker();

  EXPECT_EQ(ids(claim(me)), std::vector{task});
  me.tasks = {"order"};
  EXPECT_EQ(ids(claim(me)), std::vector{flow.id});
}

TEST_F(ClaimOrder, APausedQueueIsPassedOverUntilItIsResumed) {
  const Uuid held_back = admit_id(request("work", "paused"));
  const Uuid open = admit_id(request("work", "open"));
  store().configure_queue({.name = "paused"}, {.paused = true});
  TestWorker me = worker(30s, {"paused", "open"});

  EXPECT_EQ(ids(claim(me)), std::vector{open});
  store().configure_queue({.name = "paused"}, {.paused = false});
  EXPECT_EQ(ids(claim(me)), std::vector{held_back});
}

TEST_F(ClaimOrder, APausedQueueTellsOfNothingDueLater) {
  NewExecution later = request();
  later.delay = 1h;
  (void)admit_id(later);
  store().configure_queue({}, {.paused = true});
  TestWorker me = worker();

  EXPECT_FALSE(claim_reply(me).next_due);
}

TEST_F(ClaimOrder, AClaimTellsTheInstantAndRecordsWhoHasIt) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const Time before = store().now();

  const Claim claim = claim_one(me);

  EXPECT_GE(claim.claimed_at, before);
  EXPECT_LE(claim.claimed_at, store().now());
  const Execution running = get(id);
  EXPECT_EQ(running.status, Status::running);
  EXPECT_EQ(running.session, me.session);
  EXPECT_TRUE(running.worker.starts_with("worker-")) << running.worker;
  EXPECT_EQ(running.started_at, claim.claimed_at);
}

TEST_F(ClaimOrder, AClaimForAnUnknownSessionGivesNothing) {
  const Uuid id = admit_id(request());
  TestWorker nobody;
  nobody.session = base::new_uuid7();
  nobody.queues = {{}};

  EXPECT_TRUE(claim(nobody).empty());
  EXPECT_EQ(status(id), Status::pending);
}

TEST_F(ClaimOrder, OutcomesAndTheNextClaimTravelInOneExchange) {
  const Uuid first = admit_id(request());
  const Uuid next = admit_id(request());
  TestWorker me = worker();
  const Claim held = claim(me, 1).at(0);
  ASSERT_EQ(held.id, first);
  const ClaimRequest more{.session = me.session, .claim_number = 2, .queues = me.queues, .limit = 10};
  const std::vector<Finish> finishes = {ending(held, FinishKind::released), completed({.id = next, .fence = 7})};

  const store::Exchange exchange = store().exchange(finishes, &more);

  EXPECT_EQ(exchange.verdicts, (std::vector{FinishVerdict::accepted, FinishVerdict::stale}));
  EXPECT_EQ(ids(exchange.claim.claims), (std::vector{first, next})) << "the claim sees what the finishes made ready";
}

}  // namespace

}  // namespace hapax::conformance
