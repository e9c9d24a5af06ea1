// Throttle, debounce and keep-last: ways to meet a held identity beyond holding it (SPEC I16).
#include "conformance/fixture.hpp"

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
    item.limit_key = LimitKey{.text = "keep_last " + key, .ordered = true};
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
  advance(59s);
  EXPECT_TRUE(claim(me).empty());
  advance(1s);
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

TEST_F(ModeConformance, KeepLastReplacesWhatIsPending) {
  const NewExecution first = latest("a", "1");
  (void)admit_id(first);
  EXPECT_EQ(admit(latest("a", "2")).id, first.id);
  TestWorker me = worker();
  EXPECT_EQ(claim_one(me).input, "2");
}

}  // namespace

}  // namespace hapax::conformance
