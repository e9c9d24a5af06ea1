// Children that workflows wait for, cancellation, continued runs, seeds and retention.
#include "conformance/workflow_fixture.hpp"

#include <gmock/gmock.h>

namespace hapax::conformance {

namespace {

constexpr FinishVerdict workflow_child_accepted = FinishVerdict::accepted;
constexpr FinishVerdict workflow_child_stale = FinishVerdict::stale;

// ---- Children -------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, AStartedExecutionIsAdmittedWithItsEntry) {
  const Claim claim = begun();
  const NewExecution child = child_of(claim);
  EXPECT_EQ(advance_run(claim, {starting(0, child)}).verdict, workflow_child_accepted);
  EXPECT_EQ(history(claim.id).entries.at(0).child, child.id);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(work.id, child.id);
  EXPECT_EQ(work.parent, claim.id);
}

TEST_F(WorkflowConformance, TheEndOfAChildIsAnEventForItsParent) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {starting(3, child_of(claim))}}), workflow_child_accepted);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(finish(completed(work, R"({"paid":1})")), workflow_child_accepted);
  const Claim again = woken(claim.id);
  EXPECT_EQ(again.inbox, 1);
  const std::vector<Event> got = events(claim.id);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].kind, EventKind::ended);
  EXPECT_EQ(got[0].position, 3);
  EXPECT_EQ(got[0].child, work.id);
  EXPECT_EQ(got[0].status, Status::completed);
  EXPECT_EQ(got[0].data, R"({"paid":1})");
  EXPECT_FALSE(got[0].error);
}

TEST_F(WorkflowConformance, AChildThatFailsTellsItsError) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child_of(claim))}}), workflow_child_accepted);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(finish(ending(work, FinishKind::retry)), workflow_child_accepted);
  EXPECT_TRUE(events(claim.id).empty()) << "a failed attempt is no end";
  EXPECT_EQ(finish(failed(claim_one(worker_), "no money")), workflow_child_accepted);
  (void)woken(claim.id);
  const Event event = events(claim.id).at(0);
  EXPECT_EQ(event.status, Status::failed);
  EXPECT_FALSE(event.data);
  ASSERT_TRUE(event.error);
  EXPECT_EQ(event.error->message, "no money");
}

TEST_F(WorkflowConformance, HoweverAChildEndsItsParentIsTold) {
  const Claim claim = begun();
  std::vector<NewExecution> children;
  for (int i = 0; i < 4; ++i) {
    children.push_back(child_of(claim, "work" + std::to_string(i)));
    children.back().queue.name = "other" + std::to_string(i);
  }
  children[1].deadline = 1min;
  children[2].max_lost = 1;
  EXPECT_EQ(wait(claim, {.entries = {starting(0, children[0]), starting(1, children[1]), starting(2, children[2]),
                                     starting(3, children[3])}}),
            workflow_child_accepted);
  EXPECT_EQ(store().cancel({&children[0].id, 1}, "no need").at(0).verdict, CancelVerdict::cancelled);
  TestWorker doomed = flow_worker(1s, {"other2"});
  (void)claim_one(doomed);
  advance(2min);
  (void)sweep();
  EXPECT_EQ(store().purge({"default", "other3"}, 10), 1);
  std::map<int, Status> told;
  for (const Event& event : events(claim.id)) { told[event.position] = event.status; }
  EXPECT_EQ(told, (std::map<int, Status>{
                      {0, Status::cancelled}, {1, Status::timed_out}, {2, Status::failed}, {3, Status::cancelled}}));
  EXPECT_EQ(events(claim.id).size(), 4U);
  EXPECT_EQ(woken(claim.id).inbox, 4);
}

