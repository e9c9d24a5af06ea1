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

}  // namespace
}  // namespace hapax::model
