// Worker sessions: beats, released claims, lost sessions.
#include "conformance/fixture.hpp"

#include <algorithm>

namespace hapax::conformance {

namespace {

class SessionConformance : public Conformance {
 protected:
  // The session's lease runs out and a sweep notices.
  SweepReport lose(const TestWorker& dead) {
    advance(dead.lease + 1s);
    return sweep();
  }
};

// ---- Beats ---------------------------------------------------------------------------------------------------------

TEST_F(SessionConformance, ABeatExtendsTheLease) {
  (void)admit_id(request());
  TestWorker me = worker(5min);
  const Claim held = claim_one(me);
  for (int i = 0; i < 3; ++i) {
    advance(4min);
    const BeatReply reply = beat(me, {held});
    EXPECT_FALSE(reply.session_lost);
    EXPECT_TRUE(reply.lost.empty());
    EXPECT_EQ(sweep(), SweepReport{});
  }
  EXPECT_EQ(status(held.id), Status::running);
}

TEST_F(SessionConformance, ABeatMayChangeTheLeaseAndZeroMeansTheLastOne) {
  TestWorker me = worker(5min);
  (void)store().beat({.session = me.session, .lease = 60min});
  advance(50min);
  EXPECT_EQ(sweep().lost_sessions, 0);
  (void)store().beat({.session = me.session, .lease = Duration{0}});
  advance(59min);
  EXPECT_EQ(sweep().lost_sessions, 0);
  advance(2min);
  EXPECT_EQ(sweep().lost_sessions, 1);
}

TEST_F(SessionConformance, ALateBeatBeforeAnySweepKeepsTheSession) {
  (void)admit_id(request());
  TestWorker me = worker(5min);
  const Claim held = claim_one(me);
  advance(1h);

  EXPECT_FALSE(beat(me, {held}).session_lost);

  EXPECT_EQ(sweep(), SweepReport{});
  EXPECT_EQ(finish(completed(held)), FinishVerdict::accepted);
}

TEST_F(SessionConformance, ABeatTellsWhatOfTheHeldIsNoLongerTheSessions) {
  std::vector<NewExecution> items(4);
  for (NewExecution& item : items) { item = request(); }
  (void)store().admit(items);
  TestWorker me = worker();
  std::vector<Claim> held = claim(me);
  ASSERT_EQ(held.size(), 4U);
  const Uuid finished = held[0].id;
  ASSERT_EQ(finish(completed(held[0])), FinishVerdict::accepted);
  const Uuid released = held[1].id;
  ASSERT_EQ(finish(ending(held[1], FinishKind::released)), FinishVerdict::accepted);
  TestWorker other = worker();
  ASSERT_EQ(claim_one(other).id, released);
  held.push_back({.id = base::new_uuid7(), .fence = 1});

  BeatReply reply = beat(me, held);

  EXPECT_FALSE(reply.session_lost);
  std::vector<Uuid> expected = {finished, released, held.back().id};
  std::sort(expected.begin(), expected.end());
  std::sort(reply.lost.begin(), reply.lost.end());
  EXPECT_EQ(reply.lost, expected);
  EXPECT_EQ(reply.released, 0);
  EXPECT_EQ(status(held[2].id), Status::running);
}

// ---- What a session does not know ----------------------------------------------------------------------------------

TEST_F(SessionConformance, WhatASettledClaimGaveAndTheSessionDoesNotHoldIsReleased) {
  const Uuid unknown = admit_id(request());
  TestWorker me = worker();
  const Claim lost_reply = claim_one(me);  // claim number 1: its reply is lost
  const Uuid in_flight = admit_id(request());
  ASSERT_EQ(claim_one(me).id, in_flight);  // claim number 2: its reply is still on the way
  const Beat settled{.session = me.session, .lease = 30s, .settled_claim_number = 1};

  const BeatReply reply = store().beat(settled);

  EXPECT_EQ(reply.released, 1);
  EXPECT_TRUE(reply.lost.empty());
  const Execution released = get(unknown);
  EXPECT_EQ(released.status, Status::pending);
  EXPECT_EQ(released.attempt, 0) << "the attempt is not spent";
  EXPECT_EQ(released.lost, 0);
  EXPECT_EQ(released.fence, 1);
  EXPECT_TRUE(store().attempts(unknown).empty());
  EXPECT_EQ(status(in_flight), Status::running);
  EXPECT_EQ(finish(completed(lost_reply)), FinishVerdict::stale);
  EXPECT_EQ(finish(ending(lost_reply, FinishKind::released)), FinishVerdict::stale) << "it was not a finish";
  const Claim again = claim_one(me);
  EXPECT_EQ(again.id, unknown);
  EXPECT_EQ(again.attempt, 1);
  EXPECT_EQ(again.fence, 2);
}

TEST_F(SessionConformance, HoldingAnotherFenceIsNotHoldingIt) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  Claim imagined = claim_one(me);
  imagined.fence += 1;

