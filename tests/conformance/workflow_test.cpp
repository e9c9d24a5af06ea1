// Workflows as the store sees them: turns, events, waiting, and who waits for whom (SPEC W2–W6).
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

constexpr FinishVerdict accepted = FinishVerdict::accepted;
constexpr FinishVerdict stale = FinishVerdict::stale;

class WorkflowConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    worker_ = worker(1h, {"default", "flows"});
  }

  static NewExecution flow(const std::string& key = "") {
    NewExecution item = key.empty() ? request("order", "flows") : keyed(key);
    item.task = "order";
    item.queue.name = "flows";
    item.kind = Kind::workflow;
    return item;
  }

  // A workflow that has been claimed.
  Claim begun(const std::string& key = "") {
    (void)admit_id(flow(key));
    return claim_one(worker_);
  }

  static JournalEntry entry(std::int32_t position, const std::string& data = "null") {
    return {.position = position, .kind = 11, .name = "step-" + std::to_string(position), .data = data};
  }

  static JournalEntry starting(std::int32_t position, const NewExecution& child) {
    JournalEntry one = entry(position);
    one.start = std::make_shared<const NewExecution>(child);
    return one;
  }

  NewExecution child_of(const Claim& parent, const std::string& task = "work") const {
    NewExecution item = request(task);
    item.parent = parent.id;
    return item;
  }

  AdvanceReply advance_run(const Claim& claim, std::vector<JournalEntry> entries, bool clears_lost = false) {
    const Advance turn{
        .execution = claim.id, .fence = claim.fence, .entries = std::move(entries), .clears_lost = clears_lost};
    return store().advance({&turn, 1}).at(0);
  }

  static Finish turn_finish(const Claim& claim, FinishKind kind, Turn turn = {}) {
    Finish finish = ending(claim, kind);
    finish.turn = std::make_shared<const Turn>(std::move(turn));
    return finish;
  }

  FinishVerdict wait(const Claim& claim, Turn turn = {}) {
    return finish(turn_finish(claim, FinishKind::waiting, std::move(turn)));
  }

  History history(const Uuid& id, std::int32_t from = 0, std::int64_t after = 0) {
    const HistoryRequest request{.execution = id, .from_position = from, .after_event = after};
    return store().histories({&request, 1}).at(0);
  }

  std::vector<Event> events(const Uuid& id) { return history(id).events; }

  SignalResult send(const Uuid& id, const std::string& name, const std::string& data = "null",
                    std::optional<std::string> once = {}) {
    const Signal signal{.execution = id, .name = name, .data = data, .once = std::move(once)};
    return store().signal({&signal, 1}).at(0);
  }

  // The workflow is due and is claimed again.
  Claim woken(const Uuid& id) {
    Claim claim = claim_one(worker_);
    EXPECT_EQ(claim.id, id);
    return claim;
  }
  bool nothing_due() { return claim(worker_).empty(); }

  TestWorker worker_;
};

// ---- Turns ----------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, EntriesAreKeptWithTheStoresInstant) {
  const Claim claim = begun();
  const AdvanceReply reply = advance_run(claim, {entry(0, "1"), entry(1, R"({"a":2})")});
  EXPECT_EQ(reply.verdict, accepted);
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
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, accepted);
  EXPECT_EQ(advance_run(claim, {entry(1), entry(0), starting(2, child_of(claim))}).verdict, stale);
  EXPECT_EQ(history(claim.id).entries.size(), 1U);
  EXPECT_TRUE(nothing_due()) << "nothing was started";
}

TEST_F(WorkflowConformance, TurnsOfOneCallAreApart) {
  const Claim first = begun();
  const Claim second = begun();
  const std::vector<Advance> turns = {{.execution = first.id, .fence = first.fence + 1, .entries = {entry(0)}},
                                      {.execution = second.id, .fence = second.fence, .entries = {entry(0)}}};
  const std::vector<AdvanceReply> replies = store().advance(turns);
  EXPECT_EQ(replies.at(0).verdict, stale);
  EXPECT_EQ(replies.at(1).verdict, accepted);
  EXPECT_TRUE(history(first.id).entries.empty());
  EXPECT_EQ(history(second.id).entries.size(), 1U);
}

TEST_F(WorkflowConformance, AnOldFenceAdvancesNothing) {
  const Claim claim = begun();
  EXPECT_EQ(finish(ending(claim, FinishKind::released)), accepted);
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, stale);
  const Claim again = woken(claim.id);
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, stale);
  EXPECT_EQ(advance_run(again, {entry(0)}).verdict, accepted);
}

