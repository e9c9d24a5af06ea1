// A waiting workflow is always woken: whichever event comes first, in any queue, and with many workflows at once.
#include "conformance/fixture.hpp"
#include "conformance/flow_tasks.hpp"

#include <chrono>
#include <functional>
#include <map>
#include <thread>

namespace hapax::conformance {

namespace {

constexpr FinishVerdict workflow_wake_accepted = FinishVerdict::accepted;
constexpr FinishVerdict workflow_wake_stale = FinishVerdict::stale;

class WorkflowWakeConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    worker_ = worker(1h, {"flows"});
    worker_.tasks = flow_tasks;
    hand_ = worker(1h);
  }

  static NewExecution flow() {
    NewExecution item = request("order", "flows");
    item.kind = Kind::workflow;
    return item;
  }

  Claim begun() {
    (void)admit_id(flow());
    return claim_one(worker_);
  }

  static JournalEntry starting(std::int32_t position, const NewExecution& child) {
    JournalEntry entry{.position = position, .kind = 11, .name = "start", .data = "null"};
    entry.start = std::make_shared<const NewExecution>(child);
    return entry;
  }

  static Finish waiting(const Claim& claim, Turn turn = {}) {
    Finish finish = ending(claim, FinishKind::waiting);
    finish.turn = std::make_shared<const Turn>(std::move(turn));
    return finish;
  }

  SignalResult send(Store& to, const Uuid& id, std::string data = "null") {
    const Signal signal{.execution = id, .name = "tick", .data = std::move(data)};
    return to.signal({&signal, 1}).at(0);
  }

  std::vector<Event> events(const Uuid& id) {
    const HistoryRequest request{.execution = id};
    return store().histories({&request, 1}).at(0).events;
  }

  // Claims the workflow and lets it wait again for what it has not seen, until it has seen `count` events.
  FinishVerdict wait(const Claim& claim, Turn turn = {}) { return finish(waiting(claim, std::move(turn))); }

  void see(const Uuid& id, std::int64_t count) {
    const auto patience = std::chrono::steady_clock::now() + 20s;
    for (std::int64_t seen = 0; seen < count;) {
      ASSERT_LT(std::chrono::steady_clock::now(), patience) << "asleep after " << seen << " events";
      for (const Claim& one : claim(worker_)) {
        EXPECT_EQ(one.id, id);
        seen = one.inbox;
        EXPECT_EQ(finish(waiting(one, {.seen = seen})), workflow_wake_accepted);
      }
      std::this_thread::yield();
    }
  }

  TestWorker worker_;
  TestWorker hand_;  // runs the tasks that workflows start
};

TEST_F(WorkflowWakeConformance, APurgePassesOverWhatHasBegun) {
  const Claim waiting = begun();
  ASSERT_EQ(wait(waiting), FinishVerdict::accepted);
  const Claim delayed = begun();
  ASSERT_EQ(wait(delayed, {.wake_in = 1h}), FinishVerdict::accepted);
  const Uuid unbegun = admit_id(flow());

  EXPECT_EQ(store().purge({"default", "flows"}, 10), 1);
  EXPECT_EQ(store().purge({"default", "flows"}, 10), 0);

  EXPECT_EQ(status(unbegun), Status::cancelled);
  for (const Claim& one : {waiting, delayed}) {
    EXPECT_EQ(status(one.id), Status::pending);
    EXPECT_FALSE(get(one.id).cancel_requested);
    EXPECT_TRUE(events(one.id).empty());
  }
}

