// Base of the tests of schedules and events: an engine over the test's store, the ticker, and a clock that starts at a
// full hour.
#pragma once

#include "conformance/fixture.hpp"

#include "engine/engine.hpp"
#include "schedule/activities.hpp"
#include "schedule/event_router.hpp"
#include "schedule/ticker.hpp"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace hapax::conformance {

class ScheduleConformance : public Conformance {
 protected:
  void SetUp() override {
    Conformance::SetUp();
    engine_ = std::make_unique<engine::Engine>(second());
    activities_ = std::make_unique<schedule::Activities>(*engine_, "default");
    ticker_ = std::make_unique<schedule::Ticker>(*engine_, schedule::Ticker::Options{});
    start_ = std::chrono::ceil<std::chrono::hours>(store().now());
    advance(start_ - store().now() + 100ms);
  }

  void TearDown() override {
    ticker_.reset();
    activities_.reset();
    engine_.reset();
    Conformance::TearDown();
  }

  // {"type": "cron", "cron": "@every 1m", …}: a tick each minute, the first a minute after the start.
  static nlohmann::json every_minute(nlohmann::json more = nlohmann::json::object()) {
    more["type"] = "cron";
    more["cron"] = "@every 1m";
    return more;
  }

  void apply(const std::string& id, const nlohmann::json& trigger,
             const nlohmann::json& more = nlohmann::json::object()) {
    nlohmann::json definition = {{"id", id}, {"trigger", trigger}, {"target", {{"task", "report"}}}};
    definition.update(more);
    activities_->apply(schedule::parse_activity(definition.dump()), "ann");
  }

  // Ticks until nothing is due.
  void tick() { tick(*ticker_); }
  static void tick(schedule::Ticker& ticker) {
    while (ticker.look().due > 0) {}
  }

  [[nodiscard]] Time minute(int number) const { return start_ + std::chrono::minutes(number); }
  [[nodiscard]] std::string id_of(const std::string& activity, int number) const {
    return "activity-" + activity + ":" + schedule::format_scheduled_for(minute(number));
  }

  // The execution IDs of the activity's runs, in the order they were started.
  std::vector<std::string> runs(const std::string& activity) {
    std::vector<std::string> ids;
    for (const Execution& run : executions(activity)) { ids.push_back(run.identity_key); }
    return ids;
  }
  std::vector<Execution> executions(const std::string& activity) {
    ListQuery query;
    query.limit = 1000;
    std::vector<Execution> all = activities_->runs(activity, query);
    std::reverse(all.begin(), all.end());
    return all;
  }
  static nlohmann::json trigger_of(const Execution& run) { return nlohmann::json::parse(run.input).at("trigger"); }

  ActivityCounts counts(const std::string& activity) { return activities_->get(activity).counts; }

  std::unique_ptr<engine::Engine> engine_;
  std::unique_ptr<schedule::Activities> activities_;
  std::unique_ptr<schedule::Ticker> ticker_;
  Time start_{};
};

}  // namespace hapax::conformance
