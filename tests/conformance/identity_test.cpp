// Identities: what a request gets when its key is held, and when the key is free again.
#include "conformance/fixture.hpp"

#include <array>

namespace hapax::conformance {

namespace {

constexpr auto stored_result = R"({"paid":true})";

class IdentityConformance : public Conformance {
 protected:
  // Like bring_to; a completed execution gets a result that is not null.
  void end_as(const Uuid& id, Status ended) {
    if (ended != Status::completed) { return bring_to(id, ended); }
    bring_to(id, Status::running);
    const Claim claim{.id = id, .fence = get(id).fence};
    ASSERT_EQ(finish(completed(claim, stored_result)), FinishVerdict::accepted);
  }

  std::optional<Uuid> holder(const NewExecution& item) { return store().holder(item.identity->hash); }

  // The admission has the facts of the existing execution.
  void expect_answered_by(const Execution& existing, const Admission& admission) {
    EXPECT_EQ(admission.id, existing.id);
    EXPECT_EQ(admission.status, existing.status);
    EXPECT_EQ(admission.run, existing.run);
    EXPECT_EQ(admission.deduplicated_from, existing.created_at);
    EXPECT_EQ(admission.finished_at, existing.finished_at);
    EXPECT_EQ(admission.result, existing.result);
  }
};

// ---- The matrix ----------------------------------------------------------------------------------------------------

using enum AdmissionVerdict;

// One row for each reuse policy, one column for each conflict policy: return_existing, reject, wait,
// terminate_existing.
struct Row {
  Reuse reuse;
  std::array<AdmissionVerdict, 4> verdicts;
};

constexpr std::array live_holder = {
    Row{Reuse::failed_only, {deduplicated, already_exists, deduplicated, created}},
    Row{Reuse::reject, {deduplicated, already_exists, deduplicated, created}},
    Row{Reuse::allow, {deduplicated, already_exists, deduplicated, created}},
};
constexpr std::array completed_holder = {
    Row{Reuse::failed_only, {deduplicated, already_completed, deduplicated, deduplicated}},
    Row{Reuse::reject, {deduplicated, already_completed, deduplicated, deduplicated}},
    Row{Reuse::allow, {created, created, created, created}},
};
constexpr std::array unsuccessful_holder = {
    Row{Reuse::failed_only, {created, created, created, created}},
    Row{Reuse::reject, {already_finished, already_finished, already_finished, already_finished}},
    Row{Reuse::allow, {created, created, created, created}},
};

class IdentityMatrix : public IdentityConformance, public ::testing::WithParamInterface<Status> {
 protected:
  void check(const Row& row, OnConflict on_conflict) {
    const Status held_as = GetParam();
    const std::string key =
        std::to_string(static_cast<int>(row.reuse)) + "-" + std::to_string(static_cast<int>(on_conflict));
    SCOPED_TRACE("reuse-conflict " + key);
    NewExecution first = keyed(key);
    first.queue.name = key;
    (void)admit_id(first);
    ASSERT_NO_FATAL_FAILURE(end_as(first.id, held_as));
    const Execution existing = get(first.id);
    advance(1min);
    NewExecution again = keyed(key);
    again.queue.name = key;
    again.identity->reuse = row.reuse;
    again.identity->on_conflict = on_conflict;

    const Admission admission = admit(again);

    const AdmissionVerdict expected = row.verdicts[static_cast<std::size_t>(on_conflict)];
    ASSERT_EQ(admission.verdict, expected);
    const bool is_new = expected == created;
    EXPECT_EQ(holder(first), is_new ? again.id : first.id);
    EXPECT_EQ(store().get(again.id).has_value(), is_new);
    if (!is_new) { return expect_answered_by(existing, admission); }
    EXPECT_EQ(admission.id, again.id);
    EXPECT_EQ(admission.status, Status::pending);
    EXPECT_EQ(admission.run, 2);
    EXPECT_FALSE(admission.deduplicated_from);
    EXPECT_FALSE(admission.finished_at);
    EXPECT_FALSE(admission.result);
    // The earlier run is unchanged, unless it was live and the request terminated it.
    const Execution earlier = get(first.id);
    EXPECT_EQ(earlier.run, 1);
    EXPECT_EQ(earlier.status, is_terminal(held_as) ? held_as : Status::cancelled);
    EXPECT_EQ(earlier.result, existing.result);
  }
};

TEST_P(IdentityMatrix, AHolderAnswersByReuseAndConflictPolicy) {
  const auto& rows = GetParam() == Status::completed ? completed_holder
                     : is_terminal(GetParam())       ? unsuccessful_holder
                                                     : live_holder;
  for (const Row& row : rows) {
    for (const OnConflict on_conflict :
         {OnConflict::return_existing, OnConflict::reject, OnConflict::wait, OnConflict::terminate_existing}) {
      check(row, on_conflict);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Holder, IdentityMatrix,
                         ::testing::Values(Status::pending, Status::running, Status::completed, Status::failed,
                                           Status::cancelled, Status::timed_out),
                         [](const auto& tested) { return std::string(to_string(tested.param)); });

// ---- Fingerprints --------------------------------------------------------------------------------------------------

TEST_F(IdentityConformance, AnotherInputUnderTheSameKeyIsAMismatchWhateverTheHolderDoes) {
  for (const Status held_as : {Status::pending, Status::running, Status::completed}) {
    for (const OnConflict on_conflict : {OnConflict::return_existing, OnConflict::reject, OnConflict::wait}) {
      const std::string key = std::string(to_string(held_as)) + std::to_string(static_cast<int>(on_conflict));
      SCOPED_TRACE(key);
      const Uuid first = admit_id(keyed(key, R"({"total":1})"));
      ASSERT_NO_FATAL_FAILURE(end_as(first, held_as));
      NewExecution other = keyed(key, R"({"total":2})");
      other.identity->on_conflict = on_conflict;

      const Admission admission = admit(other);

      EXPECT_EQ(admission.verdict, mismatch);
      EXPECT_EQ(admission.id, first);
      EXPECT_FALSE(admission.result) << "the result is not the answer to what was asked";
      EXPECT_FALSE(store().get(other.id));
      bring_to(first, Status::completed);
    }
  }
}

TEST_F(IdentityConformance, InputsAreNotComparedWhenTheHolderNoLongerBlocks) {
  bring_to(admit_id(keyed("a", "1")), Status::failed);

  const Admission next = admit(keyed("a", "2"));

  EXPECT_EQ(next.verdict, created);
  EXPECT_EQ(next.run, 2);
  EXPECT_EQ(admit(keyed("a", "1")).verdict, mismatch) << "the new run's input is the one that counts";
  EXPECT_EQ(admit(keyed("a", "2")).verdict, deduplicated);
}

TEST_F(IdentityConformance, ARequestOrHolderWithoutFingerprintIsNeverAMismatch) {
  NewExecution without = keyed("a", "1");
  without.identity->fingerprint.reset();
  (void)admit_id(without);
  EXPECT_EQ(admit(keyed("a", "2")).verdict, deduplicated);

  (void)admit_id(keyed("b", "1"));
  NewExecution asking = keyed("b", "2");
  asking.identity->fingerprint.reset();
  EXPECT_EQ(admit(asking).verdict, deduplicated);
}

// ---- Runs ----------------------------------------------------------------------------------------------------------

TEST_F(IdentityConformance, RunsUnderAnIdentityAreNumberedAndAllKept) {
  std::vector<Uuid> runs;
  for (const Status ended : {Status::failed, Status::cancelled, Status::timed_out, Status::completed}) {
    const NewExecution item = keyed("a");
    const Admission admission = admit(item);
    ASSERT_TRUE(admission.created());
    runs.push_back(item.id);
    EXPECT_EQ(admission.run, static_cast<int>(runs.size()));
    EXPECT_EQ(get(item.id).run, static_cast<int>(runs.size()));
    bring_to(item.id, ended);
  }

  std::vector<Uuid> listed;
  for (const Execution& execution : store().list({.identity = keyed("a").identity->hash})) {
    listed.insert(listed.begin(), execution.id);
  }
  EXPECT_EQ(listed, runs);
}

TEST_F(IdentityConformance, TwoKeysDoNotMeet) {
  (void)admit_id(keyed("a"));
  const Admission other = admit(keyed("b"));
  EXPECT_TRUE(other.created());
  EXPECT_EQ(other.run, 1);
}

// ---- One batch -----------------------------------------------------------------------------------------------------

TEST_F(IdentityConformance, DuplicatesInsideOneBatchMeetTheFirstOfThem) {
  std::vector<NewExecution> items = {keyed("a", "1"), keyed("b"), keyed("a", "1"), keyed("a", "2"), keyed("a", "1")};
  items[4].identity->on_conflict = OnConflict::reject;

  const std::vector<Admission> admissions = store().admit(items);

  ASSERT_EQ(admissions.size(), 5U);
  EXPECT_EQ(admissions[0].verdict, created);
  EXPECT_EQ(admissions[1].verdict, created);
  EXPECT_EQ(admissions[2].verdict, deduplicated);
  EXPECT_EQ(admissions[3].verdict, mismatch);
  EXPECT_EQ(admissions[4].verdict, already_exists);
  for (const std::size_t i : {2U, 3U, 4U}) {
    EXPECT_EQ(admissions[i].id, items[0].id);
    EXPECT_EQ(admissions[i].deduplicated_from, get(items[0].id).created_at);
    EXPECT_FALSE(store().get(items[i].id));
  }
}

TEST_F(IdentityConformance, ABatchMayReplaceTheRunThatItBegan) {
  std::vector<NewExecution> items = {keyed("a"), keyed("a"), keyed("a")};
  for (NewExecution& item : items) { item.identity->on_conflict = OnConflict::terminate_existing; }

  const std::vector<Admission> admissions = store().admit(items);

  for (std::size_t i = 0; i < items.size(); ++i) {
    EXPECT_EQ(admissions.at(i).verdict, created);
    EXPECT_EQ(admissions.at(i).run, static_cast<int>(i) + 1);
  }
  EXPECT_EQ(status(items[0].id), Status::cancelled);
  EXPECT_EQ(status(items[1].id), Status::cancelled);
  EXPECT_EQ(status(items[2].id), Status::pending);
  EXPECT_EQ(holder(items[0]), items[2].id);
}

TEST_F(IdentityConformance, ABatchMeetsHoldersOfEveryKindAtOnce) {
  const Uuid pending = admit_id(keyed("pending"));
  advance(1s);
  const Uuid done = admit_id(keyed("done"));
  end_as(done, Status::completed);
  bring_to(admit_id(keyed("broken")), Status::failed);
  const std::vector<NewExecution> items = {keyed("broken"), keyed("fresh"), keyed("done"), keyed("pending"), request()};

  const std::vector<Admission> admissions = store().admit(items);

  EXPECT_EQ(admissions.at(0).run, 2);
  EXPECT_EQ(admissions.at(1).run, 1);
  EXPECT_EQ(admissions.at(2).id, done);
  EXPECT_EQ(admissions.at(2).result, stored_result);
  EXPECT_EQ(admissions.at(3).id, pending);
  EXPECT_EQ(admissions.at(4).id, items[4].id);
}

// ---- Asked again ---------------------------------------------------------------------------------------------------

TEST_F(IdentityConformance, ARequestOfTheSameIdIsTheSameRequestAskedAgain) {
  for (const NewExecution& item : {request(), keyed("a")}) {
    (void)admit_id(item);
    for (const Status now : {Status::pending, Status::running}) {
      bring_to(item.id, now);
      const Admission again = admit(item);
      EXPECT_TRUE(again.created());
      EXPECT_EQ(again.id, item.id);
      EXPECT_EQ(again.status, now);
      EXPECT_EQ(again.run, 1);
      EXPECT_EQ(status(item.id), now);
    }
  }
}

TEST_F(IdentityConformance, ARequestAskedAgainAfterItsExecutionEndedIsAnsweredByIt) {
  const NewExecution item = keyed("a");
  (void)admit_id(item);
  bring_to(item.id, Status::failed);

  const Admission again = admit(item);

  EXPECT_TRUE(again.created());
  EXPECT_EQ(again.status, Status::failed);
  EXPECT_EQ(again.run, 1);
  EXPECT_EQ(status(item.id), Status::failed);
}

// ---- Termination ---------------------------------------------------------------------------------------------------

TEST_F(IdentityConformance, ATerminatedRunningHolderIsCancelledAndItsWorkerIsStale) {
  TestWorker me = worker();
  const Uuid first = admit_id(keyed("a", "1"));
  const Claim claim = claim_one(me);
  NewExecution replacement = keyed("a", "2");  // termination ignores the old run's fingerprint
  replacement.identity->on_conflict = OnConflict::terminate_existing;

  const Admission admission = admit(replacement);

  EXPECT_EQ(admission.verdict, created);
  const Execution ended = get(first);
  EXPECT_EQ(ended.status, Status::cancelled);
  ASSERT_TRUE(ended.error);
  EXPECT_EQ(ended.error->type, "Cancelled");
  EXPECT_FALSE(ended.dead);
  EXPECT_EQ(finish(completed(claim)), FinishVerdict::stale);
  EXPECT_EQ(finish(ending(claim, FinishKind::cancelled)), FinishVerdict::stale);
  EXPECT_EQ(beat(me, {claim}).lost, std::vector{first});
  EXPECT_EQ(status(first), Status::cancelled);
  EXPECT_EQ(claim_one(me).id, replacement.id);
}

// ---- How long an identity is held ----------------------------------------------------------------------------------

TEST_F(IdentityConformance, TheHolderIsTheLatestRunWhileItIsKept) {
  const NewExecution item = keyed("a");
  EXPECT_FALSE(holder(item));
  (void)admit_id(item);
  EXPECT_EQ(holder(item), item.id);
  bring_to(item.id, Status::failed);
  EXPECT_EQ(holder(item), item.id);
  const Uuid next = admit_id(keyed("a"));
  EXPECT_EQ(holder(item), next);
}

TEST_F(IdentityConformance, AnIdentityIsFreeOnceRetentionIsOverSweptOrNot) {
  store().configure_queue({}, {.retention = 1h});
  for (const bool is_swept : {false, true}) {
    SCOPED_TRACE(is_swept);
    const NewExecution item = keyed(is_swept ? "swept" : "unswept", "1");
    (void)admit_id(item);
    bring_to(item.id, Status::completed);
    advance(59min);
    EXPECT_EQ(holder(item), item.id);
    advance(2min);
    if (is_swept) { EXPECT_GE(sweep(true).expired, 1); }

    EXPECT_FALSE(holder(item));
    NewExecution next = keyed(item.identity->key, "2");
    const Admission admission = admit(next);
    EXPECT_EQ(admission.verdict, created);
    EXPECT_EQ(admission.run, 1) << "an expired holder is no holder";
    EXPECT_EQ(holder(item), next.id);
    bring_to(next.id, Status::completed);
  }
}

TEST_F(IdentityConformance, SweepingAnExpiredRunLeavesTheIdentityToItsNewHolder) {
  store().configure_queue({}, {.retention = 1h});
  bring_to(admit_id(keyed("a")), Status::failed);
  advance(30min);
  const Uuid next = admit_id(keyed("a"));
  advance(31min);

  EXPECT_EQ(sweep(true).expired, 1);

  EXPECT_EQ(holder(keyed("a")), next);
  EXPECT_EQ(admit(keyed("a")).verdict, deduplicated);
}

TEST_F(IdentityConformance, ALiveHolderIsNeverFreedByTime) {
  store().configure_queue({}, {.retention = 1h});
  NewExecution item = keyed("a");
  item.delay = 24h * 400;
  (void)admit_id(item);
  advance(24h * 300);

  EXPECT_EQ(sweep(true), SweepReport{});

  EXPECT_EQ(holder(item), item.id);
  EXPECT_EQ(admit(keyed("a")).verdict, deduplicated);
}

TEST_F(IdentityConformance, ADrainingQueueStillAnswersForAHeldIdentity) {
  const Uuid first = admit_id(keyed("a"));
  store().configure_queue({}, {.draining = true});

  const Admission held = admit(keyed("a"));
  const NewExecution fresh = keyed("b");

  EXPECT_EQ(held.verdict, deduplicated);
  EXPECT_EQ(held.id, first);
  EXPECT_EQ(admit(fresh).verdict, queue_draining);
  EXPECT_FALSE(store().get(fresh.id));
  EXPECT_FALSE(holder(fresh));
}

}  // namespace

}  // namespace hapax::conformance