  const BeatReply reply = beat(me, {imagined});

  EXPECT_EQ(reply.released, 1);
  EXPECT_EQ(reply.lost, std::vector{id});
  EXPECT_EQ(status(id), Status::pending);
}

TEST_F(SessionConformance, WhatIsHeldIsKept) {
  (void)admit_id(request());
  (void)admit_id(request());
  TestWorker me = worker();
  const std::vector<Claim> held = claim(me);
  ASSERT_EQ(held.size(), 2U);

  const BeatReply reply = beat(me, held);

  EXPECT_EQ(reply.released, 0);
  EXPECT_TRUE(reply.lost.empty());
  EXPECT_TRUE(reply.cancel.empty());
}

// ---- Closing and listing -------------------------------------------------------------------------------------------

TEST_F(SessionConformance, AClosedSessionReleasesWhatItHolds) {
  const Uuid id = admit_id(request());
  TestWorker me = worker();
  const Claim held = claim_one(me);

  store().close_session(me.session);

  EXPECT_EQ(status(id), Status::pending);
  EXPECT_EQ(get(id).attempt, 0);
  EXPECT_EQ(get(id).lost, 0);
  EXPECT_TRUE(store().attempts(id).empty());
  EXPECT_TRUE(store().sessions().empty());
  EXPECT_EQ(finish(completed(held)), FinishVerdict::stale);
  EXPECT_TRUE(beat(me, {}).session_lost);
  EXPECT_TRUE(claim(me).empty());
  store().close_session(me.session);  // already closed: does nothing
}

TEST_F(SessionConformance, SessionsAreListedAsTheyWereOpened) {
  NewSession opened{
      .id = base::new_uuid7(),
      .worker = "billing-7",
      .host = "höst.example",
      .pid = 4'000'000'000,
      .lease = 90s,
      .queues = {{.namespace_name = "shop", .name = "payments"}, {.namespace_name = "shop", .name = "mails"}},
      .tasks = {"charge", "refund"},
      .build = "1.2.3+abc"};
  const Time before = store().now();
  store().open_session(opened);

  const std::vector<SessionInfo> listed = store().sessions();

  ASSERT_EQ(listed.size(), 1U);
  const SessionInfo& told = listed.front();
  EXPECT_EQ(told.id, opened.id);
  EXPECT_EQ(told.worker, opened.worker);
  EXPECT_EQ(told.host, opened.host);
  EXPECT_EQ(told.pid, opened.pid);
  EXPECT_EQ(told.lease, opened.lease);
  EXPECT_EQ(told.queues, opened.queues);
  EXPECT_EQ(told.tasks, opened.tasks);
  EXPECT_EQ(told.build, opened.build);
  EXPECT_GE(told.started_at, before);
  EXPECT_EQ(told.expires_at, told.started_at + 90s);
  EXPECT_EQ(told.running, 0);
}

TEST_F(SessionConformance, SessionsAreListedWithWhatTheyRun) {
  for (int i = 0; i < 3; ++i) { (void)admit_id(request()); }
  TestWorker busy = worker();
  const TestWorker idle = worker();
  ASSERT_EQ(claim(busy).size(), 3U);

  for (const SessionInfo& told : store().sessions()) {
    EXPECT_EQ(told.running, told.id == busy.session ? 3 : 0);
    EXPECT_TRUE(told.id == busy.session || told.id == idle.session);
  }
  EXPECT_EQ(store().sessions().size(), 2U);
}

TEST_F(SessionConformance, OpeningAKnownSessionRenewsIt) {
  (void)admit_id(request());
  TestWorker me = worker(5min);
  const Claim held = claim_one(me);
  const Time started = store().sessions().at(0).started_at;
  advance(4min);

  store().open_session({.id = me.session, .worker = "renewed", .lease = 5min});

  advance(4min);
  EXPECT_EQ(sweep(), SweepReport{});
  EXPECT_EQ(store().sessions().at(0).started_at, started);
  EXPECT_EQ(finish(completed(held)), FinishVerdict::accepted);
}

// ---- Lost ----------------------------------------------------------------------------------------------------------

TEST_F(SessionConformance, ALostSessionsExecutionsAreClaimableAgain) {
  const Uuid id = admit_id(request());
  const Uuid other = admit_id(request());
  TestWorker dead = worker();
  const std::vector<Claim> held = claim(dead);
  ASSERT_EQ(held.size(), 2U);
  const Time run_at = get(id).run_at;

  EXPECT_EQ(lose(dead), (SweepReport{.lost_sessions = 1, .requeued = 2}));

  const Execution requeued = get(id);
  EXPECT_EQ(requeued.status, Status::pending);
  EXPECT_EQ(requeued.lost, 1);
  EXPECT_EQ(requeued.attempt, 1) << "a lost attempt was an attempt";
  EXPECT_EQ(requeued.fence, 1);
  EXPECT_EQ(requeued.run_at, run_at);
  EXPECT_FALSE(requeued.session);
  EXPECT_EQ(get(other).lost, 1);
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].number, 1);
  EXPECT_EQ(attempts[0].outcome, "lost");
  EXPECT_TRUE(attempts[0].worker.starts_with("worker-"));
  EXPECT_EQ(attempts[0].started_at, held[0].claimed_at);
  EXPECT_TRUE(attempts[0].ended_at);
  EXPECT_TRUE(store().sessions().empty());
  TestWorker me = worker();
  const Claim again = claim(me, 1).at(0);
  EXPECT_EQ(again.id, id);
  EXPECT_EQ(again.attempt, 2);
  EXPECT_EQ(again.lost, 1);
  EXPECT_EQ(again.fence, 2);
}

