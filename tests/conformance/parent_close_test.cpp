// A workflow that is ended from outside ends its child workflows too, unless they are declared to outlive it. A
// workflow that ends by itself tells its children before (tests/workflow). A child whose own deadline has passed is
// timed out, whatever ends its parent and whichever of the two a sweep meets first.
#include "conformance/workflow_fixture.hpp"

#include "model/parent_close.hpp"

namespace hapax::conformance {

namespace {

class ParentClose : public WorkflowConformance {
 protected:
  struct Family {
    NewExecution parent;
    Uuid fresh;      // a child that no worker has claimed
    Uuid begun;      // a child that waits
    Uuid continued;  // a child that continued as a new run
    Uuid outliving;
    Uuid task;
    Uuid joined;  // not a child: the parent only waits for it
  };

  // The parent waits for all members.
  Family make(NewExecution parent) {
    Family family;
    family.parent = parent;
    const NewExecution stranger = child("stranger");
    family.joined = admit_id(stranger);
    (void)admit_id(parent);
    TestWorker starter = flow_worker(1h, {parent.queue.name});
    const Claim claim = claim_one(starter);
    std::vector<NewExecution> children{child("a"), child("b"), child("c"), child("d"), request("work", "tasks")};
    children[3].labels.metadata = outliving_metadata;
    for (NewExecution& one : children) { one.parent = claim.id; }
    Turn turn;
    for (const NewExecution& one : children) {
      turn.entries.push_back(starting(static_cast<std::int32_t>(turn.entries.size()), one));
    }
    NewExecution same = child("stranger");
    same.parent = claim.id;
    turn.entries.push_back(starting(5, same));
    EXPECT_EQ(finish(turn_finish(claim, FinishKind::waiting, std::move(turn))), FinishVerdict::accepted);
    family.fresh = children[0].id;
    family.begun = children[1].id;
    family.outliving = children[3].id;
    family.task = children[4].id;
    TestWorker hand = flow_worker(1h, {"b"});
    EXPECT_EQ(wait(claim_one(hand)), FinishVerdict::accepted);
    hand = flow_worker(1h, {"c"});
    const auto next = std::make_shared<const NewExecution>(child("c"));
    EXPECT_EQ(finish(turn_finish(claim_one(hand), FinishKind::continued, {.next = next})), FinishVerdict::accepted);
    EXPECT_EQ(wait(claim_one(hand)), FinishVerdict::accepted);
    family.continued = next->id;
    return family;
  }

  static NewExecution parent() {
    NewExecution item = keyed("parent");
    item.task = "order";
    item.queue.name = "flows";
    item.kind = Kind::workflow;
    return item;
  }

  // Each child has a queue of its own.
  static NewExecution child(const std::string& name) {
    NewExecution item = keyed(name);
    item.task = "order";
    item.queue.name = name;
    item.kind = Kind::workflow;
    return item;
  }

  void expect_asked_to_end(const Uuid& id) {
    EXPECT_EQ(status(id), Status::pending) << "it ends by itself";
    EXPECT_TRUE(get(id).cancel_requested);
    const std::vector<Event> got = events(id);
    ASSERT_EQ(got.size(), 1U);
    EXPECT_EQ(got[0].kind, EventKind::cancel);
    ASSERT_TRUE(got[0].error);
    EXPECT_EQ(got[0].error->message, parent_ended);
  }

  void expect_left_alone(const Uuid& id) {
    EXPECT_EQ(status(id), Status::pending);
    EXPECT_FALSE(get(id).cancel_requested);
    EXPECT_TRUE(events(id).empty());
  }

  void expect_closed(const Family& family, Status as) {
    EXPECT_EQ(status(family.parent.id), as);
    EXPECT_EQ(status(family.fresh), Status::cancelled);
    EXPECT_EQ(get(family.fresh).error.value_or(ErrorInfo{}).message, parent_ended);
    expect_asked_to_end(family.begun);
    expect_asked_to_end(family.continued);
    expect_left_alone(family.outliving);
    expect_left_alone(family.task);
    expect_left_alone(family.joined);
  }
};

TEST_F(ParentClose, ADeadline) {
  NewExecution item = parent();
  item.deadline = 1min;
  const Family family = make(item);
  advance(2min);
  EXPECT_EQ(sweep().timed_out, 1);
  expect_closed(family, Status::timed_out);
}

TEST_F(ParentClose, ALossTooMany) {
  NewExecution item = parent();
  item.max_lost = 1;
  const Family family = make(item);
  EXPECT_EQ(send(item.id, "go").verdict, SignalVerdict::accepted);
  TestWorker doomed = flow_worker(10s, {"flows"});
  EXPECT_EQ(claim_one(doomed).id, item.id);
  advance(11s);
  EXPECT_EQ(sweep().dead, 1);
  expect_closed(family, Status::failed);
}

TEST_F(ParentClose, ANewerRequestThatTerminatesIt) {
  const Family family = make(parent());
  NewExecution newer = parent();
  newer.identity->on_conflict = OnConflict::terminate_existing;
  EXPECT_TRUE(admit(newer).created());
  expect_closed(family, Status::cancelled);
}

TEST_F(ParentClose, ACancellationIsTheWorkflowsOwnToPassOn) {
  const Family family = make(parent());
  EXPECT_EQ(store().cancel({&family.parent.id, 1}, "no need").at(0).verdict, CancelVerdict::requested);
  EXPECT_EQ(status(family.fresh), Status::pending);
  expect_left_alone(family.begun);
}

// A parent that has begun and the child workflow that it waits for, each with a deadline.
class ParentAndChildDeadlines : public ParentClose {
 protected:
  enum class Child : std::uint8_t { fresh, begun };