TEST_F(WorkflowConformance, SeveralMayWaitForOneExecution) {
  const Claim first = begun();
  const Claim second = begun();
  NewExecution child = keyed("shared");
  EXPECT_EQ(wait(first, {.entries = {starting(0, child)}}), workflow_child_accepted);
  const Uuid shared = child.id;
  child.id = base::new_uuid7();
  EXPECT_EQ(wait(second, {.entries = {starting(0, child), starting(5, child)}}), workflow_child_accepted);
  EXPECT_EQ(history(second.id).entries.at(0).child, shared);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(work.id, shared);
  EXPECT_EQ(finish(completed(work, "7")), workflow_child_accepted);
  EXPECT_EQ(claim(worker_).size(), 2U);
  EXPECT_EQ(events(first.id).size(), 1U);
  ASSERT_EQ(events(second.id).size(), 2U);
  EXPECT_EQ(events(second.id)[1].data, "7");
}

TEST_F(WorkflowConformance, AnExecutionThatHasEndedBeforeTellsAtOnce) {
  NewExecution child = keyed("earlier");
  const Uuid id = admit_id(child);
  EXPECT_EQ(finish(completed(claim_one(worker_), "42")), workflow_child_accepted);
  const Claim claim = begun();
  child.id = base::new_uuid7();
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child)}}), workflow_child_accepted);
  EXPECT_EQ(woken(claim.id).inbox, 1);
  const Event event = events(claim.id).at(0);
  EXPECT_EQ(event.kind, EventKind::ended);
  EXPECT_EQ(event.child, id);
  EXPECT_EQ(event.data, "42");
}

TEST_F(WorkflowConformance, ARefusedStartIsAnEventToo) {
  const Uuid holder = admit_id(keyed("taken", "1"));
  const Claim held = claim_one(worker_);
  EXPECT_EQ(held.id, holder);
  store().configure_queue({"default", "full"}, {.draining = true});
  const Claim claim = begun();
  NewExecution other = keyed("taken", "2");
  NewExecution rejecting = keyed("taken", "1");
  rejecting.identity->on_conflict = OnConflict::reject;
  const NewExecution late = request("work", "full");
  EXPECT_EQ(wait(claim, {.entries = {starting(0, other), starting(1, rejecting), starting(2, late)}}),
            workflow_child_accepted);
  EXPECT_EQ(woken(claim.id).inbox, 3);
  const std::vector<Event> got = events(claim.id);
  ASSERT_EQ(got.size(), 3U);
  for (const Event& event : got) {
    EXPECT_EQ(event.kind, EventKind::refused);
    ASSERT_TRUE(event.error);
  }
  EXPECT_EQ(got[0].error->type, "IdempotencyMismatch");
  EXPECT_EQ(got[0].child, holder);
  EXPECT_EQ(got[1].error->type, "TaskAlreadyExists");
  EXPECT_EQ(got[2].error->type, "QueueDraining");
  EXPECT_EQ(got[2].position, 2);
  EXPECT_FALSE(got[2].child);
  EXPECT_FALSE(history(claim.id).entries.at(2).child);
}

TEST_F(WorkflowConformance, AnEndedParentIsToldNothing) {
  const Claim claim = begun();
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::completed, {.entries = {starting(0, child_of(claim))}})),
            workflow_child_accepted);
  EXPECT_EQ(finish(completed(claim_one(worker_))), workflow_child_accepted);
  EXPECT_TRUE(events(claim.id).empty());
}

TEST_F(WorkflowConformance, ParentAndChildMayEndInOneCall) {
  const Claim claim = begun();
  EXPECT_EQ(advance_run(claim, {starting(0, child_of(claim))}).verdict, workflow_child_accepted);
  const Claim work = claim_one(worker_);
  const std::vector<Finish> both = {turn_finish(claim, FinishKind::waiting, {.seen = 0}), completed(work, "1")};
  EXPECT_EQ(store().finish(both), (std::vector<FinishVerdict>{workflow_child_accepted, workflow_child_accepted}));
  EXPECT_EQ(woken(claim.id).inbox, 1);
}

TEST_F(WorkflowConformance, AnExchangeTellsWhereItMadeSomethingDue) {
  const Claim claim = begun();
  const std::vector<Finish> waits = {
      turn_finish(claim, FinishKind::waiting, {.entries = {starting(0, child_of(claim))}})};
  const Exchange started = store().exchange(waits, nullptr);
  EXPECT_EQ(started.woken, (std::vector<QueueRef>{{"default", "default"}}));
  const std::vector<Finish> ends = {completed(claim_one(worker_))};
  EXPECT_EQ(store().exchange(ends, nullptr).woken, (std::vector<QueueRef>{{"default", "flows"}}));
}

