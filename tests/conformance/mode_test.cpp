// Throttle, debounce and keep_last: identity modes beyond holding.
#include "base/sha256.hpp"
#include "base/uuid7.hpp"
#include "conformance/fixture.hpp"
#include "model/identity.hpp"
#include "model/turn.hpp"

namespace hapax::conformance {

namespace {

using enum AdmissionVerdict;

class ModeConformance : public Conformance {
 protected:
  static NewExecution throttled(const std::string& key, Duration window, const std::string& input = "null") {
    NewExecution item = keyed(key, input);
    item.identity->mode = IdentityMode::throttle;
    item.identity->throttle = window;
    return item;
  }
  static NewExecution debounced(const std::string& key, Duration delay, const std::string& input) {
    NewExecution item = keyed(key, input);
    item.identity->mode = IdentityMode::debounce;
    item.delay = delay;
    return item;
  }
  static NewExecution latest(const std::string& key, const std::string& input) {
    NewExecution item = keyed(key, input);
    item.identity->mode = IdentityMode::keep_last;
    item.limit_key = LimitKey{.text = "keep_last " + base::to_hex(item.identity->hash), .ordered = true};
    return item;
  }
};

// ---- Throttle ------------------------------------------------------------------------------------------------------

TEST_F(ModeConformance, WithinItsWindowAThrottledRequestMeetsTheFirstHoweverItEnded) {
  for (const Status status : {Status::pending, Status::running, Status::completed, Status::failed, Status::cancelled}) {
    SCOPED_TRACE(to_string(status));
    const std::string key(to_string(status));
    const Uuid first = admit_id(throttled(key, 10min));
    bring_to(first, status);
    advance(9min);
    const Admission again = admit(throttled(key, 10min));
    EXPECT_EQ(again.verdict, deduplicated);
    EXPECT_EQ(again.id, first);
    EXPECT_EQ(again.status, status);
    if (!is_terminal(status)) { bring_to(first, Status::completed); }
  }
}

TEST_F(ModeConformance, AfterItsWindowAThrottledRequestRunsWhateverTheFirstDoes) {
  for (const Status status : {Status::pending, Status::running, Status::completed, Status::failed}) {
    SCOPED_TRACE(to_string(status));
    const std::string key(to_string(status));
    NewExecution first = throttled(key, 10min);
    first.queue.name = key;
    (void)admit_id(first);
    bring_to(first.id, status);
    advance(10min);
    NewExecution next = throttled(key, 10min);
    next.queue.name = key;
    const Admission admission = admit(next);
    EXPECT_EQ(admission.verdict, created);
    EXPECT_EQ(admission.run, 2);
    EXPECT_EQ(this->status(first.id), status) << "the first is left to run";
    EXPECT_EQ(store().holder(first.identity->hash), next.id);
    advance(9min);
    EXPECT_EQ(admit(throttled(key, 10min)).id, next.id) << "the window counts from the new run";
  }
}

TEST_F(ModeConformance, AThrottleOutlivesARetentionOfNothing) {
  store().configure_queue({}, {.retention = 0s});
  const Uuid first = admit_id(throttled("a", 1h));
  bring_to(first, Status::completed);
  advance(30min);
  (void)sweep(true);
  EXPECT_EQ(admit(throttled("a", 1h)).verdict, deduplicated);
  advance(31min);
  EXPECT_EQ(admit(throttled("a", 1h)).verdict, created);
}

TEST_F(ModeConformance, AThrottledRequestWithAnotherInputIsAMismatch) {
  (void)admit_id(throttled("a", 10min, "1"));
  EXPECT_EQ(admit(throttled("a", 10min, "2")).verdict, mismatch);
  advance(10min);
  EXPECT_EQ(admit(throttled("a", 10min, "2")).verdict, created) << "the holder no longer blocks";
}

// ---- Debounce ------------------------------------------------------------------------------------------------------

TEST_F(ModeConformance, ADebouncedExecutionGetsTheLatestInputAndWaitsAnew) {
  const NewExecution first = debounced("a", 1min, "1");
  (void)admit_id(first);
  const Execution before = get(first.id);
  advance(50s);

  const Admission again = admit(debounced("a", 1min, "2"));

  EXPECT_EQ(again.verdict, deduplicated);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.deduplicated_from, before.created_at);
  const Execution after = get(first.id);
  EXPECT_EQ(after.input, "2");
  EXPECT_EQ(after.run, 1);
  EXPECT_EQ(after.created_at, before.created_at);
  TestWorker me = worker();
  advance(50s);
  EXPECT_TRUE(claim(me).empty());
  advance(10s);
  EXPECT_EQ(claim_one(me).input, "2");
}

TEST_F(ModeConformance, OneThatIsDueButHasNotStartedIsStillReplaced) {
  const NewExecution first = debounced("a", 1min, "1");
  (void)admit_id(first);
  advance(2min);
  EXPECT_EQ(admit(debounced("a", 1min, "2")).id, first.id);
  TestWorker me = worker();
  EXPECT_TRUE(claim(me).empty()) << "it waits again";
  advance(1min);
  EXPECT_EQ(claim_one(me).input, "2");
}

TEST_F(ModeConformance, OnceItRunsTheNextDebouncedRequestIsARunOfItsOwn) {
  const NewExecution first = debounced("a", 1min, "1");
  (void)admit_id(first);
  advance(1min);
  TestWorker me = worker();
  const Claim running = claim_one(me);

  const NewExecution next = debounced("a", 1min, "2");
  const Admission admission = admit(next);

  EXPECT_EQ(admission.verdict, created);
  EXPECT_EQ(admission.run, 2);
  EXPECT_EQ(admit(debounced("a", 1min, "3")).id, next.id);
  EXPECT_EQ(get(next.id).input, "3");
  EXPECT_EQ(finish(completed(running)), FinishVerdict::accepted);
  EXPECT_EQ(get(running.id).input, "1");
  bring_to(next.id, Status::cancelled);
  EXPECT_EQ(admit(debounced("a", 1min, "4")).verdict, created) << "nothing that ended is in its way";
}

TEST_F(ModeConformance, OneThatWaitsForItsRetryMakesWayForTheLatest) {
  const NewExecution first = debounced("a", 1min, "1");
  (void)admit_id(first);
  advance(1min);
  TestWorker me = worker();
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 1h)), FinishVerdict::accepted);

  const NewExecution next = debounced("a", 1min, "2");
  EXPECT_EQ(admit(next).verdict, created);

  EXPECT_EQ(status(first.id), Status::cancelled);
  EXPECT_EQ(status(next.id), Status::pending);
}