TEST_F(WorkflowWakeConformance, APurgePassesOverWhatHasBegunUnderALimitKeyToo) {
  for (const bool ordered : {false, true}) {
    SCOPED_TRACE(ordered);
    NewExecution first = flow();
    NewExecution second = flow();
    for (NewExecution* const item : {&first, &second}) {
      item->limit_key = LimitKey{.text = ordered ? "in order" : "at once", .ordered = ordered};
    }
    (void)admit_id(first);
    ASSERT_EQ(wait(claim_one(worker_)), FinishVerdict::accepted);
    (void)admit_id(second);

    EXPECT_EQ(store().purge({"default", "flows"}, 10), 1);

    EXPECT_EQ(status(first.id), Status::pending);
    EXPECT_EQ(status(second.id), Status::cancelled);
  }
}

TEST_F(WorkflowWakeConformance, AWaitThatIsOverAtOnceIsToldAsWoken) {
  const Claim claim = begun();
  EXPECT_FALSE(send(store(), claim.id).woken) << "it runs";
  const std::vector<Finish> waits = {waiting(claim)};
  EXPECT_EQ(store().exchange(waits, nullptr).woken, (std::vector<QueueRef>{{"default", "flows"}}));
  const std::vector<Finish> sleeps = {waiting(claim_one(worker_), {.seen = 1})};
  EXPECT_TRUE(store().exchange(sleeps, nullptr).woken.empty());
}

TEST_F(WorkflowWakeConformance, AChildMayEndJustBeforeItsParentWaits) {
  const Claim parent = begun();
  const Advance turn{.execution = parent.id, .fence = parent.fence, .entries = {starting(0, request())}};
  EXPECT_EQ(store().advance({&turn, 1}).at(0).verdict, workflow_wake_accepted);
  const std::vector<Finish> both = {completed(claim_one(hand_)), waiting(parent)};
  EXPECT_EQ(store().finish(both), (std::vector<FinishVerdict>{workflow_wake_accepted, workflow_wake_accepted}));
  EXPECT_EQ(claim_one(worker_).inbox, 1);
}

TEST_F(WorkflowWakeConformance, OneThatWaitsForItsRetryIsNotWoken) {
  const Claim claim = begun();
  EXPECT_EQ(finish(ending(claim, FinishKind::retry, 1h)), workflow_wake_accepted);
  EXPECT_FALSE(send(store(), claim.id).woken);
  EXPECT_TRUE(this->claim(worker_).empty());
  advance(2h);
  EXPECT_EQ(claim_one(worker_).inbox, 1);
}

TEST_F(WorkflowWakeConformance, AMovedOneIsWokenWhereItIs) {
  const Claim claim = begun();
  EXPECT_EQ(finish(waiting(claim)), workflow_wake_accepted);
  EXPECT_EQ(store().move({"default", "flows"}, {"default", "elsewhere"}, 10), 1);
  EXPECT_EQ(send(store(), claim.id).woken, (QueueRef{"default", "elsewhere"}));
  TestWorker there = worker(1h, {"elsewhere"});
  there.tasks = flow_tasks;
  EXPECT_EQ(claim_one(there).id, claim.id);
}

TEST_F(WorkflowWakeConformance, AWaitingOneTakesNoPlaceUnderLimitsAndComesBack) {
  store().configure_queue({"default", "flows"}, {.concurrency = 1});
  NewExecution item = flow();
  item.limit_key = LimitKey{.text = "customer"};
  const Uuid first = admit_id(item);
  const Claim claim = claim_one(worker_);
  EXPECT_EQ(claim.id, first);
  item.id = base::new_uuid7();
  const Uuid second = admit_id(item);
  EXPECT_TRUE(this->claim(worker_).empty());
  EXPECT_EQ(finish(waiting(claim)), workflow_wake_accepted);
  const Claim other = claim_one(worker_);
  EXPECT_EQ(other.id, second);
  EXPECT_TRUE(send(store(), first).woken);
  EXPECT_TRUE(this->claim(worker_).empty()) << "the other one runs";
  EXPECT_EQ(finish(waiting(other)), workflow_wake_accepted);
  EXPECT_EQ(claim_one(worker_).id, first);
}

