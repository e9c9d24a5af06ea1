// Progress: the last report of a running attempt, sent with its session's beat.
#include "conformance/fixture.hpp"

namespace hapax::conformance {

namespace {

class ProgressConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    worker_ = worker(1h);
    admit_id(request());
    claim_ = claim_one(worker_);
  }

  BeatReply tell(double fraction, const std::string& message) { return tell(claim_.fence, fraction, message); }

  BeatReply tell(std::int64_t fence, double fraction, const std::string& message) {
    return store().beat({.session = worker_.session,
                         .settled_claim_number = worker_.claim_number,
                         .held = {{.id = claim_.id, .fence = claim_.fence}},
                         .progress = {{.id = claim_.id, .fence = fence, .fraction = fraction, .message = message}}});
  }

  TestWorker worker_;
  Claim claim_;
};

TEST_F(ProgressConformance, ARunningExecutionStartsWithNone) {
  EXPECT_EQ(get(claim_.id).progress, std::nullopt);
  EXPECT_EQ(get(claim_.id).progress_message, "");
}

TEST_F(ProgressConformance, TheLatestIsTold) {
  tell(0.25, "page 1 of 4");
  tell(0.5, "page 2 of 4");
  const Execution running = get(claim_.id);
  ASSERT_TRUE(running.progress.has_value());
  EXPECT_DOUBLE_EQ(*running.progress, 0.5);
  EXPECT_EQ(running.progress_message, "page 2 of 4");
}

TEST_F(ProgressConformance, AnotherFencesIsIgnored) {
  tell(0.25, "mine");
  const BeatReply reply = tell(claim_.fence + 1, 0.75, "not mine");
  EXPECT_TRUE(reply.lost.empty());
  EXPECT_EQ(get(claim_.id).progress_message, "mine");
}

TEST_F(ProgressConformance, AnotherSessionsIsIgnored) {
  tell(0.25, "mine");
  const TestWorker other = worker();
  const BeatReply reply = store().beat(
      {.session = other.session,
       .progress = {{.id = claim_.id, .fence = claim_.fence, .fraction = 0.9, .message = "a stranger's"}}});
  EXPECT_FALSE(reply.session_lost);
  EXPECT_EQ(get(claim_.id).progress_message, "mine");
}

TEST_F(ProgressConformance, ItIsGoneWithItsAttempt) {
  tell(0.5, "half");
  EXPECT_EQ(finish(ending(claim_, FinishKind::retry)), FinishVerdict::accepted);
  EXPECT_EQ(get(claim_.id).progress, std::nullopt);
  EXPECT_EQ(get(claim_.id).progress_message, "");
  claim_ = claim_one(worker_);
  EXPECT_EQ(get(claim_.id).progress, std::nullopt);
  tell(0.75, "again");
  EXPECT_EQ(finish(completed(claim_)), FinishVerdict::accepted);
  EXPECT_EQ(get(claim_.id).progress, std::nullopt);
}

TEST_F(ProgressConformance, ItIsGoneWithALostSession) {
  tell(0.5, "half");
  advance(2h);
  EXPECT_EQ(sweep().requeued, 1);
  EXPECT_EQ(get(claim_.id).progress, std::nullopt);
}

TEST_F(ProgressConformance, AnyTextAndAnyLengthCanBeTold) {
  tell(1.0, std::string("a\0b\xff", 4) + std::string(5000, 'x'));
  const Execution running = get(claim_.id);
  EXPECT_TRUE(running.progress_message.starts_with(R"(a\x00b\xffxxx)")) << running.progress_message;
  EXPECT_LE(running.progress_message.size(), 500U);
}

}  // namespace

}  // namespace hapax::conformance
