// Workflows in the store: turns, waiting and signals.
#include "conformance/workflow_fixture.hpp"

namespace hapax::conformance {

namespace {

constexpr FinishVerdict workflow_accepted = FinishVerdict::accepted;
constexpr FinishVerdict workflow_stale = FinishVerdict::stale;

// ---- Turns ----------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, EntriesAreKeptWithTheStoresInstant) {
  const Claim claim = begun();
  const AdvanceReply reply = advance_run(claim, {entry(0, "1"), entry(1, R"({"a":2})")});
  EXPECT_EQ(reply.verdict, workflow_accepted);
  const History kept = history(claim.id);
  ASSERT_EQ(kept.entries.size(), 2U);
  EXPECT_EQ(kept.entries[0].execution, claim.id);
  EXPECT_EQ(kept.entries[0].fence, claim.fence);
  EXPECT_EQ(kept.entries[0].kind, 11);
  EXPECT_EQ(kept.entries[0].name, "step-0");
  EXPECT_EQ(kept.entries[0].data, "1");
  EXPECT_EQ(kept.entries[0].at, reply.at);
  EXPECT_EQ(kept.entries[1].data, R"({"a":2})");
  EXPECT_FALSE(kept.entries[0].child);
  EXPECT_TRUE(kept.events.empty());
  EXPECT_EQ(history(claim.id, 1).entries.size(), 1U);
}

TEST_F(WorkflowConformance, ATurnIsKeptWholeOrNotAtAll) {
  const Claim claim = begun();
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, workflow_accepted);
  EXPECT_EQ(advance_run(claim, {entry(1), entry(0), starting(2, child_of(claim))}).verdict, workflow_stale);
  EXPECT_EQ(history(claim.id).entries.size(), 1U);
  EXPECT_TRUE(nothing_due()) << "nothing was started";
}

TEST_F(WorkflowConformance, TurnsOfOneCallAreApart) {
  const Claim first = begun();
  const Claim second = begun();
  const std::vector<Advance> turns = {{.execution = first.id, .fence = first.fence + 1, .entries = {entry(0)}},
                                      {.execution = second.id, .fence = second.fence, .entries = {entry(0)}}};
  const std::vector<AdvanceReply> replies = store().advance(turns);
  EXPECT_EQ(replies.at(0).verdict, workflow_stale);
  EXPECT_EQ(replies.at(1).verdict, workflow_accepted);
  EXPECT_TRUE(history(first.id).entries.empty());
  EXPECT_EQ(history(second.id).entries.size(), 1U);
}

TEST_F(WorkflowConformance, AnOldFenceAdvancesNothing) {
  const Claim claim = begun();
  EXPECT_EQ(finish(ending(claim, FinishKind::released)), workflow_accepted);
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, workflow_stale);
  const Claim again = woken(claim.id);
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, workflow_stale);
  EXPECT_EQ(advance_run(again, {entry(0)}).verdict, workflow_accepted);
}

TEST_F(WorkflowConformance, TheLastEntriesComeWithTheOutcome) {
  const Claim claim = begun();
  Finish last = turn_finish(claim, FinishKind::completed, {.entries = {entry(0), entry(1)}});
  last.result = R"("done")";
  EXPECT_EQ(finish(last), workflow_accepted);
  EXPECT_EQ(history(claim.id).entries.size(), 2U);
  EXPECT_EQ(get(claim.id).result, R"("done")");
  EXPECT_EQ(finish(last), workflow_accepted) << "repeated";
  EXPECT_EQ(history(claim.id).entries.size(), 2U);
}

TEST_F(WorkflowConformance, AnOutcomeWhoseEntriesCannotBeKeptIsStale) {
  const Claim claim = begun();
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, workflow_accepted);
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::completed, {.entries = {entry(0)}})), workflow_stale);
  EXPECT_EQ(status(claim.id), Status::running);
}

TEST_F(WorkflowConformance, ProgressForgivesEarlierLosses) {
  TestWorker doomed = flow_worker(1s, {"flows"});
  const Uuid id = admit_id(flow());
  (void)claim_one(doomed);
  advance(2s);
  EXPECT_EQ(sweep().requeued, 1);
  const Claim again = woken(id);
  EXPECT_EQ(again.lost, 1);
  EXPECT_EQ(advance_run(again, {entry(0)}).verdict, workflow_accepted);
  EXPECT_EQ(get(id).lost, 1);
  EXPECT_EQ(advance_run(again, {entry(1)}, true).verdict, workflow_accepted);
  EXPECT_EQ(get(id).lost, 0);
}

