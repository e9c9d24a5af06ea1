#include "model/identity.hpp"

#include <gtest/gtest.h>

namespace hapax::model {
namespace {

TEST(ActivityOrigin, ReadsTheNamesOfRuns) {
  const auto tick = parse_run_name("activity-daily-report:2026-03-01T09:00:00+00:00");
  ASSERT_TRUE(tick);
  EXPECT_EQ(tick->activity, "daily-report");
  EXPECT_EQ(tick->run_id, "activity-daily-report:2026-03-01T09:00:00+00:00");
  EXPECT_FALSE(tick->is_instance);
  const auto instance = parse_run_name("task-activity-on-order:evt:7:extract:0");
  ASSERT_TRUE(instance);
  EXPECT_EQ(instance->activity, "on-order");
  EXPECT_EQ(instance->run_id, "activity-on-order:evt:7");
  EXPECT_TRUE(instance->is_instance);
}

TEST(ActivityOrigin, RefusesWhatIsNoName) {
  for (const char* text : {"", "activity-", "activity-:x", "activity-daily", "daily:x", "task-", "task-activity-a",
                           "task-activity-a:x", "task-activity-a:x:y", "task-daily:x:y:0"}) {
    EXPECT_FALSE(parse_run_name(text)) << text;
  }
}

TEST(ActivityOrigin, IsNotTakenFromACallersKeyAlone) {
  Execution execution;
  execution.queue = {.namespace_name = "default", .name = "reports"};
  execution.identity_key = "activity-daily:manual-1";
  execution.identity = base::Digest{};
  EXPECT_FALSE(activity_origin(execution)) << "nobody started it";
  execution.parent = activity_uuid("default", "other");
  EXPECT_FALSE(activity_origin(execution)) << "another activity's uuid";
  execution.parent = activity_uuid("default", "daily");
  ASSERT_TRUE(activity_origin(execution));
  EXPECT_EQ(activity_origin(execution)->activity, "daily");
  execution.queue.namespace_name = "tenant";
  EXPECT_FALSE(activity_origin(execution)) << "another namespace's";
}

}  // namespace
}  // namespace hapax::model