  struct Pair {
    Uuid parent;
    Uuid child;
  };

  Pair make_pair(Duration parent_deadline, Duration child_deadline, Child state = Child::fresh) {
    NewExecution item = parent();
    item.deadline = parent_deadline;
    (void)admit_id(item);
    TestWorker starter = flow_worker(24h, {"flows"});
    const Claim claim = claim_one(starter);
    NewExecution its = child("child");
    its.parent = claim.id;
    its.deadline = child_deadline;
    Turn turn;
    turn.entries.push_back(starting(0, its));
    EXPECT_EQ(finish(turn_finish(claim, FinishKind::waiting, std::move(turn))), FinishVerdict::accepted);
    if (state == Child::begun) {
      TestWorker hand = flow_worker(24h, {"child"});
      EXPECT_EQ(wait(claim_one(hand)), FinishVerdict::accepted);
    }
    return {.parent = claim.id, .child = its.id};
  }

  void expect_timed_out(const Uuid& id) {
    EXPECT_EQ(status(id), Status::timed_out);
    EXPECT_EQ(get(id).error.value_or(ErrorInfo{}).type, "DeadlineExceeded");
  }
};

TEST_F(ParentAndChildDeadlines, BothPastInOneSweepTimeOutAndTheNextSweepGoesOn) {
  const Pair pair = make_pair(1min, 1min);
  const NewExecution lost = request("work", "tasks");
  (void)admit_id(lost);
  TestWorker doomed = worker(30s, {"tasks"});
  (void)claim_one(doomed);
  advance(2min);

  EXPECT_EQ(sweep(), (SweepReport{.lost_sessions = 1, .requeued = 1, .timed_out = 2}));

  expect_timed_out(pair.parent);
  expect_timed_out(pair.child);
  EXPECT_EQ(status(lost.id), Status::pending);
  EXPECT_EQ(sweep(), SweepReport{});
}

TEST_F(ParentAndChildDeadlines, TheOrderOfTheDeadlinesDoesNotMatter) {
  const Pair pair = make_pair(2min, 1min);
  advance(3min);
  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 2}));
  expect_timed_out(pair.parent);
  expect_timed_out(pair.child);
}

TEST_F(ParentAndChildDeadlines, AChildThatHasBegunTimesOutToo) {
  const Pair pair = make_pair(1min, 1min, Child::begun);
  advance(2min);
  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 2}));
  expect_timed_out(pair.parent);
  expect_timed_out(pair.child);
}

TEST_F(ParentAndChildDeadlines, AChildThatTheNextSweepMeetsTimesOut) {
  const Pair pair = make_pair(1min, 1min);
  advance(2min);
  EXPECT_EQ(store().sweep({.limit = 1}).timed_out, 1);
  expect_timed_out(pair.parent);
  EXPECT_EQ(store().sweep({.limit = 1}).timed_out, 1);
  expect_timed_out(pair.child);
}

TEST_F(ParentAndChildDeadlines, AChildWhoseDeadlineIsToComeIsCancelled) {
  const Pair pair = make_pair(1min, 1h);
  advance(2min);
  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 1}));
  expect_timed_out(pair.parent);
  EXPECT_EQ(status(pair.child), Status::cancelled);
  EXPECT_EQ(get(pair.child).error.value_or(ErrorInfo{}).message, parent_ended);
}

TEST_F(ParentAndChildDeadlines, ANewerRequestThatTerminatesTheParentLeavesTheChildToItsDeadline) {
  const Pair pair = make_pair(1h, 1min);
  advance(2min);
  NewExecution newer = parent();
  newer.identity->on_conflict = OnConflict::terminate_existing;
  EXPECT_TRUE(admit(newer).created());
  EXPECT_EQ(status(pair.parent), Status::cancelled);
  EXPECT_EQ(sweep(), (SweepReport{.timed_out = 1}));
  expect_timed_out(pair.child);
}

}  // namespace

}  // namespace hapax::conformance