TEST_F(WorkflowConformance, AnExchangeClaimsWhatItsFinishesWoke) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child_of(claim))}}), workflow_child_accepted);
  const std::vector<Finish> ends = {completed(claim_one(worker_))};
  const ClaimRequest next{.session = worker_.session,
                          .claim_number = ++worker_.claim_number,
                          .queues = worker_.queues,
                          .tasks = worker_.tasks,
                          .limit = 5};
  const Exchange both = store().exchange(ends, &next);
  ASSERT_EQ(both.claim.claims.size(), 1U);
  EXPECT_EQ(both.claim.claims[0].id, claim.id);
  EXPECT_EQ(both.claim.claims[0].inbox, 1);
}

// The child's cancellation was requested, so its retry ends it, and its end wakes the parent.
TEST_F(WorkflowConformance, AnExchangeClaimsWhatTheRetryOfACancelledChildWoke) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child_of(claim))}}), workflow_child_accepted);
  const Claim child = claim_one(worker_);
  EXPECT_EQ(store().cancel({&child.id, 1}, "not needed").at(0).verdict, CancelVerdict::requested);
  const std::vector<Finish> ends = {ending(child, FinishKind::retry)};
  const ClaimRequest next{.session = worker_.session,
                          .claim_number = ++worker_.claim_number,
                          .queues = worker_.queues,
                          .tasks = worker_.tasks,
                          .limit = 5};
  const Exchange both = store().exchange(ends, &next);
  EXPECT_EQ(status(child.id), Status::cancelled);
  ASSERT_EQ(both.claim.claims.size(), 1U);
  EXPECT_EQ(both.claim.claims[0].id, claim.id);
}

// ---- Cancellation ---------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, OneThatNeverBeganIsCancelledAtOnce) {
  const Uuid id = admit_id(flow());
  EXPECT_EQ(store().cancel({&id, 1}, "no need").at(0).verdict, CancelVerdict::cancelled);
  EXPECT_EQ(status(id), Status::cancelled);
}

TEST_F(WorkflowConformance, ACancellationIsAnEventForOneThatHasBegun) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim), workflow_child_accepted);
  const CancelResult asked = store().cancel({&claim.id, 1}, "the customer left").at(0);
  EXPECT_EQ(asked.verdict, CancelVerdict::requested);
  EXPECT_EQ(asked.status, Status::pending);
  EXPECT_EQ(store().cancel({&claim.id, 1}, "again").at(0).verdict, CancelVerdict::requested);
  const Claim again = woken(claim.id);
  EXPECT_EQ(again.inbox, 1);
  const Event event = events(claim.id).at(0);
  EXPECT_EQ(event.kind, EventKind::cancel);
  ASSERT_TRUE(event.error);
  EXPECT_EQ(event.error->message, "the customer left");
  EXPECT_EQ(wait(again, {.seen = 1, .wake_in = 1h}), workflow_child_accepted) << "it may still wait";
  EXPECT_TRUE(nothing_due());
  advance(2h);
  EXPECT_EQ(finish(ending(woken(claim.id), FinishKind::cancelled)), workflow_child_accepted);
  EXPECT_EQ(status(claim.id), Status::cancelled);
}

TEST_F(WorkflowConformance, ARunningOneIsToldAndNeverEndedByTheStore) {
  TestWorker doomed = flow_worker(1s, {"flows"});
  const Uuid id = admit_id(flow());
  const Claim claim = claim_one(doomed);
  EXPECT_EQ(store().cancel({&id, 1}, "why").at(0).verdict, CancelVerdict::requested);
  EXPECT_EQ(store().cancel_requests(doomed.session), std::vector<Uuid>{id});
  EXPECT_EQ(finish(ending(claim, FinishKind::released)), workflow_child_accepted);
  EXPECT_EQ(status(id), Status::pending);
  (void)claim_one(doomed);
  advance(2s);
  EXPECT_EQ(sweep().requeued, 1);
  EXPECT_EQ(status(id), Status::pending);
  EXPECT_EQ(woken(id).inbox, 1);
}