TEST_F(WorkflowConformance, ARunningOneMayBeRelabelled) {
  const Claim claim = begun();
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {.tags = {"customer=ada"}}), workflow_accepted);
  EXPECT_EQ(get(claim.id).labels.tags, std::vector<std::string>{"customer=ada"});
  EXPECT_EQ(store().relabel({claim.id, claim.fence + 1}, {.tags = {"x"}}), workflow_stale);
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {}), workflow_accepted);
  EXPECT_TRUE(get(claim.id).labels.tags.empty());
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {.tags = {"customer=bob"}}), workflow_accepted);
  EXPECT_EQ(wait(claim), workflow_accepted);
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {.tags = {"late"}}), workflow_stale);
  EXPECT_EQ(store().list({.tag = "customer=bob"}).size(), 1U);
}

// ---- Waiting --------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, AWaitingWorkflowIsPendingAndHeldByNobody) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {entry(0)}}), workflow_accepted);
  const Execution now = get(claim.id);
  EXPECT_EQ(now.status, Status::pending);
  EXPECT_TRUE(now.waiting);
  EXPECT_EQ(now.run_at, never_due);
  EXPECT_FALSE(now.session);
  EXPECT_EQ(now.attempt, 0) << "the attempt was not spent";
  EXPECT_TRUE(store().attempts(claim.id).empty());
  EXPECT_EQ(history(claim.id).entries.size(), 1U);
  EXPECT_TRUE(nothing_due());
  advance(std::chrono::days(4000));
  EXPECT_TRUE(nothing_due());
  EXPECT_EQ(wait(claim, {.entries = {entry(0)}}), workflow_accepted) << "repeated";
}

TEST_F(WorkflowConformance, ATimerIsNeverEarlyAndNeverLost) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.wake_in = 10s}), workflow_accepted);
  advance(9s);
  EXPECT_TRUE(nothing_due());
  advance(2h);
  const Claim again = woken(claim.id);
  EXPECT_EQ(again.fence, claim.fence + 1);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_FALSE(get(claim.id).waiting);
}

TEST_F(WorkflowConformance, TheFirstOfTwoInstantsCounts) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.wake_in = 10h, .wake_at = store().now() + 1min}), workflow_accepted);
  advance(2min);
  const Claim again = woken(claim.id);
  EXPECT_EQ(wait(again, {.wake_in = 1min, .wake_at = store().now() + 10h}), workflow_accepted);
  advance(2min);
  (void)woken(claim.id);
}

TEST_F(WorkflowConformance, APassedInstantIsDueAtOnce) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.wake_at = store().now() - 1h}), workflow_accepted);
  (void)woken(claim.id);
}

TEST_F(WorkflowConformance, LossesAreForgivenWhenItWaits) {
  TestWorker doomed = flow_worker(1s, {"flows"});
  const Uuid id = admit_id(flow());
  (void)claim_one(doomed);
  advance(2s);
  (void)sweep();
  EXPECT_EQ(wait(woken(id)), workflow_accepted);
  EXPECT_EQ(get(id).lost, 0);
}

TEST_F(WorkflowConformance, AStuckOneSaysWhyUntilItsNextOutcome) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.wake_in = 1s, .stuck = "the journal has step 'a', the code asks for 'b'"}),
            workflow_accepted);
  EXPECT_EQ(get(claim.id).stuck, "the journal has step 'a', the code asks for 'b'");
  advance(2s);
  const Claim again = woken(claim.id);
  EXPECT_EQ(get(claim.id).stuck, "the journal has step 'a', the code asks for 'b'");
  EXPECT_EQ(wait(again), workflow_accepted);
  EXPECT_EQ(get(claim.id).stuck, "");
}

