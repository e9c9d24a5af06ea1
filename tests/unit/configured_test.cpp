#include "app/configuration.hpp"

#include "schedule/activities.hpp"
#include "store/open.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace hapax::schedule {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr std::string_view good = R"([activities.daily]
target = { task = "report", queue = "reports" }
trigger = { type = "cron", cron = "0 9 * * MON-FRI", time_zone = "Europe/Zurich" }
[[activities.daily.tasks]]
task_type = "load"
)";

std::string replaced(std::string_view text, std::string_view old, std::string_view by) {
  std::string out(text);
  return out.replace(out.find(old), old.size(), by);
}

std::vector<std::string> problems(std::string_view text) {
  std::vector<std::string> told;
  for (const config::Problem& problem : app::read_configuration_text(text, "f.toml").problems) {
    told.push_back(problem.text());
  }
  return told;
}

class Configured : public testing::Test {
 protected:
  std::vector<std::string> told(const std::vector<config::Change>& changes) {
    std::vector<std::string> lines;
    for (const config::Change& change : changes) {
      lines.push_back(change.subject + ": " + change.from + " -> " + change.to);
    }
    return lines;
  }
  std::vector<std::string> apply(std::string_view text) {
    return told(app::apply_configuration(engine_, "default", read(text), "a test"));
  }
  std::vector<std::string> start_with(std::string_view text) {
    return told(app::apply_configuration_at_start(engine_, "default", read(text), "a test"));
  }
  static config::Config read(std::string_view text) {
    return config::require_good(app::read_configuration_text(text, "f.toml"));
  }

  engine::Engine engine_{store::open("memory:")};
  Activities activities_{engine_, "default"};
};

TEST(ConfiguredActivities, AreReadAsTheirJsonWouldBe) {
  const auto config = config::require_good(app::read_configuration_text(good, "f.toml"));
  const std::vector<Activity> activities = app::activities_of(config);
  ASSERT_EQ(activities.size(), 1U);
  EXPECT_EQ(encode_activity(activities[0]), encode_activity(parse_activity(R"({
    "id": "daily", "target": {"task": "report", "queue": "reports"}, "tasks": [{"task_type": "load"}],
    "trigger": {"type": "cron", "cron": "0 9 * * MON-FRI", "time_zone": "Europe/Zurich"}})")));
  EXPECT_EQ(
      app::describe_activity(activities[0]),
      "Activity daily: at 09:00 on weekdays, Europe/Zurich, runs task report in queue reports and with it load; what "
      "is missed by 1m is dropped; runs may overlap.");
}

TEST(ConfiguredActivities, HaveTheirProblemsToldAtTheLine) {
  EXPECT_THAT(problems(replaced(good, "task_type = \"load\"", "task_type = 7")),
              ElementsAre(HasSubstr("f.toml:5: activities.daily.tasks[0].task_type: is 7")));
  EXPECT_THAT(problems(replaced(good, "0 9 * *", "0 25 * *")),
              ElementsAre(HasSubstr("f.toml:3: activities.daily.trigger.cron: ")));
  EXPECT_THAT(problems(replaced(good, "target", "traget")),
              ElementsAre(HasSubstr("f.toml:2: activities.daily.traget: unknown key; did you mean \"target\"?")));
  EXPECT_THAT(problems("[activities.daily]\n"),
              ElementsAre(HasSubstr("f.toml:1: activities.daily.trigger: is missing")));
  EXPECT_THAT(problems("[activities]\ndaily = 7\n"), ElementsAre(HasSubstr("f.toml:2: activities.daily: is 7")));
  EXPECT_THAT(problems("activities = 7\n"), ElementsAre(HasSubstr("f.toml:1: activities: is 7")));
}

TEST_F(Configured, ActivitiesAreAppliedOnceAndToldByWhatDiffers) {
  EXPECT_THAT(apply(good), ElementsAre("activities.daily:  -> at 09:00 on weekdays, Europe/Zurich"));
  EXPECT_THAT(apply(good), IsEmpty());
  EXPECT_THAT(apply(replaced(good, "0 9", "30 9")),
              ElementsAre("activities.daily.trigger.cron: 0 9 * * MON-FRI -> 30 9 * * MON-FRI"));
  EXPECT_EQ(activities_.get("daily").version, 2);
}

TEST_F(Configured, AStartLeavesWhatWasDoneSinceTheFileWasApplied) {
  EXPECT_EQ(start_with(good).size(), 1U);
  activities_.remove("daily", "somebody");
  EXPECT_THAT(start_with(good), IsEmpty());
  EXPECT_FALSE(activities_.find("daily"));
  EXPECT_EQ(start_with(replaced(good, "0 9", "30 9")).size(), 1U);
  EXPECT_TRUE(activities_.find("daily"));
}

TEST_F(Configured, APlanChangesNothing) {
  EXPECT_EQ(app::plan_configuration(engine_, "default", read(good)).size(), 1U);
  EXPECT_FALSE(activities_.find("daily"));
}

TEST(ConfiguredActivities, MakeAnotherDigestOnlyWhenThereAreAny) {
  const auto digest = [](std::string_view text) {
    return config::content_digest(config::require_good(app::read_configuration_text(text, "f.toml")));
  };
  EXPECT_EQ(digest("[queues.q]\nconcurrency = 5\n"),
            config::content_digest(config::parse("[queues.q]\nconcurrency = 5\n", "f.toml")));
  EXPECT_NE(digest(good), digest(""));
  EXPECT_NE(digest(good), digest(replaced(good, "0 9", "30 9")));
}

}  // namespace
}  // namespace hapax::schedule