// An execution that has started keeps its input, because its effects under the effect key belong to that input.
TEST_F(ModeConformance, WhatHasStartedIsNotGivenAnotherInputThoughItsAttemptWasGivenBack) {
  for (const IdentityMode mode : {IdentityMode::debounce, IdentityMode::keep_last}) {
    for (const FinishKind kind : {FinishKind::released, FinishKind::snoozed, FinishKind::waiting}) {
      const std::string key = std::to_string(static_cast<int>(mode)) + std::to_string(static_cast<int>(kind));
      SCOPED_TRACE(key);
      const auto asked = [&](const std::string& input) {
        NewExecution item = mode == IdentityMode::debounce ? debounced(key, 1s, input) : latest(key, input);
        if (kind == FinishKind::waiting) { item.kind = Kind::workflow; }
        return item;
      };
      const NewExecution first = asked("1");
      (void)admit_id(first);
      advance(1s);
      TestWorker me = worker();
      me.tasks = {first.task};
      const Claim claim = claim_one(me);
      Finish outcome = ending(claim, kind, kind == FinishKind::snoozed ? 1h : 0s);
      if (kind == FinishKind::waiting) { outcome.turn = std::make_shared<const Turn>(); }
      ASSERT_EQ(finish(outcome), FinishVerdict::accepted);
      ASSERT_EQ(get(first.id).attempt, 0);

      const NewExecution next = asked("2");
      EXPECT_EQ(admit(next).verdict, created);

      EXPECT_EQ(get(first.id).input, "1");
      EXPECT_EQ(status(first.id), Status::cancelled);
      EXPECT_EQ(admit(asked("3")).id, next.id);
      EXPECT_EQ(get(next.id).input, "3");
      bring_to(next.id, Status::cancelled);
    }
  }
}