TEST_F(SessionConformance, ALostSessionIsToldSoAndItsWritesAreRefused) {
  const Uuid id = admit_id(request());
  TestWorker dead = worker();
  const Claim held = claim_one(dead);
  (void)lose(dead);
  const std::string before = picture(id);

  const BeatReply reply = beat(dead, {held});

  EXPECT_TRUE(reply.session_lost);
  EXPECT_TRUE(reply.lost.empty());
  EXPECT_TRUE(reply.cancel.empty());
  EXPECT_EQ(reply.released, 0);
  for (const FinishKind kind : {FinishKind::completed, FinishKind::failed, FinishKind::cancelled, FinishKind::timed_out,
                                FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    EXPECT_EQ(finish(ending(held, kind)), FinishVerdict::stale);
  }
  EXPECT_TRUE(claim(dead).empty());
  EXPECT_EQ(picture(id), before);
}

TEST_F(SessionConformance, OnlySessionsWhoseLeaseIsOverAreLost) {
  (void)admit_id(request());
  const TestWorker dead = worker(1min);
  TestWorker alive = worker(1h);
  const Claim held = claim_one(alive);
  advance(2min);

  EXPECT_EQ(sweep(), (SweepReport{.lost_sessions = 1}));

  EXPECT_TRUE(beat(dead, {}).session_lost);
  EXPECT_FALSE(beat(alive, {held}).session_lost);
}

TEST_F(SessionConformance, AnExecutionLostTooOftenIsADeadLetter) {
  NewExecution item = request();
  item.max_lost = 2;
  item.max_attempts = 1;  // lost attempts alone never use up max_attempts
  (void)admit_id(item);
  TestWorker first = worker();
  (void)claim_one(first);
  EXPECT_EQ(lose(first), (SweepReport{.lost_sessions = 1, .requeued = 1}));
  TestWorker next = worker();
  (void)claim_one(next);

  EXPECT_EQ(lose(next), (SweepReport{.lost_sessions = 1, .dead = 1}));

  const Execution dead = get(item.id);
  EXPECT_EQ(dead.status, Status::failed);
  EXPECT_EQ(dead.lost, 2);
  EXPECT_EQ(dead.attempt, 2);
  EXPECT_TRUE(dead.dead);
  ASSERT_TRUE(dead.error);
  EXPECT_EQ(dead.error->type, "WorkerLost");
  EXPECT_TRUE(dead.finished_at);
  EXPECT_FALSE(dead.session) << "no attempt ended it";
  const std::vector<Attempt> attempts = store().attempts(item.id);
  ASSERT_EQ(attempts.size(), 2U);
  EXPECT_EQ(attempts[0].outcome, "lost");
  EXPECT_EQ(attempts[1].outcome, "lost");
}

TEST_F(SessionConformance, ASweepDoesAtMostItsLimitAndSaysThatThereIsMore) {
  for (int i = 0; i < 5; ++i) { (void)admit_id(request()); }
  TestWorker dead = worker();
  ASSERT_EQ(claim(dead).size(), 5U);
  advance(1h);

  SweepReport report = store().sweep({.limit = 2});
  EXPECT_TRUE(report.more);
  EXPECT_LE(report.requeued, 2);
  SweepReport total = report;
  for (int pass = 0; report.more && pass < 10; ++pass) {
    report = store().sweep({.limit = 2});
    EXPECT_LE(report.requeued, 2);
    total.requeued += report.requeued;
    total.lost_sessions += report.lost_sessions;
  }

  EXPECT_FALSE(report.more);
  EXPECT_EQ(total.requeued, 5);
  EXPECT_EQ(total.lost_sessions, 1);
}

TEST_F(SessionConformance, AClockThatIsSetBackDoesNotMakeALeaseLonger) {
  const Uuid id = admit_id(request());
  TestWorker me = worker(10s);
  (void)claim_one(me);
  advance(-1h);
  EXPECT_EQ(sweep().lost_sessions, 0) << "it has its lease from now on";
  advance(5s);
  EXPECT_EQ(sweep().lost_sessions, 0);
  advance(6s);
  EXPECT_EQ(sweep().lost_sessions, 1);
  EXPECT_EQ(status(id), Status::pending);
}

TEST_F(SessionConformance, ALongerLeaseThatABeatAskedForIsLeftAlone) {
  TestWorker me = worker(10s);
  me.lease = 60s;
  (void)beat(me, {});
  (void)sweep();
  advance(50s);
  EXPECT_EQ(sweep().lost_sessions, 0);
  advance(11s);
  EXPECT_EQ(sweep().lost_sessions, 1);
}

// ---- Claimed alone -------------------------------------------------------------------------------------------------

TEST_F(SessionConformance, WhatWasLostBeforeIsClaimedAlone) {
  const Uuid suspect = admit_id(request("work", "second"));
  TestWorker dead = worker(30s, {"second"});
  (void)claim_one(dead);
  (void)lose(dead);
  NewExecution urgent = request("work", "first");
  urgent.priority = 100;
  (void)admit_id(urgent);
  (void)admit_id(request("work", "second"));
  TestWorker me = worker(30s, {"first", "second"});

  const ClaimReply busy = claim_reply(me, 1, false);
  EXPECT_EQ(busy.claims.at(0).id, urgent.id);
  EXPECT_TRUE(busy.suspects_due);
  const ClaimReply alone = claim_reply(me, 10, true);
  ASSERT_EQ(alone.claims.size(), 1U) << "with no neighbours";
  EXPECT_EQ(alone.claims[0].id, suspect);
  EXPECT_FALSE(alone.suspects_due);
  const ClaimReply rest = claim_reply(me, 10, false);
  EXPECT_EQ(rest.claims.size(), 1U);
  EXPECT_FALSE(rest.suspects_due);
}

TEST_F(SessionConformance, SuspectsAreClaimedOneByOne) {
  for (int i = 0; i < 3; ++i) { (void)admit_id(request()); }
  TestWorker dead = worker();
  ASSERT_EQ(claim(dead).size(), 3U);
  (void)lose(dead);
  TestWorker me = worker();

  EXPECT_TRUE(claim(me, 10, false).empty());
  for (int i = 0; i < 3; ++i) { EXPECT_EQ(claim(me).size(), 1U); }
  EXPECT_TRUE(claim(me).empty());
}

// A session that several front ends serve leaves it to the store to count its running executions (`by_holdings`).
TEST_F(SessionConformance, ASuspectRunsAloneByWhatTheSessionHolds) {
  for (int i = 0; i < 2; ++i) { (void)admit_id(request()); }
  TestWorker dead = worker();
  const std::vector<Claim> both = claim(dead);
  ASSERT_EQ(both.size(), 2U);
  ASSERT_EQ(finish(completed(both[1])), FinishVerdict::accepted);
  (void)lose(dead);
  (void)admit_id(request());
  TestWorker me = worker();
  const auto claim_by_holdings = [&](TestWorker& worker) {
    worker.claim_number += 1;
    return store().claim({.session = worker.session,
                          .claim_number = worker.claim_number,
                          .queues = worker.queues,
                          .limit = 10,
                          .idle = 10,
                          .alone = false,
                          .by_holdings = true});
  };
  const ClaimReply first = claim_by_holdings(me);
  ASSERT_EQ(first.claims.size(), 1U) << "it holds nothing, whatever `alone` says";
  EXPECT_EQ(first.claims[0].id, both[0].id);
  EXPECT_TRUE(claim_by_holdings(me).claims.empty()) << "nothing beside a suspect";
  (void)admit_id(request());
  ASSERT_EQ(finish(ending(first.claims[0], FinishKind::released)), FinishVerdict::accepted);
  TestWorker busy = worker();
  ASSERT_EQ(claim(busy, 1, false).size(), 1U);
  const ClaimReply beside = claim_by_holdings(busy);
  ASSERT_EQ(beside.claims.size(), 1U) << "it holds something: the suspect is not for it";
  EXPECT_EQ(beside.claims[0].lost, 0);
  EXPECT_TRUE(beside.suspects_due);
}

TEST_F(SessionConformance, ABeatOfALostSessionCountsNothing) {
  (void)admit_id(request());
  Beat beat;
  beat.session = base::new_uuid7();
  beat.counts = {{.queue = {}, .completed = 1}};
  EXPECT_TRUE(store().beat(beat).session_lost);
  TestWorker me = worker();
  beat.session = me.session;
  EXPECT_FALSE(store().beat(beat).session_lost);
  EXPECT_EQ(store().queues("default").at(0).completed_last_minute, 1);
}

TEST_F(SessionConformance, ASuspectThatWaitsForItsRetryIsNotDue) {
  const Uuid id = admit_id(request());
  TestWorker dead = worker();
  (void)claim_one(dead);
  (void)lose(dead);
  TestWorker me = worker(24h);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 1h)), FinishVerdict::accepted);

  EXPECT_FALSE(claim_reply(me, 10, false).suspects_due);
  EXPECT_TRUE(claim(me).empty());
  advance(1h);
  EXPECT_TRUE(claim_reply(me, 10, false).suspects_due);
  EXPECT_EQ(claim_one(me).id, id);
}

}  // namespace

}  // namespace hapax::conformance
