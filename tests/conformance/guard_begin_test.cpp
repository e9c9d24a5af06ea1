// Guards: how a call begins, what a second caller gets, and how long a record answers.
#include "conformance/guard_fixture.hpp"

#include "model/retention.hpp"

namespace hapax::conformance {

class GuardBeginConformance : public GuardConformance {};

TEST_F(GuardBeginConformance, TheFirstCallerRunsItUnderTheFirstFence) {
  Caller first = caller("host:1");
  const Admission admission = begin(first, "k");
  EXPECT_TRUE(admission.created());
  EXPECT_EQ(admission.fence, 1);
  const std::optional<Guard> guard = store().guard(identity("k"));
  ASSERT_TRUE(guard.has_value());
  EXPECT_EQ(guard->id, admission.id);
  EXPECT_EQ(guard->status, Status::running);
  EXPECT_EQ(guard->task, "charge");
  EXPECT_EQ(guard->key, "k");
  EXPECT_EQ(guard->fence, 1);
  EXPECT_EQ(guard->takeover_after, Duration(30s));
  EXPECT_EQ(guard->worker, "host:1");
  EXPECT_FALSE(guard->abandoned);
  EXPECT_FALSE(guard->expires_at.has_value());
  EXPECT_GE(guard->heartbeat, guard->started_at);
}

TEST_F(GuardBeginConformance, ASecondCallerMeetsWhatRuns) {
  Caller first = caller(), second = caller();
  const Admission admission = begin(first, "k");
  const Admission met = admit(call(second, "k"));
  EXPECT_EQ(met.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(met.id, admission.id);
  EXPECT_EQ(met.status, Status::running);
  EXPECT_FALSE(met.fence.has_value());
}

TEST_F(GuardBeginConformance, TwoOfOneBatchAreOneCall) {
  Caller first = caller();
  const std::vector<NewExecution> items{call(first, "k"), call(first, "other"), call(first, "k")};
  const std::vector<Admission> admissions = store().admit(items);
  EXPECT_TRUE(admissions[0].created());
  EXPECT_TRUE(admissions[1].created());
  EXPECT_EQ(admissions[2].verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(admissions[2].id, admissions[0].id);
}

TEST_F(GuardBeginConformance, GuardsAndTasksOfOneBatchAreBothAdmitted) {
  Caller first = caller();
  const std::vector<NewExecution> items{keyed("task-key"), call(first, "k"), request()};
  const std::vector<Admission> admissions = store().admit(items);
  EXPECT_EQ(admissions[0].status, Status::pending);
  EXPECT_EQ(admissions[1].status, Status::running);
  EXPECT_EQ(admissions[1].fence, 1);
  EXPECT_EQ(admissions[2].status, Status::pending);
}

// The guard queue holds nothing else; but an execution in it, or a paused queue, must not delay guarded calls.
TEST_F(GuardBeginConformance, NeitherAPauseNorWhatIsDueIsInItsWay) {
  admit_id(request("work", std::string(guard_queue)));
  store().configure_queue({"default", std::string(guard_queue)}, {.paused = true, .concurrency = 1});
  Caller first = caller();
  EXPECT_TRUE(begin(first, "a").created());
  EXPECT_TRUE(begin(first, "b").created());
}

TEST_F(GuardBeginConformance, ADrainingQueueTakesNoNewOne) {
  Caller first = caller(), second = caller();
  const Admission admission = begin(first, "k");
  store().configure_queue({"default", std::string(guard_queue)}, {.draining = true});
  EXPECT_EQ(admit(call(second, "new")).verdict, AdmissionVerdict::queue_draining);
  EXPECT_EQ(admit(call(second, "k")).verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
}

TEST_F(GuardBeginConformance, ACompletedOneAnswersWithItsResult) {
  Caller first = caller(), second = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
  const Admission met = admit(call(second, "k"));
  EXPECT_EQ(met.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(met.status, Status::completed);
  EXPECT_EQ(met.result, "\"paid\"");
  const std::optional<Guard> guard = store().guard(identity("k"));
  ASSERT_TRUE(guard.has_value());
  EXPECT_EQ(guard->status, Status::completed);
  EXPECT_EQ(guard->result, "\"paid\"");
  EXPECT_TRUE(guard->finished_at.has_value());
}

TEST_F(GuardBeginConformance, AFailureThatHoldsItsKeyAnswersWithItself) {
  Caller first = caller(), second = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::failed)), FinishVerdict::accepted);
  const Admission met = admit(call(second, "k"));
  EXPECT_EQ(met.verdict, AdmissionVerdict::already_finished);
  EXPECT_EQ(met.status, Status::failed);
  EXPECT_EQ(met.id, admission.id);
  const std::optional<Guard> guard = store().guard(identity("k"));
  ASSERT_TRUE(guard.has_value() && guard->error.has_value());
  EXPECT_EQ(guard->error->type, "Declined");
  EXPECT_EQ(guard->error->message, "no funds");
}

// `guard_outcome` (what a repeated call reads) returns the same facts as `guard`, which returns the whole record.
TEST_F(GuardBeginConformance, AnOutcomeIsWhatTheWholeRecordSays) {
  Caller first = caller();
  EXPECT_FALSE(store().guard_outcome(identity("k")).has_value());
  const Admission runs = begin(first, "k");
  EXPECT_EQ(store().guard_outcome(identity("k"))->status, Status::running);
  EXPECT_EQ(store().guard_outcome(identity("k"))->worker, store().guard(identity("k"))->worker);
  for (const FinishKind kind : {FinishKind::completed, FinishKind::failed}) {
    const std::string key = kind == FinishKind::completed ? "k" : "failed";
    const Admission admission = kind == FinishKind::completed ? runs : begin(first, key);
    EXPECT_EQ(finish(outcome(admission, kind, {.period = 1h})), FinishVerdict::accepted);
    const std::optional<Guard> whole = store().guard(identity(key));
    const std::optional<Guard> told = store().guard_outcome(identity(key));
    ASSERT_TRUE(whole.has_value() && told.has_value());
    EXPECT_EQ(told->status, whole->status);
    EXPECT_EQ(told->result, whole->result);
    EXPECT_EQ(told->error.has_value(), kind == FinishKind::failed);
    EXPECT_EQ(told->error.value_or(ErrorInfo{}).message, whole->error.value_or(ErrorInfo{}).message);
    EXPECT_EQ(told->started_at, whole->started_at);
    EXPECT_EQ(told->finished_at, whole->finished_at);
    EXPECT_EQ(told->expires_at, whole->expires_at);
    EXPECT_EQ(told->heartbeat, whole->heartbeat);
    EXPECT_EQ(told->fence, whole->fence);
    EXPECT_EQ(told->fingerprint, whole->fingerprint);
  }
  const Admission freed = begin(first, "freed");
  EXPECT_EQ(finish(outcome(freed, FinishKind::failed, {.period = 1h, .holds_identity = false})),
            FinishVerdict::accepted);
  EXPECT_FALSE(store().guard_outcome(identity("freed")).has_value());
  advance(1h);
  EXPECT_FALSE(store().guard_outcome(identity("k")).has_value());
}

TEST_F(GuardBeginConformance, AFailureThatFreesItsKeyIsKeptForPeopleOnly) {
  Caller first = caller();
  const Admission failed = begin(first, "k");
  EXPECT_EQ(finish(outcome(failed, FinishKind::failed, {.period = 1h, .holds_identity = false})),
            FinishVerdict::accepted);
  EXPECT_FALSE(store().guard(identity("k")).has_value());
  EXPECT_EQ(get(failed.id).status, Status::failed);
  EXPECT_EQ(get(failed.id).error->message, "no funds");
  const Admission again = begin(first, "k");
  EXPECT_TRUE(again.created());
  EXPECT_NE(again.id, failed.id);
  EXPECT_EQ(again.fence, 1);
  EXPECT_EQ(finish(outcome(again, FinishKind::completed)), FinishVerdict::accepted);
  EXPECT_EQ(store().guard(identity("k"))->id, again.id);
}

TEST_F(GuardBeginConformance, AnotherFingerprintIsAMismatchWhileItRunsAndAfterwards) {
  Caller first = caller(), second = caller();
  NewExecution item = call(first, "k");
  item.identity->fingerprint = base::sha256("one");
  const Admission admission = admit(item);
  NewExecution other = call(second, "k");
  other.identity->fingerprint = base::sha256("other");
  EXPECT_EQ(admit(other).verdict, AdmissionVerdict::mismatch);
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
  other.id = base::new_uuid7();
  EXPECT_EQ(admit(other).verdict, AdmissionVerdict::mismatch);
  EXPECT_EQ(store().guard(identity("k"))->fingerprint, base::sha256("one"));
}

TEST_F(GuardBeginConformance, ARecordIsAbsentOnceItsTimeIsOverSweptOrNot) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed, {.period = 5min})), FinishVerdict::accepted);
  advance(4min);
  EXPECT_TRUE(store().guard(identity("k")).has_value());
  advance(1min);
  EXPECT_FALSE(store().guard(identity("k")).has_value());
  open(first);
  const Admission again = begin(first, "k");
  EXPECT_TRUE(again.created());
  EXPECT_EQ(again.run, 1);
}