TEST_F(ModeConformance, AReplacedOneHasWhatTheLatestRequestHas) {
  for (const IdentityMode mode : {IdentityMode::debounce, IdentityMode::keep_last}) {
    SCOPED_TRACE(static_cast<int>(mode));
    const std::string key = std::to_string(static_cast<int>(mode));
    const auto asked = [&](const std::string& input) {
      return mode == IdentityMode::debounce ? debounced(key, 1h, input) : latest(key, input);
    };
    NewExecution first = asked("1");
    first.labels.tags = {"old"};
    first.weight = 2;
    (void)admit_id(first);
    const std::string effect_key = get(first.id).effect_key;
    NewExecution next = asked("2");
    next.priority = 7;
    next.max_attempts = 9;
    next.max_lost = 8;
    next.attempt_timeout = 3s;
    next.retry = RetryPolicy{.base = 7s};
    next.labels.tags = {"new"};
    next.labels.metadata = R"({"a":1})";
    next.weight = 3;
    EXPECT_EQ(admit(next).id, first.id);
    const Execution after = get(first.id);
    EXPECT_EQ(after.input, "2");
    EXPECT_EQ(after.priority, 7);
    EXPECT_EQ(after.max_attempts, 9);
    EXPECT_EQ(after.max_lost, 8);
    EXPECT_EQ(after.attempt_timeout, 3s);
    ASSERT_TRUE(after.retry);
    EXPECT_EQ(after.retry->base, 7s);
    EXPECT_EQ(after.labels, next.labels);
    EXPECT_EQ(after.weight, 3);
    EXPECT_EQ(after.effect_key, effect_key) << "it is the same execution";
    EXPECT_EQ(admit(asked("3")).id, first.id);
    EXPECT_EQ(get(first.id).weight, 1);
    EXPECT_EQ(get(first.id).labels, Labels{});
    EXPECT_FALSE(get(first.id).retry);
  }
}

TEST_F(ModeConformance, AReplacedOneIsClaimedByItsNewPriority) {
  const NewExecution other = request();
  (void)admit_id(other);
  const NewExecution first = latest("a", "1");
  (void)admit_id(first);
  NewExecution next = latest("a", "2");
  next.priority = 5;
  EXPECT_EQ(admit(next).id, first.id);
  TestWorker me = worker();
  EXPECT_EQ(claim(me, 1).at(0).id, first.id);
}

TEST_F(ModeConformance, ADebouncedRequestUnderAnotherLimitKeyIsARunOfItsOwn) {
  const NewExecution first = debounced("a", 1h, "1");
  (void)admit_id(first);
  NewExecution next = debounced("a", 1h, "2");
  next.limit_key = LimitKey{.text = "customer-7", .ordered = true};
  EXPECT_EQ(admit(next).verdict, created);
  EXPECT_EQ(status(first.id), Status::cancelled);
  EXPECT_EQ(get(next.id).limit_key, next.limit_key);
}

TEST_F(ModeConformance, DebouncedRequestsOfOneBatchLeaveTheLast) {
  const std::vector<NewExecution> items = {debounced("a", 1min, "1"), debounced("a", 1min, "2"),
                                           debounced("a", 1min, "3"), debounced("b", 1min, "4")};
  const std::vector<Admission> admissions = store().admit(items);
  EXPECT_EQ(admissions.at(0).verdict, created);
  EXPECT_EQ(admissions.at(1).id, items[0].id);
  EXPECT_EQ(admissions.at(2).id, items[0].id);
  EXPECT_EQ(admissions.at(3).verdict, created);
  EXPECT_EQ(get(items[0].id).input, "3");
}

TEST_F(ModeConformance, AReplacedInputIsTheOneComparedNext) {
  (void)admit_id(debounced("a", 1min, "1"));
  (void)admit(debounced("a", 1min, "2"));
  EXPECT_EQ(admit(keyed("a", "1")).verdict, mismatch);
  EXPECT_EQ(admit(keyed("a", "2")).verdict, deduplicated);
}

TEST_F(ModeConformance, AReplacedOneHasTheDeadlineOfTheLatestRequest) {
  NewExecution first = debounced("a", 30s, "1");
  first.deadline = 40s;
  (void)admit_id(first);
  advance(20s);
  NewExecution again = debounced("a", 30s, "2");
  again.deadline = 40s;
  EXPECT_EQ(admit(again).id, first.id);
  advance(30s);
  EXPECT_EQ(sweep().timed_out, 0);
  TestWorker me = worker();
  EXPECT_EQ(claim_one(me).input, "2");
  advance(10s);
  EXPECT_EQ(sweep().timed_out, 1) << "the new one holds";
}

