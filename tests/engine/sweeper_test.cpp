#include "engine/sweeper.hpp"

#include "base/random.hpp"
#include "engine/world.hpp"

#include <gtest/gtest.h>

namespace hapax::engine {
namespace {

using namespace std::chrono_literals;

struct SweeperTest : ::testing::Test {
  World world;
  base::SeededRandom random{7};
  std::vector<model::SweepReport> reports;
  Sweeper sweeper{world.store, random, {.on_swept = [this](const auto& report) { reports.push_back(report); }}};
};

TEST_F(SweeperTest, SweepsAboutTwiceASecondAndNotInStep) {
  Time next = sweeper.step(world.now());
  bool varied = false;
  Duration first = next - world.now();
  for (int i = 0; i < 20; ++i) {
    const Duration wait = next - world.now();
    EXPECT_GE(wait, 400ms);
    EXPECT_LE(wait, 600ms);
    varied = varied || wait != first;
    world.advance(wait);
    next = sweeper.step(world.now());
  }
  EXPECT_TRUE(varied);
}

TEST_F(SweeperTest, ACrashedWorkersExecutionIsReadyWithinLeaseAndASecond) {
  const Uuid id = world.admit(new_execution());
  model::ClaimRequest request;
  request.session = world.open_session(10s);
  request.claim_number = 1;
  request.queues = {model::QueueRef{}};
  ASSERT_EQ(world.store.claim(request).claims.size(), 1U);
  const Time crash = world.now();
  while (world.get(id).status == Status::running && world.now() - crash < 60s) {
    const Time next = sweeper.step(world.now());
    world.advance(next - world.now());
  }
  EXPECT_EQ(world.get(id).status, Status::pending);
  EXPECT_LE(world.now() - crash, 11s + 600ms);
}

TEST_F(SweeperTest, DeletesWhatHasExpiredAboutHourly) {
  const Uuid id = world.admit(new_execution());
  (void)world.store.cancel(std::span<const Uuid>(&id, 1), "no");
  (void)sweeper.step(world.now());
  world.advance(8 * 24h);
  (void)sweeper.step(world.now());
  EXPECT_FALSE(world.store.get(id).has_value());
}

TEST_F(SweeperTest, AShorterIntervalCountsWithinSeconds) {
  Duration interval = 1h;
  bool away = false;
  int looked = 0;
  std::int64_t deleted = 0;
  Sweeper follows{world.store,
                  random,
                  {.current_retention_interval =
                       [&] {
                         ++looked;
                         if (away) { throw StoreUnavailable("away"); }
                         return interval;
                       },
                   .on_swept = [&](const model::SweepReport& report) { deleted += report.expired; }}};
  const auto go_on = [&](Duration most) {
    const Time since = world.now();
    while (deleted == 0 && world.now() - since < most) { world.advance(follows.step(world.now()) - world.now()); }
    return world.now() - since;
  };
  (void)go_on(2min);  // includes the first clean-up, which comes soon after the start
  world.store.configure_queue({}, {.retention = 1s, .failed_retention = 1s});
  const Uuid id = world.admit(new_execution());
  (void)world.store.cancel(std::span<const Uuid>(&id, 1), "no");
  looked = 0;
  (void)go_on(10s);
  EXPECT_EQ(deleted, 0);
  EXPECT_GE(looked, 3);
  EXPECT_LE(looked, 7) << "not with each sweep";
  away = true;
  interval = 3s;
  (void)go_on(10s);
  EXPECT_EQ(deleted, 0) << "the interval is as it was";
  away = false;
  EXPECT_LE(go_on(1min), 8s);
  EXPECT_EQ(deleted, 1);
}

TEST_F(SweeperTest, AStoreThatIsAwayIsLeftAloneForAWhile) {
  world.store.away = true;
  const Time next = sweeper.step(world.now());
  EXPECT_GE(next - world.now(), 500ms);
}

TEST_F(SweeperTest, ASweepThatFailsIsTold) {
  std::vector<std::string> errors;
  Sweeper tells{world.store, random, {.on_failed = [&](std::string_view error) { errors.emplace_back(error); }}};
  (void)tells.step(world.now());
  EXPECT_TRUE(errors.empty());
  world.store.away = true;
  (void)tells.step(world.now());
  ASSERT_EQ(errors.size(), 1U);
  EXPECT_NE(errors.front(), "");
}

}  // namespace
}  // namespace hapax::engine
