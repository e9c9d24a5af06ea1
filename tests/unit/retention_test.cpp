#include "model/retention.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

using namespace std::chrono_literals;
using std::chrono::days;

TEST(Retention, DefaultsAreOfTheKind) {
  EXPECT_EQ(kept({}, Kind::task, Status::completed), (Kept{.period = days(7)}));
  EXPECT_EQ(kept({}, Kind::workflow, Status::completed), (Kept{.period = days(30)}));
  EXPECT_EQ(kept({}, Kind::workflow, Status::failed), (Kept{.period = days(30)}));
}

TEST(Retention, FailedOnesMayHaveTheirOwn) {
  const QueueSettings settings{.retention = 2h, .failed_retention = days(90)};
  EXPECT_EQ(kept(settings, Kind::task, Status::completed), (Kept{.period = 2h}));
  for (const Status status : {Status::failed, Status::cancelled, Status::timed_out}) {
    EXPECT_EQ(kept(settings, Kind::task, status), (Kept{.period = days(90)}));
  }
  EXPECT_EQ(kept({.retention = 2h}, Kind::task, Status::failed), (Kept{.period = 2h}));
}

TEST(Retention, NothingLeavesAStubAndFailuresToBeSeen) {
  EXPECT_EQ(kept({.retention = 0s}, Kind::workflow, Status::completed), (Kept{.period = 10min, .stub = true}));
  EXPECT_EQ(kept({.retention = 0s}, Kind::task, Status::failed), (Kept{.period = days(7)}));
  EXPECT_EQ(kept({.retention = 0s, .failed_retention = 0s}, Kind::task, Status::failed), (Kept{.period = 10min}));
}

TEST(Retention, AGuardsFinishOutranksItsQueue) {
  const Time now = Time(1000s);
  const QueueSettings nothing{.retention = 0s};
  const Expiry an_hour = expiry(nothing, Kind::guard, Status::completed, Keep{.period = 1h}, now);
  EXPECT_EQ(an_hour.at, now + 1h);
  EXPECT_FALSE(an_hour.stub);
  EXPECT_EQ(expiry(nothing, Kind::guard, Status::completed, Keep{}, now).at, end_of_time);
  EXPECT_EQ(expiry({}, Kind::guard, Status::completed, Keep{.period = Duration::max()}, now).at, end_of_time);
  EXPECT_TRUE(expiry({}, Kind::guard, Status::failed, Keep{.period = 1h, .holds_identity = false}, now).stub);
  EXPECT_TRUE(expiry(nothing, Kind::task, Status::completed, std::nullopt, now).stub);
  EXPECT_EQ(expiry({}, Kind::task, Status::completed, std::nullopt, now).at, now + days(7));
}

TEST(Retention, AGuardIsNoDeadLetter) {
  EXPECT_TRUE(is_dead_letter(Kind::task, Status::failed));
  EXPECT_TRUE(is_dead_letter(Kind::workflow, Status::failed));
  EXPECT_FALSE(is_dead_letter(Kind::guard, Status::failed));
  EXPECT_FALSE(is_dead_letter(Kind::task, Status::cancelled));
}

}  // namespace
}  // namespace hapax::model