TEST_F(ModeConformance, AReplacedOneHasNoDeadlineIfTheLatestRequestHasNone) {
  NewExecution first = debounced("a", 3s, "1");
  first.deadline = 4s;
  (void)admit_id(first);
  EXPECT_EQ(admit(debounced("a", 10s, "2")).id, first.id);
  EXPECT_FALSE(get(first.id).deadline);
  NewExecution last = debounced("a", 10s, "3");
  last.deadline = 1min;
  EXPECT_EQ(admit(last).id, first.id);
  EXPECT_TRUE(get(first.id).deadline);
  advance(11s);
  EXPECT_EQ(sweep().timed_out, 0);
  TestWorker me = worker();
  EXPECT_EQ(claim_one(me).input, "3");
}

TEST_F(ModeConformance, OneOfAnotherTaskOrQueueIsNotGivenTheInputButMakesWay) {
  for (const bool other_task : {true, false}) {
    for (const IdentityMode mode : {IdentityMode::debounce, IdentityMode::keep_last}) {
      SCOPED_TRACE(std::to_string(static_cast<int>(mode)) + (other_task ? " task" : " queue"));
      const std::string key = std::to_string(static_cast<int>(mode)) + (other_task ? "t" : "q");
      const auto global = [&](const std::string& input) {
        NewExecution item = mode == IdentityMode::debounce ? debounced(key, 1h, input) : latest(key, input);
        item.identity->hash =
            identity_hash({.namespace_name = "default", .scope = Scope::global, .name = "", .key = key});
        return item;
      };
      const NewExecution first = global("1");
      (void)admit_id(first);
      NewExecution next = global("2");
      (other_task ? next.task : next.queue.name) = "another";
      const Admission admission = admit(next);
      if (mode == IdentityMode::keep_last && !other_task) {
        EXPECT_EQ(admission.verdict, already_exists) << "nothing would keep it from running beside what runs there";
        EXPECT_EQ(admission.id, first.id);
        EXPECT_EQ(get(first.id).input, "1");
        continue;
      }
      EXPECT_EQ(admission.verdict, created);
      EXPECT_EQ(admission.id, next.id);
      EXPECT_EQ(admission.run, 2);
      const Execution before = get(first.id);
      EXPECT_EQ(before.status, Status::cancelled) << "the latest request counts";
      EXPECT_EQ(before.input, "1");
      EXPECT_EQ(get(next.id).input, "2");
      EXPECT_EQ(get(next.id).task, next.task);
      EXPECT_EQ(store().holder(next.identity->hash), next.id);
    }
  }
}

// ---- Keep last -----------------------------------------------------------------------------------------------------

TEST_F(ModeConformance, KeepLastHasOneRunningAndOnePendingTheLatest) {
  TestWorker me = worker();
  const NewExecution first = latest("a", "1");
  (void)admit_id(first);
  const Claim running = claim_one(me);
  const NewExecution second = latest("a", "2");
  EXPECT_EQ(admit(second).verdict, created);
  const Admission third = admit(latest("a", "3"));
  EXPECT_EQ(third.verdict, deduplicated);
  EXPECT_EQ(third.id, second.id);

  EXPECT_TRUE(claim(me).empty()) << "one at a time";

  EXPECT_EQ(finish(completed(running)), FinishVerdict::accepted);
  const Claim next = claim_one(me);
  EXPECT_EQ(next.id, second.id);
  EXPECT_EQ(next.input, "3");
}

TEST_F(ModeConformance, AKeepLastRunThatWasOvertakenIsNotTriedAgain) {
  for (const FinishKind kind : {FinishKind::retry, FinishKind::snoozed, FinishKind::released}) {
    const std::string key = std::to_string(static_cast<int>(kind));
    SCOPED_TRACE(key);
    TestWorker me = worker();
    const NewExecution first = latest(key, "1");
    (void)admit_id(first);
    const Claim running = claim_one(me);
    const NewExecution next = latest(key, "2");
    EXPECT_EQ(admit(next).verdict, created);

    const Finish outcome = ending(running, kind, 1h);
    EXPECT_EQ(finish(outcome), FinishVerdict::accepted);

    EXPECT_EQ(status(first.id), Status::cancelled) << "one pending, the latest";
    EXPECT_EQ(get(first.id).error->type, "Cancelled");
    EXPECT_EQ(get(first.id).error->message, "overtaken by a newer request");
    EXPECT_EQ(finish(outcome), FinishVerdict::accepted) << "asked again";
    EXPECT_EQ(admit(latest(key, "3")).id, next.id);
    const Claim last = claim_one(me);
    EXPECT_EQ(last.id, next.id);
    EXPECT_EQ(last.input, "3");
    ASSERT_EQ(finish(completed(last)), FinishVerdict::accepted);
  }
}