TEST_F(GuardBeginConformance, AFinishThatIsRepeatedAfterThatIsStale) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed, {.period = 1h})), FinishVerdict::accepted);
  advance(59min);
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed, {.period = 1h})), FinishVerdict::accepted);
  advance(1min);
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed, {.period = 1h})), FinishVerdict::stale);
}

TEST_F(GuardBeginConformance, WithoutAPeriodARecordIsKeptForEver) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
  EXPECT_EQ(get(admission.id).expires_at, model::end_of_time);
  advance(std::chrono::days(3650));
  for (int i = 0; i < 3; ++i) { (void)sweep(true); }
  const std::optional<Guard> guard = store().guard(identity("k"));
  ASSERT_TRUE(guard.has_value());
  EXPECT_EQ(guard->result, "\"paid\"");
}

TEST_F(GuardBeginConformance, APeriodOfManyYearsDoesNotOverflow) {
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed, {.period = Duration::max()})), FinishVerdict::accepted);
  EXPECT_EQ(get(admission.id).expires_at, model::end_of_time);
}

TEST_F(GuardBeginConformance, ItsQueuesRetentionSaysNothingWhenTheFinishDoes) {
  store().configure_queue({"default", std::string(guard_queue)}, {.retention = Duration(0s)});
  Caller first = caller();
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed, {.period = 1h})), FinishVerdict::accepted);
  advance(59min);
  EXPECT_EQ(store().guard(identity("k"))->result, "\"paid\"");
}

TEST_F(GuardBeginConformance, WithoutALiveSessionNothingIsAdmitted) {
  Caller first = caller("first", 30s);
  advance(30s);
  const NewExecution item = call(first, "k");
  EXPECT_EQ(admit(item).verdict, AdmissionVerdict::session_gone);
  EXPECT_FALSE(store().guard(identity("k")).has_value());
  (void)sweep();
  EXPECT_EQ(admit(call(first, "k")).verdict, AdmissionVerdict::session_gone);
  open(first);
  EXPECT_TRUE(begin(first, "k").created());
}

TEST_F(GuardBeginConformance, WithoutALiveSessionARecordStillAnswers) {
  Caller first = caller(), late = caller("late", 10s);
  const Admission admission = begin(first, "k");
  EXPECT_EQ(finish(outcome(admission, FinishKind::completed)), FinishVerdict::accepted);
  advance(20s);
  EXPECT_EQ(admit(call(late, "k")).verdict, AdmissionVerdict::deduplicated);
}

}  // namespace hapax::conformance