// ---- Continue as new ------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, AContinuedRunGoesOnUnderTheSameIdentity) {
  const Claim claim = begun("subscription-7");
  auto next = std::make_shared<NewExecution>(flow());
  next->input = R"({"month":2})";
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::continued, {.entries = {entry(0)}, .next = next})),
            workflow_child_accepted);
  const Execution old = get(claim.id);
  EXPECT_EQ(old.status, Status::completed);
  EXPECT_EQ(old.continued_as, next->id);
  const std::vector<std::optional<Outcome>> outcome = store().outcomes({&claim.id, 1});
  ASSERT_TRUE(outcome.at(0));
  EXPECT_EQ(outcome[0]->continued_as, next->id);
  const Claim fresh = woken(next->id);
  EXPECT_EQ(fresh.run, 2);
  EXPECT_EQ(fresh.input, R"({"month":2})");
  EXPECT_TRUE(history(next->id).entries.empty());
  EXPECT_EQ(store().holder(*claim.identity), next->id);
  const Admission same = admit(flow("subscription-7"));
  EXPECT_EQ(same.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(same.id, next->id);
  EXPECT_EQ(get(next->id).identity_key, "subscription-7");
  EXPECT_EQ(get(next->id).effect_key, old.effect_key);
}

TEST_F(WorkflowConformance, SignalsAndWaitersGoOverToTheNextRun) {
  const Claim parent = begun();
  NewExecution child = flow();
  child.parent = parent.id;
  EXPECT_EQ(wait(parent, {.entries = {starting(0, child)}}), workflow_child_accepted);
  const Claim first = woken(child.id);
  (void)send(first.id, "used", "1");
  (void)send(first.id, "left", "2");
  (void)send(first.id, "unseen", "3", "once");
  auto next = std::make_shared<NewExecution>(flow());
  EXPECT_EQ(finish(turn_finish(first, FinishKind::continued, {.seen = 2, .next = next, .carried = {2}})),
            workflow_child_accepted);
  EXPECT_TRUE(events(parent.id).empty());
  EXPECT_EQ(send(first.id, "later", "4").execution, next->id);
  (void)send(first.id, "unseen", "3", "once");
  std::string names;
  for (const Event& event : events(next->id)) { names += event.name + std::to_string(event.number) + " "; }
  EXPECT_EQ(names, "left1 unseen2 later3 ");
  const Claim second = woken(next->id);
  EXPECT_EQ(second.parent, parent.id);
  EXPECT_EQ(second.inbox, 3);
  EXPECT_EQ(finish(completed(second, R"("end")")), workflow_child_accepted);
  const Event told = events(parent.id).at(0);
  EXPECT_EQ(told.position, 0);
  EXPECT_EQ(told.child, next->id);
  EXPECT_EQ(told.data, R"("end")");
}

// A cancellation that arrives during a run's last turn goes over to the next run.
TEST_F(WorkflowConformance, ACancellationThatWasNotSeenGoesOverToTheNextRun) {
  const Claim claim = begun();
  (void)send(claim.id, "used", "1");
  EXPECT_EQ(store().cancel({&claim.id, 1}, "too late").at(0).verdict, CancelVerdict::requested);
  auto next = std::make_shared<NewExecution>(flow());
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::continued, {.seen = 1, .next = next})), workflow_child_accepted);
  const std::vector<Event> told = events(next->id);
  ASSERT_EQ(told.size(), 1U);
  EXPECT_EQ(told[0].kind, EventKind::cancel);
  ASSERT_TRUE(told[0].error);
  EXPECT_THAT(told[0].error->message, ::testing::HasSubstr("too late"));
  EXPECT_EQ(woken(next->id).inbox, 1);
}

TEST_F(WorkflowConformance, ACancellationThatWasSeenStaysWithItsRun) {
  const Claim claim = begun();
  (void)store().cancel({&claim.id, 1}, "seen");
  auto next = std::make_shared<NewExecution>(flow());
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::continued, {.seen = 1, .next = next})), workflow_child_accepted);
  EXPECT_TRUE(events(next->id).empty());
}