TEST_F(ModeConformance, AnOvertakenKeepLastRunWhoseWorkerIsLostOrStopsIsNotTriedAgain) {
  for (const bool lost : {true, false}) {
    SCOPED_TRACE(lost);
    TestWorker me = worker(10s);
    const std::string key = lost ? "lost" : "closed";
    const NewExecution first = latest(key, "1");
    (void)admit_id(first);
    (void)claim_one(me);
    const NewExecution next = latest(key, "2");
    EXPECT_EQ(admit(next).verdict, created);
    if (lost) {
      advance(11s);
      (void)sweep();
    } else {
      store().close_session(me.session);
    }
    EXPECT_EQ(status(first.id), Status::cancelled);
    TestWorker other = worker();
    const Claim last = claim_one(other);
    EXPECT_EQ(last.id, next.id);
    ASSERT_EQ(finish(completed(last)), FinishVerdict::accepted);
  }
}

TEST_F(ModeConformance, WhatIsNotOvertakenOrNotKeepLastIsTriedAgain) {
  TestWorker me = worker();
  const NewExecution kept = latest("a", "1");
  (void)admit_id(kept);
  ASSERT_EQ(finish(ending(claim_one(me), FinishKind::retry, 1h)), FinishVerdict::accepted);
  EXPECT_EQ(status(kept.id), Status::pending);
  const NewExecution throttle = throttled("b", 1min);
  (void)admit_id(throttle);
  const Claim running = claim_one(me);
  advance(1min);
  EXPECT_EQ(admit(throttled("b", 1min)).verdict, created);
  (void)beat(me, {running});
  ASSERT_EQ(finish(ending(running, FinishKind::retry, 1h)), FinishVerdict::accepted);
  EXPECT_EQ(status(throttle.id), Status::pending) << "each of them counts";
}

TEST_F(ModeConformance, KeepLastNeverRunsBesideOneOfAnotherQueue) {
  TestWorker me = worker(30s, {"default", "other"});
  const NewExecution first = latest("a", "1");
  (void)admit_id(first);
  const Claim running = claim_one(me);
  NewExecution there = latest("a", "2");
  there.queue.name = "other";
  EXPECT_EQ(admit(there).verdict, already_exists);
  const NewExecution waiting = latest("a", "3");
  EXPECT_EQ(admit(waiting).verdict, created);
  there.id = base::new_uuid7();
  EXPECT_EQ(admit(there).verdict, already_exists) << "the first still runs, though another holds the key";
  EXPECT_TRUE(claim(me).empty());
  ASSERT_EQ(finish(completed(running)), FinishVerdict::accepted);
  ASSERT_EQ(finish(completed(claim_one(me))), FinishVerdict::accepted);
  there.id = base::new_uuid7();
  EXPECT_EQ(admit(there).verdict, created);
}

TEST_F(ModeConformance, KeepLastNeverRunsBesideOneThatWasAskedForWithoutIt) {
  TestWorker me = worker();
  const NewExecution plain = keyed("a", "1");
  (void)admit_id(plain);
  const Claim running = claim_one(me);
  const Admission refused = admit(latest("a", "2"));
  EXPECT_EQ(refused.verdict, already_exists);
  EXPECT_EQ(refused.id, plain.id);
  EXPECT_EQ(refused.status, Status::running);
  EXPECT_TRUE(claim(me).empty());
  ASSERT_EQ(finish(completed(running)), FinishVerdict::accepted);
  EXPECT_EQ(admit(latest("a", "3")).verdict, created);
}

TEST_F(ModeConformance, KeepLastTakesThePlaceOfAPendingOneThatWasAskedForWithoutIt) {
  const NewExecution plain = keyed("a", "1");
  (void)admit_id(plain);
  const NewExecution next = latest("a", "2");
  EXPECT_EQ(admit(next).verdict, created) << "it has an order to keep, which the other has not";
  EXPECT_EQ(status(plain.id), Status::cancelled);
  TestWorker me = worker();
  EXPECT_EQ(claim_one(me).id, next.id);
  EXPECT_EQ(admit(latest("a", "3")).verdict, created);
  EXPECT_TRUE(claim(me).empty());
}

TEST_F(ModeConformance, KeepLastReplacesWhatIsPending) {
  const NewExecution first = latest("a", "1");
  (void)admit_id(first);
  EXPECT_EQ(admit(latest("a", "2")).id, first.id);
  TestWorker me = worker();
  EXPECT_EQ(claim_one(me).input, "2");
}

}  // namespace

}  // namespace hapax::conformance