TEST_F(WorkflowConformance, TheLastEntriesComeWithTheOutcome) {
  const Claim claim = begun();
  Finish last = turn_finish(claim, FinishKind::completed, {.entries = {entry(0), entry(1)}});
  last.result = R"("done")";
  EXPECT_EQ(finish(last), accepted);
  EXPECT_EQ(history(claim.id).entries.size(), 2U);
  EXPECT_EQ(get(claim.id).result, R"("done")");
  EXPECT_EQ(finish(last), accepted) << "repeated";
  EXPECT_EQ(history(claim.id).entries.size(), 2U);
}

TEST_F(WorkflowConformance, AnOutcomeWhoseEntriesCannotBeKeptIsStale) {
  const Claim claim = begun();
  EXPECT_EQ(advance_run(claim, {entry(0)}).verdict, accepted);
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::completed, {.entries = {entry(0)}})), stale);
  EXPECT_EQ(status(claim.id), Status::running);
}

TEST_F(WorkflowConformance, ProgressForgivesEarlierLosses) {
  TestWorker doomed = worker(1s, {"flows"});
  const Uuid id = admit_id(flow());
  (void)claim_one(doomed);
  advance(2s);
  EXPECT_EQ(sweep().requeued, 1);
  const Claim again = woken(id);
  EXPECT_EQ(again.lost, 1);
  EXPECT_EQ(advance_run(again, {entry(0)}).verdict, accepted);
  EXPECT_EQ(get(id).lost, 1);
  EXPECT_EQ(advance_run(again, {entry(1)}, true).verdict, accepted);
  EXPECT_EQ(get(id).lost, 0);
}

TEST_F(WorkflowConformance, ARunningOneMayBeRelabelled) {
  const Claim claim = begun();
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {.tags = {"customer=ada"}}), accepted);
  EXPECT_EQ(get(claim.id).labels.tags, std::vector<std::string>{"customer=ada"});
  EXPECT_EQ(store().relabel({claim.id, claim.fence + 1}, {.tags = {"x"}}), stale);
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {}), accepted);
  EXPECT_TRUE(get(claim.id).labels.tags.empty());
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {.tags = {"customer=bob"}}), accepted);
  EXPECT_EQ(wait(claim), accepted);
  EXPECT_EQ(store().relabel({claim.id, claim.fence}, {.tags = {"late"}}), stale);
  EXPECT_EQ(store().list({.tag = "customer=bob"}).size(), 1U);
}

// ---- Waiting --------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, AWaitingWorkflowIsPendingAndHeldByNobody) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {entry(0)}}), accepted);
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
  EXPECT_EQ(wait(claim, {.entries = {entry(0)}}), accepted) << "repeated";
}

TEST_F(WorkflowConformance, ATimerIsNeverEarlyAndNeverLost) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.wake_in = 10s}), accepted);
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
  EXPECT_EQ(wait(claim, {.wake_in = 10h, .wake_at = store().now() + 1min}), accepted);
  advance(2min);
  const Claim again = woken(claim.id);
  EXPECT_EQ(wait(again, {.wake_in = 1min, .wake_at = store().now() + 10h}), accepted);
  advance(2min);
  (void)woken(claim.id);
}

TEST_F(WorkflowConformance, APassedInstantIsDueAtOnce) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.wake_at = store().now() - 1h}), accepted);
  (void)woken(claim.id);
}

TEST_F(WorkflowConformance, LossesAreForgivenWhenItWaits) {
  TestWorker doomed = worker(1s, {"flows"});
  const Uuid id = admit_id(flow());
  (void)claim_one(doomed);
  advance(2s);
  (void)sweep();
  EXPECT_EQ(wait(woken(id)), accepted);
  EXPECT_EQ(get(id).lost, 0);
}

TEST_F(WorkflowConformance, AStuckOneSaysWhyUntilItsNextOutcome) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.wake_in = 1s, .stuck = "the journal has step 'a', the code asks for 'b'"}), accepted);
  EXPECT_EQ(get(claim.id).stuck, "the journal has step 'a', the code asks for 'b'");
  advance(2s);
  const Claim again = woken(claim.id);
  EXPECT_EQ(get(claim.id).stuck, "the journal has step 'a', the code asks for 'b'");
  EXPECT_EQ(wait(again), accepted);
  EXPECT_EQ(get(claim.id).stuck, "");
}

TEST_F(WorkflowConformance, AStaleWaitChangesNothing) {
  const Claim claim = begun();
  EXPECT_EQ(finish(ending(claim, FinishKind::released)), accepted);
  EXPECT_EQ(wait(claim, {.entries = {entry(0)}, .wake_in = 1h}), stale);
  EXPECT_TRUE(history(claim.id).entries.empty());
  EXPECT_FALSE(get(claim.id).waiting);
}

