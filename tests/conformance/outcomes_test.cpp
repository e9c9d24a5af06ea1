// Outcomes: what a caller that waits for executions reads.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class OutcomesConformance : public Conformance {
 protected:
  std::optional<Outcome> outcome(const Uuid& id) { return store().outcomes({&id, 1}).at(0); }
};

TEST_F(OutcomesConformance, NothingAskedNothingTold) { EXPECT_TRUE(store().outcomes({}).empty()); }

TEST_F(OutcomesConformance, OneEntryPerIdInOrder) {
  const Uuid pending = admit_id(request("work", "a"));
  const Uuid running = admit_id(request("work", "b"));
  bring_to(running, Status::running);
  const Uuid done = admit_id(request("work", "c"));
  bring_to(done, Status::completed);
  const std::vector<Uuid> ids = {done, base::new_uuid7(), pending, running};
  const std::vector<std::optional<Outcome>> told = store().outcomes(ids);
  ASSERT_EQ(told.size(), 4U);
  ASSERT_TRUE(told[0] && told[2] && told[3]);
  EXPECT_EQ(told[0]->id, done);
  EXPECT_EQ(told[0]->status, Status::completed);
  EXPECT_FALSE(told[1]);
  EXPECT_EQ(told[2]->id, pending);
  EXPECT_EQ(told[2]->status, Status::pending);
  EXPECT_EQ(told[3]->id, running);
  EXPECT_EQ(told[3]->status, Status::running);
}

TEST_F(OutcomesConformance, WhatHasPassedItsDeadlineIsOverdueUntilItIsSwept) {
  NewExecution item = request();
  item.deadline = 1min;
  const Uuid waiting = admit_id(item);
  const Uuid without = admit_id(request());
  EXPECT_FALSE(outcome(waiting)->overdue);
  advance(1min);
  EXPECT_TRUE(outcome(waiting)->overdue);
  EXPECT_FALSE(outcome(without)->overdue);
  EXPECT_EQ(outcome(waiting)->status, Status::pending);
  (void)store().sweep({.limit = 10, .retention = false});
  EXPECT_EQ(outcome(waiting)->status, Status::timed_out);
  EXPECT_FALSE(outcome(waiting)->overdue);
}

TEST_F(OutcomesConformance, ACompletedOneHasItsResult) {
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  EXPECT_EQ(finish(completed(claim_one(one), R"({"sum":42})")), FinishVerdict::accepted);
  ASSERT_TRUE(outcome(id));
  EXPECT_EQ(outcome(id)->result, R"({"sum":42})");
  EXPECT_EQ(outcome(id)->error, std::nullopt);
}

TEST_F(OutcomesConformance, AFailedOneHasItsError) {
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  const Finish end = failed(claim_one(one), "out of paper");
  EXPECT_EQ(finish(end), FinishVerdict::accepted);
  ASSERT_TRUE(outcome(id));
  EXPECT_EQ(outcome(id)->status, Status::failed);
  EXPECT_EQ(outcome(id)->error, end.error);
  EXPECT_EQ(outcome(id)->result, std::nullopt);
}

TEST_F(OutcomesConformance, ACancelledOneHasTheReason) {
  const Uuid id = admit_id(request());
  EXPECT_EQ(store().cancel({&id, 1}, "ordered twice").at(0).verdict, CancelVerdict::cancelled);
  ASSERT_TRUE(outcome(id) && outcome(id)->error);
  EXPECT_EQ(outcome(id)->error->message, "ordered twice");
}

TEST_F(OutcomesConformance, AFailedAttemptThatGoesOnIsNotAnOutcome) {
  const Uuid id = admit_id(request());
  TestWorker one = worker();
  Finish retry = ending(claim_one(one), FinishKind::retry, 1min);
  retry.error = ErrorInfo{.type = "Timeout", .message = "no answer", .detail = ""};
  EXPECT_EQ(finish(retry), FinishVerdict::accepted);
  ASSERT_TRUE(outcome(id));
  EXPECT_EQ(outcome(id)->status, Status::pending);
  EXPECT_EQ(outcome(id)->error, std::nullopt);
}

TEST_F(OutcomesConformance, ManyAtOnce) {
  std::vector<NewExecution> items;
  std::vector<Uuid> ids;
  for (int i = 0; i < 1500; ++i) {
    items.push_back(request());
    ids.push_back(items.back().id);
  }
  EXPECT_EQ(store().admit(items).size(), items.size());
  const std::vector<std::optional<Outcome>> told = store().outcomes(ids);
  ASSERT_EQ(told.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    ASSERT_TRUE(told[i]);
    EXPECT_EQ(told[i]->id, ids[i]);
  }
}

}  // namespace

}  // namespace hapax::conformance