// ---- Seeds and retention ----------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, ASeedIsThereFromTheBeginning) {
  NewExecution item = flow();
  item.seed = std::make_shared<const Seed>(
      Seed{.entries = {entry(0, "1"), entry(1, "2")},
           .events = {{.kind = EventKind::signal, .name = "a", .data = "5"},
                      {.kind = EventKind::ended, .position = 1, .status = Status::completed, .data = "6"}}});
  item.labels.forked_from = flow().id;
  const Uuid id = admit_id(item);
  EXPECT_EQ(admit(item).verdict, AdmissionVerdict::created) << "asked again";
  const Claim claim = woken(id);
  EXPECT_EQ(claim.inbox, 2);
  EXPECT_EQ(claim.labels, item.labels) << "by which a worker knows that there is something to read";
  const History kept = history(id);
  ASSERT_EQ(kept.entries.size(), 2U);
  EXPECT_EQ(kept.entries[1].data, "2");
  ASSERT_EQ(kept.events.size(), 2U);
  EXPECT_EQ(kept.events[0].name, "a");
  EXPECT_EQ(kept.events[1].number, 2);
  EXPECT_EQ(kept.events[1].data, "6");
  EXPECT_EQ(advance_run(claim, {entry(1)}).verdict, workflow_child_stale);
  EXPECT_EQ(advance_run(claim, {entry(2)}).verdict, workflow_child_accepted);
}

TEST_F(WorkflowConformance, JournalAndEventsGoWithTheWorkflow) {
  store().configure_queue({"default", "flows"}, {.retention = 1h});
  const Claim claim = begun();
  (void)send(claim.id, "a", "1", "key");
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::completed, {.entries = {entry(0)}})), workflow_child_accepted);
  EXPECT_EQ(events(claim.id).size(), 1U) << "kept for readers";
  advance(2h);
  EXPECT_TRUE(history(claim.id).entries.empty()) << "expired, though not swept";
  EXPECT_TRUE(history(claim.id).events.empty());
  advance(std::chrono::days(3));
  EXPECT_EQ(sweep(true).expired, 1);
  if (capabilities().speaks_sql) {
    EXPECT_EQ(store().sql("SELECT count(*) FROM journal", 1).rows.at(0).at(0), "0");
    EXPECT_EQ(store().sql("SELECT count(*) FROM events", 1).rows.at(0).at(0), "0");
  }
}

TEST_F(WorkflowConformance, WaitersAreForgottenWithWhatTheyWaitedFor) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child_of(claim))}}), workflow_child_accepted);
  if (capabilities().speaks_sql) { EXPECT_EQ(store().sql("SELECT count(*) FROM waiters", 1).rows.at(0).at(0), "1"); }
  EXPECT_EQ(finish(completed(claim_one(worker_))), workflow_child_accepted);
  if (capabilities().speaks_sql) { EXPECT_EQ(store().sql("SELECT count(*) FROM waiters", 1).rows.at(0).at(0), "0"); }
}

// ---- Transactions with the caller's own writes ------------------------------------------------------------------------

TEST_F(WorkflowConformance, ATurnCanBePartOfALentTransaction) {
  if (!capabilities().lends_transaction) {
    EXPECT_THROW(store().transaction([](store::Transaction&) {}), Unsupported);
    return;
  }
  const Claim claim = begun();
  const Advance turn{.execution = claim.id, .fence = claim.fence, .entries = {entry(0, "1")}};
  store().transaction([&](store::Transaction& tx) { tx.advance(turn); });
  EXPECT_EQ(history(claim.id).entries.size(), 1U);
  Advance next = turn;
  next.entries = {entry(1, "2")};
  EXPECT_THROW(store().transaction([&](store::Transaction& tx) {
    tx.advance(next);
    throw std::runtime_error("no");
  }),
               std::runtime_error);
  EXPECT_EQ(history(claim.id).entries.size(), 1U) << "rolled back";
  next.fence += 1;
  EXPECT_THROW(store().transaction([&](store::Transaction& tx) { tx.advance(next); }), StaleLease);
}

}  // namespace

}  // namespace hapax::conformance