TEST_F(WorkflowConformance, ItsDeadlineEndsAWaitingOne) {
  NewExecution item = flow();
  item.deadline = 1min;
  const Uuid id = admit_id(item);
  EXPECT_EQ(wait(claim_one(worker_)), accepted);
  advance(2min);
  EXPECT_EQ(sweep().timed_out, 1);
  EXPECT_EQ(status(id), Status::timed_out);
  EXPECT_FALSE(get(id).waiting);
}

// ---- Signals --------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, ASignalWakesAWaitingWorkflow) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim), accepted);
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
  EXPECT_EQ(wait(claim, {.seen = 0, .wake_in = 10h}), accepted);
  const Claim again = woken(claim.id);
  EXPECT_EQ(wait(again, {.seen = 1}), accepted);
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
  EXPECT_EQ(finish(completed(claim)), accepted);
  const SignalResult late = send(claim.id, "a");
  EXPECT_EQ(late.verdict, SignalVerdict::finished);
  EXPECT_EQ(late.status, Status::completed);
  EXPECT_TRUE(events(claim.id).empty());
}

// ---- Children -------------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, AStartedExecutionIsAdmittedWithItsEntry) {
  const Claim claim = begun();
  const NewExecution child = child_of(claim);
  EXPECT_EQ(advance_run(claim, {starting(0, child)}).verdict, accepted);
  EXPECT_EQ(history(claim.id).entries.at(0).child, child.id);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(work.id, child.id);
  EXPECT_EQ(work.parent, claim.id);
}

TEST_F(WorkflowConformance, TheEndOfAChildIsAnEventForItsParent) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim, {.entries = {starting(3, child_of(claim))}}), accepted);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(finish(completed(work, R"({"paid":1})")), accepted);
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
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child_of(claim))}}), accepted);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(finish(ending(work, FinishKind::retry)), accepted);
  EXPECT_TRUE(events(claim.id).empty()) << "a failed attempt is no end";
  EXPECT_EQ(finish(failed(claim_one(worker_), "no money")), accepted);
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
            accepted);
  EXPECT_EQ(store().cancel({&children[0].id, 1}, "no need").at(0).verdict, CancelVerdict::cancelled);
  TestWorker doomed = worker(1s, {"other2"});
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
  EXPECT_EQ(wait(first, {.entries = {starting(0, child)}}), accepted);
  const Uuid shared = child.id;
  child.id = base::new_uuid7();
  EXPECT_EQ(wait(second, {.entries = {starting(0, child), starting(5, child)}}), accepted);
  EXPECT_EQ(history(second.id).entries.at(0).child, shared);
  const Claim work = claim_one(worker_);
  EXPECT_EQ(work.id, shared);
  EXPECT_EQ(finish(completed(work, "7")), accepted);
  EXPECT_EQ(claim(worker_).size(), 2U);
  EXPECT_EQ(events(first.id).size(), 1U);
  ASSERT_EQ(events(second.id).size(), 2U);
  EXPECT_EQ(events(second.id)[1].data, "7");
}

TEST_F(WorkflowConformance, AnExecutionThatHasEndedBeforeTellsAtOnce) {
  NewExecution child = keyed("earlier");
  const Uuid id = admit_id(child);
  EXPECT_EQ(finish(completed(claim_one(worker_), "42")), accepted);
  const Claim claim = begun();
  child.id = base::new_uuid7();
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child)}}), accepted);
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
  EXPECT_EQ(wait(claim, {.entries = {starting(0, other), starting(1, rejecting), starting(2, late)}}), accepted);
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
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::completed, {.entries = {starting(0, child_of(claim))}})), accepted);
  EXPECT_EQ(finish(completed(claim_one(worker_))), accepted);
  EXPECT_TRUE(events(claim.id).empty());
}

TEST_F(WorkflowConformance, ParentAndChildMayEndInOneCall) {
  const Claim claim = begun();
  EXPECT_EQ(advance_run(claim, {starting(0, child_of(claim))}).verdict, accepted);
  const Claim work = claim_one(worker_);
  const std::vector<Finish> both = {turn_finish(claim, FinishKind::waiting, {.seen = 0}), completed(work, "1")};
  EXPECT_EQ(store().finish(both), (std::vector<FinishVerdict>{accepted, accepted}));
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
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child_of(claim))}}), accepted);
  const std::vector<Finish> ends = {completed(claim_one(worker_))};
  const ClaimRequest next{
      .session = worker_.session, .claim_number = ++worker_.claim_number, .queues = worker_.queues, .limit = 5};
  const Exchange both = store().exchange(ends, &next);
  ASSERT_EQ(both.claim.claims.size(), 1U);
  EXPECT_EQ(both.claim.claims[0].id, claim.id);
  EXPECT_EQ(both.claim.claims[0].inbox, 1);
}

