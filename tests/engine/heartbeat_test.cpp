// The heartbeat, one step at a time.
#include "engine/heartbeat.hpp"

#include "engine/world.hpp"

#include <gtest/gtest.h>

namespace hapax::engine {
namespace {

using namespace std::chrono_literals;

class HeartbeatTest : public ::testing::Test {
 protected:
  void SetUp() override {
    heartbeat.open();
    (void)heartbeat.step(world.now());
  }

  static model::NewSession description() {
    model::NewSession session;
    session.worker = "test";
    session.lease = 30s;
    session.queues = {model::QueueRef{}};
    return session;
  }

  // A run that this session holds.
  RunPtr claim() {
    world.admit(new_execution());
    const auto ticket = session.begin_claim();
    model::ClaimRequest request;
    request.session = ticket->session;
    request.claim_number = ticket->number;
    request.queues = {model::QueueRef{}};
    auto reply = world.store.claim(request);
    EXPECT_EQ(reply.claims.size(), 1U);
    RunPtr run = std::make_shared<engine::Run>(std::move(reply.claims.front()));
    (void)run->start(world.now());
    EXPECT_TRUE(session.settle(*ticket, std::span<const RunPtr>(&run, 1)));
    return run;
  }

  void step_after(Duration by) {
    world.advance(by);
    (void)heartbeat.step(world.now());
  }

  World world;
  Session session;
  std::vector<RunPtr> lost;
  int opened = 0;
  Heartbeat heartbeat{world.store,
                      session,
                      {.description = description(),
                       .interval = 10s,
                       .on_lost = [this](const std::vector<RunPtr>& runs) { lost = runs; },
                       .on_opened = [this] { ++opened; },
                       .on_trouble = [](std::string_view) {}}};
};

TEST_F(HeartbeatTest, KeepsTheSessionAliveFarBeyondItsLease) {
  const RunPtr run = claim();
  for (int i = 0; i < 20; ++i) {
    step_after(10s);
    (void)world.store.sweep({.limit = 100});
  }
  EXPECT_EQ(world.get(run->claim().id).status, Status::running);
  EXPECT_FALSE(run->should_stop());
}

TEST_F(HeartbeatTest, ALostSessionGivesUpItsRunsAndOpensAnother) {
  const RunPtr run = claim();
  const Uuid before = session.id();
  world.advance(31s);
  (void)world.store.sweep({.limit = 100});
  (void)heartbeat.step(world.now());
  EXPECT_EQ(run->stop_reason(), StopReason::lease_lost);
  ASSERT_EQ(lost.size(), 1U);
  EXPECT_EQ(session.held(), 0);
  EXPECT_EQ(opened, 1);
  EXPECT_NE(session.id(), before);
  EXPECT_TRUE(session.is_open());
  EXPECT_EQ(heartbeat.sessions_lost(), 1);
}

TEST_F(HeartbeatTest, ACancellationReachesTheRunWithinASecond) {
  const RunPtr run = claim();
  const Uuid id = run->claim().id;
  (void)world.store.cancel(std::span<const Uuid>(&id, 1), "enough");
  step_after(1s);
  EXPECT_EQ(run->stop_reason(), StopReason::cancel_requested);
}

TEST_F(HeartbeatTest, ProgressIsToldWithinASecondAndNotAtEveryStep) {
  const RunPtr run = claim();
  step_after(2s);
  run->progress(0.4, "page 4 of 10");
  step_after(1s);
  EXPECT_EQ(world.get(run->claim().id).progress, 0.4);
  EXPECT_EQ(world.get(run->claim().id).progress_message, "page 4 of 10");
}

TEST_F(HeartbeatTest, AStoreThatIsAwayIsAskedAgainWellWithinTheLease) {
  const RunPtr run = claim();
  world.store.away = true;
  step_after(10s);
  const Time next = heartbeat.step(world.now());
  EXPECT_LE(next - world.now(), 1s);
  world.store.away = false;
  step_after(next - world.now());
  world.advance(25s);
  (void)world.store.sweep({.limit = 100});
  EXPECT_EQ(world.get(run->claim().id).status, Status::running) << "the lease was renewed when the store came back";
}

TEST_F(HeartbeatTest, AnExecutionTakenAwayIsGivenUpAlone) {
  const RunPtr mine = claim();
  const RunPtr taken = claim();
  // An operator's tool has finished the execution under the current fence, as a repeated message would.
  const model::Finish finish{.id = taken->claim().id, .fence = taken->claim().fence};
  (void)world.store.inner().finish(std::span<const model::Finish>(&finish, 1));
  step_after(10s);
  EXPECT_EQ(taken->stop_reason(), StopReason::lease_lost);
  EXPECT_FALSE(mine->should_stop());
  EXPECT_EQ(session.held(), 1);
}

}  // namespace
}  // namespace hapax::engine