TEST_F(WorkflowConformance, AStaleWaitChangesNothing) {
  const Claim claim = begun();
  EXPECT_EQ(finish(ending(claim, FinishKind::released)), workflow_accepted);
  EXPECT_EQ(wait(claim, {.entries = {entry(0)}, .wake_in = 1h}), workflow_stale);
  EXPECT_TRUE(history(claim.id).entries.empty());
  EXPECT_FALSE(get(claim.id).waiting);
}

TEST_F(WorkflowConformance, ItsDeadlineEndsAWaitingOne) {
  NewExecution item = flow();
  item.deadline = 1min;
  const Uuid id = admit_id(item);
  EXPECT_EQ(wait(claim_one(worker_)), workflow_accepted);
  advance(2min);
  EXPECT_EQ(sweep().timed_out, 1);
  EXPECT_EQ(status(id), Status::timed_out);
  EXPECT_FALSE(get(id).waiting);
}

// ---- Signals --------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, ASignalWakesAWaitingWorkflow) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim), workflow_accepted);
  const SignalResult sent = send(claim.id, "paid", R"({"by":"ada"})");
  EXPECT_EQ(sent.verdict, SignalVerdict::accepted);
  EXPECT_EQ(sent.execution, claim.id);
  EXPECT_EQ(sent.woken, claim.queue);
  const Claim again = woken(claim.id);
  EXPECT_EQ(again.inbox, 1);
  const std::vector<Event> got = events(claim.id);
  ASSERT_EQ(got.size(), 1U);
  EXPECT_EQ(got[0].number, 1);
  EXPECT_EQ(got[0].kind, EventKind::signal);
  EXPECT_EQ(got[0].name, "paid");
  EXPECT_EQ(got[0].data, R"({"by":"ada"})");
  EXPECT_LE(got[0].at, store().now());
}

TEST_F(WorkflowConformance, SignalsAreBufferedInOrderFromTheBeginning) {
  const Uuid id = admit_id(flow());
  EXPECT_EQ(send(id, "a", "1").verdict, SignalVerdict::accepted);
  EXPECT_FALSE(send(id, "b", "2").woken) << "it was due anyway";
  const Claim claim = woken(id);
  EXPECT_EQ(claim.inbox, 2);
  EXPECT_FALSE(send(id, "a", "3").woken) << "it runs";
  std::string order;
  for (const Event& event : events(id)) { order += event.name + *event.data + std::to_string(event.number) + " "; }
  EXPECT_EQ(order, "a11 b22 a33 ");
  EXPECT_EQ(history(id, 0, 2).events.size(), 1U);
}

TEST_F(WorkflowConformance, ASignalThatCameBeforeTheWaitIsNotMissed) {
  const Claim claim = begun();
  EXPECT_EQ(send(claim.id, "a").verdict, SignalVerdict::accepted);
  EXPECT_EQ(wait(claim, {.seen = 0, .wake_in = 10h}), workflow_accepted);
  const Claim again = woken(claim.id);
  EXPECT_EQ(wait(again, {.seen = 1}), workflow_accepted);
  EXPECT_TRUE(nothing_due()) << "that one it knows";
}

TEST_F(WorkflowConformance, ARepeatedSignalChangesNothing) {
  const Claim claim = begun();
  EXPECT_EQ(send(claim.id, "a", "1", "key-1").verdict, SignalVerdict::accepted);
  EXPECT_EQ(send(claim.id, "a", "1", "key-1").verdict, SignalVerdict::accepted);
  EXPECT_EQ(send(claim.id, "a", "1", "key-2").verdict, SignalVerdict::accepted);
  EXPECT_EQ(events(claim.id).size(), 2U);
}

TEST_F(WorkflowConformance, WhoCannotBeSignalled) {
  EXPECT_EQ(send(base::new_uuid7(), "a").verdict, SignalVerdict::not_found);
  const Uuid task = admit_id(request());
  EXPECT_EQ(send(task, "a").verdict, SignalVerdict::not_a_workflow);
  (void)claim_one(worker_);
  const Claim claim = begun();
  EXPECT_EQ(finish(completed(claim)), workflow_accepted);
  const SignalResult late = send(claim.id, "a");
  EXPECT_EQ(late.verdict, SignalVerdict::finished);
  EXPECT_EQ(late.status, Status::completed);
  EXPECT_TRUE(events(claim.id).empty());
}

}  // namespace

}  // namespace hapax::conformance