// ---- Cancellation ---------------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, OneThatNeverBeganIsCancelledAtOnce) {
  const Uuid id = admit_id(flow());
  EXPECT_EQ(store().cancel({&id, 1}, "no need").at(0).verdict, CancelVerdict::cancelled);
  EXPECT_EQ(status(id), Status::cancelled);
}

TEST_F(WorkflowConformance, ACancellationIsAnEventForOneThatHasBegun) {
  const Claim claim = begun();
  EXPECT_EQ(wait(claim), accepted);
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
  EXPECT_EQ(wait(again, {.seen = 1, .wake_in = 1h}), accepted) << "it may still wait";
  EXPECT_TRUE(nothing_due());
  advance(2h);
  EXPECT_EQ(finish(ending(woken(claim.id), FinishKind::cancelled)), accepted);
  EXPECT_EQ(status(claim.id), Status::cancelled);
}

TEST_F(WorkflowConformance, ARunningOneIsToldAndNeverEndedByTheStore) {
  TestWorker doomed = worker(1s, {"flows"});
  const Uuid id = admit_id(flow());
  const Claim claim = claim_one(doomed);
  EXPECT_EQ(store().cancel({&id, 1}, "why").at(0).verdict, CancelVerdict::requested);
  EXPECT_EQ(store().cancel_requests(doomed.session), std::vector<Uuid>{id});
  EXPECT_EQ(finish(ending(claim, FinishKind::released)), accepted);
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
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::continued, {.entries = {entry(0)}, .next = next})), accepted);
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
  EXPECT_EQ(wait(parent, {.entries = {starting(0, child)}}), accepted);
  const Claim first = woken(child.id);
  (void)send(first.id, "used", "1");
  (void)send(first.id, "left", "2");
  (void)send(first.id, "unseen", "3", "once");
  auto next = std::make_shared<NewExecution>(flow());
  EXPECT_EQ(finish(turn_finish(first, FinishKind::continued, {.seen = 2, .next = next, .carried = {2}})), accepted);
  EXPECT_TRUE(events(parent.id).empty());
  EXPECT_EQ(send(first.id, "later", "4").execution, next->id);
  (void)send(first.id, "unseen", "3", "once");
  std::string names;
  for (const Event& event : events(next->id)) { names += event.name + std::to_string(event.number) + " "; }
  EXPECT_EQ(names, "left1 unseen2 later3 ");
  const Claim second = woken(next->id);
  EXPECT_EQ(second.parent, parent.id);
  EXPECT_EQ(second.inbox, 3);
  EXPECT_EQ(finish(completed(second, R"("end")")), accepted);
  const Event told = events(parent.id).at(0);
  EXPECT_EQ(told.position, 0);
  EXPECT_EQ(told.child, next->id);
  EXPECT_EQ(told.data, R"("end")");
}

// ---- Seeds and retention ----------------------------------------------------------------------------------------------

TEST_F(WorkflowConformance, ASeedIsThereFromTheBeginning) {
  NewExecution item = flow();
  item.seed = std::make_shared<const Seed>(
      Seed{.entries = {entry(0, "1"), entry(1, "2")},
           .events = {{.kind = EventKind::signal, .name = "a", .data = "5"},
                      {.kind = EventKind::ended, .position = 1, .status = Status::completed, .data = "6"}}});
  const Uuid id = admit_id(item);
  EXPECT_EQ(admit(item).verdict, AdmissionVerdict::created) << "asked again";
  const Claim claim = woken(id);
  EXPECT_EQ(claim.inbox, 2);
  const History kept = history(id);
  ASSERT_EQ(kept.entries.size(), 2U);
  EXPECT_EQ(kept.entries[1].data, "2");
  ASSERT_EQ(kept.events.size(), 2U);
  EXPECT_EQ(kept.events[0].name, "a");
  EXPECT_EQ(kept.events[1].number, 2);
  EXPECT_EQ(kept.events[1].data, "6");
  EXPECT_EQ(advance_run(claim, {entry(1)}).verdict, stale);
  EXPECT_EQ(advance_run(claim, {entry(2)}).verdict, accepted);
}

TEST_F(WorkflowConformance, JournalAndEventsGoWithTheWorkflow) {
  store().configure_queue({"default", "flows"}, {.retention = 1h});
  const Claim claim = begun();
  (void)send(claim.id, "a", "1", "key");
  EXPECT_EQ(finish(turn_finish(claim, FinishKind::completed, {.entries = {entry(0)}})), accepted);
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
  EXPECT_EQ(wait(claim, {.entries = {starting(0, child_of(claim))}}), accepted);
  if (capabilities().speaks_sql) { EXPECT_EQ(store().sql("SELECT count(*) FROM waiters", 1).rows.at(0).at(0), "1"); }
  EXPECT_EQ(finish(completed(claim_one(worker_))), accepted);
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
