// Born running: an execution that is admitted and claimed in one step, for a caller that has its own session.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class BornRunningConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    worker_ = worker(1h);
  }

  NewExecution born(NewExecution item = request()) {
    worker_.claim_number += 1;
    item.born_running = BornRunning{.session = worker_.session, .claim_number = worker_.claim_number};
    return item;
  }

  // The admission has all that its caller needs to finish the execution.
  static Claim claim_of(const Admission& admission) {
    Claim claim;
    claim.id = admission.id;
    claim.fence = admission.fence.value_or(0);
    return claim;
  }

  void expect_pending(const Admission& admission) {
    EXPECT_TRUE(admission.created());
    EXPECT_EQ(admission.status, Status::pending);
    EXPECT_EQ(admission.fence, std::nullopt);
    EXPECT_EQ(status(admission.id), Status::pending);
  }

  TestWorker worker_;
};

TEST_F(BornRunningConformance, AnEmptyQueueGrantsItTheFirstAttemptAndFence) {
  const Admission admission = admit(born());
  EXPECT_TRUE(admission.created());
  EXPECT_EQ(admission.status, Status::running);
  EXPECT_EQ(admission.fence, 1);
  const Execution running = get(admission.id);
  EXPECT_EQ(running.status, Status::running);
  EXPECT_EQ(running.attempt, 1);
  EXPECT_EQ(running.fence, 1);
  EXPECT_EQ(running.session, worker_.session);
  EXPECT_EQ(running.started_at, running.created_at);
  EXPECT_TRUE(claim(worker_).empty()) << "nobody else gets it";
}

TEST_F(BornRunningConformance, ItsFinishIsAccepted) {
  const Admission admission = admit(born());
  EXPECT_EQ(finish(completed(claim_of(admission), "7")), FinishVerdict::accepted);
  EXPECT_EQ(status(admission.id), Status::completed);
  EXPECT_EQ(get(admission.id).result, "7");
}

TEST_F(BornRunningConformance, SeveralMayRunAtOnce) {
  const std::vector<NewExecution> items = {born(), born()};
  const std::vector<Admission> admissions = store().admit(items);
  EXPECT_EQ(admissions.at(0).fence, 1);
  EXPECT_EQ(admissions.at(1).fence, 1) << "the first one runs, so it is not in the way";
}

TEST_F(BornRunningConformance, OneThatWaitsInTheSameBatchIsInTheWayOfTheNext) {
  const std::vector<NewExecution> items = {born(), request(), born()};
  const std::vector<Admission> admissions = store().admit(items);
  EXPECT_EQ(admissions.at(0).fence, 1);
  expect_pending(admissions.at(1));
  expect_pending(admissions.at(2));
}

// The batch's first item has made the store look for due work in another queue; this item's own queue counts.
TEST_F(BornRunningConformance, OneOfAnotherQueueIsGrantedByItsOwnQueue) {
  NewExecution busy = request();
  busy.queue.name = "busy";
  const Uuid waiting = admit_id(busy);
  NewExecution late = request();
  late.queue.name = "busy";
  const std::vector<NewExecution> items = {born(), born(late), born()};
  const std::vector<Admission> admissions = store().admit(items);
  EXPECT_EQ(admissions.at(0).fence, 1);
  expect_pending(admissions.at(1));
  EXPECT_EQ(admissions.at(2).fence, 1);
  EXPECT_EQ(status(waiting), Status::pending);
}

TEST_F(BornRunningConformance, APausedQueueDoesNotGrantIt) {
  store().configure_queue({}, {.paused = true});
  expect_pending(admit(born()));
}

TEST_F(BornRunningConformance, WhatIsDueComesFirst) {
  const Uuid waiting = admit_id(request());
  const Admission admission = admit(born());
  expect_pending(admission);
  const std::vector<Claim> claims = claim(worker_);
  ASSERT_EQ(claims.size(), 2U);
  EXPECT_EQ(claims[0].id, waiting);
  EXPECT_EQ(claims[1].id, admission.id);
}

TEST_F(BornRunningConformance, WhatIsDelayedIsNotInTheWayUntilItIsDue) {
  NewExecution later = request();
  later.delay = 1min;
  admit_id(later);
  EXPECT_EQ(admit(born()).fence, 1);
  advance(2min);
  expect_pending(admit(born()));
}

TEST_F(BornRunningConformance, WhatWasLostBeforeAndIsDueComesFirstToo) {
  admit_id(request());
  TestWorker mortal = worker(1min);
  claim_one(mortal);
  advance(2min);
  EXPECT_EQ(sweep().requeued, 1);
  expect_pending(admit(born()));
}

TEST_F(BornRunningConformance, OtherQueuesDoNotMatter) {
  admit_id(request("work", "other"));
  store().configure_queue({.name = "other"}, {.paused = true});
  EXPECT_EQ(admit(born()).fence, 1);
}

TEST_F(BornRunningConformance, AnUnknownSessionIsNotGrantedAnything) {
  NewExecution item = request();
  item.born_running = BornRunning{.session = base::new_uuid7(), .claim_number = 1};
  expect_pending(admit(item));
}

TEST_F(BornRunningConformance, ADelayedRequestWaitsLikeAnyOther) {
  NewExecution item = born();
  item.delay = 1min;
  expect_pending(admit(item));
}

TEST_F(BornRunningConformance, ADuplicateIsAnsweredAsAlways) {
  const Admission first = admit(born(keyed("order-1")));
  EXPECT_EQ(first.fence, 1);
  const Admission again = admit(born(keyed("order-1")));
  EXPECT_EQ(again.verdict, AdmissionVerdict::deduplicated);
  EXPECT_EQ(again.id, first.id);
  EXPECT_EQ(again.status, Status::running);
  EXPECT_EQ(again.fence, std::nullopt);
}

TEST_F(BornRunningConformance, ItIsLostLikeAnyOther) {
  const Admission admission = admit(born());
  advance(2h);
  const SweepReport report = sweep();
  EXPECT_EQ(report.lost_sessions, 1);
  EXPECT_EQ(report.requeued, 1);
  EXPECT_EQ(status(admission.id), Status::pending);
  EXPECT_EQ(get(admission.id).lost, 1);
  EXPECT_EQ(finish(completed(claim_of(admission))), FinishVerdict::stale);
  TestWorker next = worker();
  EXPECT_EQ(claim_one(next).fence, 2);
}

TEST_F(BornRunningConformance, ABeatThatDoesNotKnowItReleasesIt) {
  const Admission admission = admit(born());
  const BeatReply known = beat(worker_, {claim_of(admission)});
  EXPECT_EQ(known.released, 0);
  EXPECT_EQ(beat(worker_, {}).released, 1);
  EXPECT_EQ(status(admission.id), Status::pending);
  EXPECT_EQ(get(admission.id).attempt, 0);
}

}  // namespace

}  // namespace hapax::conformance