TEST_F(WorkflowWakeConformance, AChildThatMakesWayForANewerRunTellsItsParent) {
  const Claim parent = begun();
  NewExecution child = keyed("one");
  EXPECT_EQ(finish(waiting(parent, {.entries = {starting(4, child)}})), workflow_wake_accepted);
  const Uuid old = child.id;
  child.id = base::new_uuid7();
  child.identity->on_conflict = OnConflict::terminate_existing;
  EXPECT_TRUE(admit(child).created());
  EXPECT_EQ(claim_one(worker_).inbox, 1);
  const Event told = events(parent.id).at(0);
  EXPECT_EQ(told.child, old);
  EXPECT_EQ(told.position, 4);
  EXPECT_EQ(told.status, Status::cancelled);
}

TEST_F(WorkflowWakeConformance, WhatItReportedStaysWhileItWaits) {
  const Claim claim = begun();
  const Beat beat{.session = worker_.session,
                  .held = {{.id = claim.id, .fence = claim.fence}},
                  .progress = {{.id = claim.id, .fence = claim.fence, .fraction = 0.5, .message = "half"}},
                  .counts = {}};
  EXPECT_FALSE(store().beat(beat).session_lost);
  EXPECT_EQ(finish(waiting(claim)), workflow_wake_accepted);
  EXPECT_EQ(get(claim.id).progress, 0.5);
  EXPECT_EQ(get(claim.id).progress_message, "half");
}

TEST_F(WorkflowWakeConformance, APositionTwiceInOneTurnIsStale) {
  const Claim claim = begun();
  EXPECT_EQ(finish(waiting(claim, {.entries = {starting(0, request()), starting(0, request())}})), workflow_wake_stale);
  EXPECT_EQ(status(claim.id), Status::running);
  EXPECT_TRUE(this->claim(hand_).empty()) << "nothing was started";
}

TEST_F(WorkflowWakeConformance, NoSignalOfManyIsSleptThrough) {
  constexpr int each = 60;
  const Claim claim = begun();
  EXPECT_EQ(finish(waiting(claim)), workflow_wake_accepted);
  std::vector<std::thread> senders;
  for (int i = 0; i < 3; ++i) {
    senders.emplace_back([&, handle = second()] {
      for (int sent = 0; sent < each; ++sent) { (void)send(*handle, claim.id, std::to_string(sent)); }
    });
  }
  see(claim.id, 3 * each);
  for (std::thread& sender : senders) { sender.join(); }
  std::int64_t number = 0;
  for (const Event& event : events(claim.id)) { EXPECT_EQ(event.number, ++number); }
  EXPECT_EQ(number, 3 * each);
}

TEST_F(WorkflowWakeConformance, NoChildOfManyEndsUnheard) {
  constexpr int children = 60;
  const Claim parent = begun();
  Turn turn;
  for (int i = 0; i < children; ++i) { turn.entries.push_back(starting(i, request())); }
  EXPECT_EQ(finish(waiting(parent, turn)), workflow_wake_accepted);
  std::vector<std::thread> hands;
  std::atomic<int> done = 0;
  for (int i = 0; i < 3; ++i) {
    hands.emplace_back([&, handle = second(), me = worker(1h)]() mutable {
      while (done < children) {
        const ClaimRequest request{
            .session = me.session, .claim_number = ++me.claim_number, .queues = me.queues, .limit = 2};
        for (const Claim& one : handle->claim(request).claims) {
          const Finish outcome = completed(one);
          EXPECT_EQ(handle->finish({&outcome, 1}).at(0), workflow_wake_accepted);
          done += 1;
        }
      }
    });
  }
  see(parent.id, children);
  for (std::thread& hand : hands) { hand.join(); }
  std::map<std::int32_t, int> heard;
  for (const Event& event : events(parent.id)) { heard[event.position] += 1; }
  EXPECT_EQ(heard.size(), static_cast<std::size_t>(children));
}

}  // namespace

}  // namespace hapax::conformance
