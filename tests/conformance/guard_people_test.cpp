// Guards in the operators' views and commands: lists, dead letters, retries, forgetting.
#include "conformance/guard_fixture.hpp"

namespace hapax::conformance {

class GuardPeopleConformance : public GuardConformance {};

TEST_F(GuardPeopleConformance, AListHasThemWhenItAsksForThem) {
  Caller first = caller();
  const Uuid task = admit_id(request());
  const Admission running = begin(first, "running");
  const Admission ended = begin(first, "ended");
  EXPECT_EQ(finish(outcome(ended, FinishKind::completed)), FinishVerdict::accepted);
  ListQuery all;
  const std::vector<Execution> usual = store().list(all);
  ASSERT_EQ(usual.size(), 1U);
  EXPECT_EQ(usual[0].id, task);
  ListQuery guards;
  guards.kind = Kind::guard;
  EXPECT_EQ(store().list(guards).size(), 2U);
  guards.statuses = {Status::running};
  ASSERT_EQ(store().list(guards).size(), 1U);
  EXPECT_EQ(store().list(guards)[0].id, running.id);
  EXPECT_EQ(store().list(guards)[0].kind, Kind::guard);
  ListQuery queue;
  queue.queue = std::string(guard_queue);
  EXPECT_EQ(store().list(queue).size(), 2U);
  ListQuery named;
  named.ids = {ended.id, running.id, task};
  EXPECT_EQ(store().list(named).size(), 3U);
  ListQuery tasks;
  tasks.kind = Kind::task;
  EXPECT_EQ(store().list(tasks).size(), 1U);
}

TEST_F(GuardPeopleConformance, AFailedOneIsNoDeadLetterAndIsNotRetried) {
  Caller first = caller();
  const Admission locked = begin(first, "locked");
  const Admission freed = begin(first, "freed");
  EXPECT_EQ(finish(outcome(locked, FinishKind::failed)), FinishVerdict::accepted);
  EXPECT_EQ(finish(outcome(freed, FinishKind::failed, {.period = 1h, .holds_identity = false})),
            FinishVerdict::accepted);
  ListQuery dead;
  dead.dead_only = true;
  dead.kind = Kind::guard;
  EXPECT_TRUE(store().list(dead).empty());
  for (const QueueInfo& info : store().queues("default")) { EXPECT_EQ(info.dead, 0); }
  for (const Uuid& id : {locked.id, freed.id}) {
    const RetryRequest retry{.id = id, .new_id = base::new_uuid7()};
    EXPECT_EQ(store().retry({&retry, 1}).front().verdict, RetryVerdict::guarded);
    EXPECT_FALSE(store().get(retry.new_id).has_value());
  }
  EXPECT_EQ(store().guard(identity("locked"))->id, locked.id);
}

TEST_F(GuardPeopleConformance, ForgettingFreesTheKey) {
  Caller first = caller();
  const Admission done = begin(first, "done");
  EXPECT_EQ(finish(outcome(done, FinishKind::completed)), FinishVerdict::accepted);
  EXPECT_EQ(store().forget_guards({&done.id, 1}), 1);
  EXPECT_FALSE(store().get(done.id).has_value());
  EXPECT_FALSE(store().guard(identity("done")).has_value());
  EXPECT_EQ(store().forget_guards({&done.id, 1}), 0);
  const Admission again = begin(first, "done");
  EXPECT_TRUE(again.created());
  EXPECT_NE(again.id, done.id);
}

TEST_F(GuardPeopleConformance, WhatIsForgottenWhileItRunsEndsAsStale) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(store().forget_guards({&admission.id, 1}), 1);
  EXPECT_EQ(beat(first, {{admission.id, 1}}, first.last_claim).lost, std::vector<Uuid>{admission.id});
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::stale);
  EXPECT_TRUE(begin(first, "k").created());
}

TEST_F(GuardPeopleConformance, ForgettingLeavesTasksAlone) {
  const Uuid task = admit_id(request());
  const Uuid ended = admit_id(request());
  bring_to(ended, Status::completed);
  const std::vector<Uuid> ids{task, ended};
  EXPECT_EQ(store().forget_guards(ids), 0);
  EXPECT_TRUE(store().get(task).has_value());
  EXPECT_TRUE(store().get(ended).has_value());
}

TEST_F(GuardPeopleConformance, AnExpiredOneIsNotThereToForget) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed, {.period = 1min})), FinishVerdict::accepted);
  advance(2min);
  EXPECT_EQ(store().forget_guards({&admission.id, 1}), 0);
}

TEST_F(GuardPeopleConformance, ItsQueueTellsHowManyRun) {
  Caller first = caller();
  (void)begin(first, "a");
  const Admission b = begin(first, "b");
  EXPECT_EQ(finish(outcome(b, FinishKind::completed)), FinishVerdict::accepted);
  const std::vector<QueueInfo> queues = store().queues("default");
  ASSERT_EQ(queues.size(), 1U);
  EXPECT_EQ(queues[0].queue.name, guard_queue);
  EXPECT_EQ(queues[0].running, 1);
  EXPECT_EQ(queues[0].ready, 0);
}

TEST_F(GuardPeopleConformance, CancellingOneThatRunsChangesNothingForItsCaller) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(store().cancel({&admission.id, 1}, "no").front().verdict, CancelVerdict::requested);
  advance(31s);
  (void)sweep();
  EXPECT_EQ(status(admission.id), Status::running);
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
}

}  // namespace hapax::conformance
