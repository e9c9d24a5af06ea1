// Attempts: each is recorded in order, with its worker, times and error.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class AttemptsConformance : public Conformance {
 protected:
  TestWorker labelled(const std::string& label, Duration lease = 1h) {
    TestWorker made{.session = base::new_uuid7(), .queues = {{}}, .lease = lease};
    NewSession session;
    session.id = made.session;
    session.worker = label;
    session.lease = lease;
    store().open_session(session);
    return made;
  }

  // "1 failed anna" for each attempt, in order.
  std::string story(const Uuid& id) {
    std::string told;
    for (const Attempt& attempt : store().attempts(id)) {
      told +=
          (told.empty() ? "" : ", ") + std::to_string(attempt.number) + " " + attempt.outcome + " " + attempt.worker;
    }
    return told;
  }
};

TEST_F(AttemptsConformance, APendingExecutionHasNone) {
  EXPECT_TRUE(store().attempts(admit_id(request())).empty());
  EXPECT_TRUE(store().attempts(base::new_uuid7()).empty());
}

TEST_F(AttemptsConformance, ALongLifeIsToldInOrder) {
  const Uuid id = admit_id(request());
  TestWorker anna = labelled("anna");
  TestWorker bert = labelled("bert");
  TestWorker carl = labelled("carl", 1min);
  Finish retry = ending(claim_one(anna), FinishKind::retry);
  retry.error = ErrorInfo{.type = "Timeout", .message = "no answer", .detail = "tried twice"};
  retry.ran_for = 3s;
  EXPECT_EQ(finish(retry), FinishVerdict::accepted);
  EXPECT_EQ(finish(ending(claim_one(bert), FinishKind::snoozed)), FinishVerdict::accepted);
  claim_one(carl);
  EXPECT_EQ(story(id), "1 failed anna, 2 snoozed bert, 2 running carl");
  advance(2min);
  EXPECT_EQ(sweep().requeued, 1);
  EXPECT_EQ(story(id), "1 failed anna, 2 snoozed bert, 2 lost carl");
  const Claim last = claim_one(anna);
  EXPECT_EQ(last.attempt, 3);
  EXPECT_EQ(finish(completed(last)), FinishVerdict::accepted);
  EXPECT_EQ(story(id), "1 failed anna, 2 snoozed bert, 2 lost carl, 3 completed anna");
}

TEST_F(AttemptsConformance, AFailedOneKeepsItsErrorAndItsTimes) {
  const Uuid id = admit_id(request());
  TestWorker anna = labelled("anna");
  Finish retry = ending(claim_one(anna), FinishKind::retry, 1min);
  retry.error = ErrorInfo{.type = "Timeout", .message = "no answer", .detail = "tried twice"};
  retry.ran_for = 3s;
  EXPECT_EQ(finish(retry), FinishVerdict::accepted);
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].error, retry.error);
  ASSERT_TRUE(attempts[0].started_at.has_value() && attempts[0].ended_at.has_value());
  EXPECT_EQ(*attempts[0].ended_at - *attempts[0].started_at, 3s);
  EXPECT_EQ(get(id).run_at, *attempts[0].ended_at + 1min);
}

TEST_F(AttemptsConformance, TheRunningOneHasStartedAndNotEnded) {
  const Uuid id = admit_id(request());
  TestWorker anna = labelled("anna");
  const Claim claim = claim_one(anna);
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].started_at, claim.claimed_at);
  EXPECT_EQ(attempts[0].ended_at, std::nullopt);
  EXPECT_EQ(attempts[0].error, std::nullopt);
}

TEST_F(AttemptsConformance, TheLastOneIsToldByTheOutcome) {
  TestWorker anna = labelled("anna");
  const std::vector<std::pair<FinishKind, std::string>> endings = {{FinishKind::completed, "1 completed anna"},
                                                                   {FinishKind::failed, "1 failed anna"},
                                                                   {FinishKind::cancelled, "1 cancelled anna"},
                                                                   {FinishKind::timed_out, "1 timed_out anna"}};
  for (const auto& [kind, told] : endings) {
    const Uuid id = admit_id(request());
    EXPECT_EQ(finish(ending(claim_one(anna), kind)), FinishVerdict::accepted);
    EXPECT_EQ(story(id), told);
  }
}

TEST_F(AttemptsConformance, TheOutcomesErrorIsTheLastAttempts) {
  const Uuid id = admit_id(request());
  TestWorker anna = labelled("anna");
  Finish end = failed(claim_one(anna), "out of paper");
  end.ran_for = 2s;
  EXPECT_EQ(finish(end), FinishVerdict::accepted);
  const std::vector<Attempt> attempts = store().attempts(id);
  ASSERT_EQ(attempts.size(), 1U);
  EXPECT_EQ(attempts[0].error, end.error);
  EXPECT_EQ(attempts[0].ended_at, get(id).finished_at);
  EXPECT_EQ(*attempts[0].ended_at - *attempts[0].started_at, 2s);
}

TEST_F(AttemptsConformance, AReleasedOneLeavesNoTrace) {
  const Uuid id = admit_id(request());
  TestWorker anna = labelled("anna");
  EXPECT_EQ(finish(ending(claim_one(anna), FinishKind::released)), FinishVerdict::accepted);
  EXPECT_EQ(story(id), "");
  EXPECT_EQ(finish(completed(claim_one(anna))), FinishVerdict::accepted);
  EXPECT_EQ(story(id), "1 completed anna");
}

TEST_F(AttemptsConformance, TheLossThatEndsAnExecutionIsARowToo) {
  NewExecution item = request();
  item.max_lost = 2;
  const Uuid id = admit_id(item);
  for (const char* name : {"anna", "bert"}) {
    TestWorker one = labelled(name, 1min);
    claim_one(one);
    advance(2min);
    sweep();
  }
  EXPECT_EQ(status(id), Status::failed);
  EXPECT_EQ(story(id), "1 lost anna, 2 lost bert");
}

TEST_F(AttemptsConformance, WhatEndedWhilePendingHasNoAttemptOfItsOwn) {
  const Uuid never_ran = admit_id(request());
  const Uuid ran_once = admit_id(request());
  TestWorker anna = labelled("anna");
  for (const Claim& claim : claim(anna)) {
    finish(ending(claim, claim.id == never_ran ? FinishKind::released : FinishKind::retry, 1h));
  }
  bring_to(never_ran, Status::cancelled);
  bring_to(ran_once, Status::cancelled);
  EXPECT_EQ(story(never_ran), "");
  EXPECT_EQ(story(ran_once), "1 failed anna");
}

TEST_F(AttemptsConformance, ANewRunStartsItsOwnStory) {
  const Uuid id = admit_id(request());
  TestWorker anna = labelled("anna");
  EXPECT_EQ(finish(failed(claim_one(anna))), FinishVerdict::accepted);
  const RetryRequest again{.id = id, .new_id = base::new_uuid7()};
  EXPECT_EQ(store().retry({&again, 1}).at(0).verdict, RetryVerdict::created);
  EXPECT_EQ(story(again.new_id), "");
  EXPECT_EQ(story(id), "1 failed anna");
}

}  // namespace

}  // namespace hapax::conformance
