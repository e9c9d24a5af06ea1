// Activities, their runs and previews, and results of events, as JSON: the API's answers and the command line's --json.
#pragma once

#include "base/json_out.hpp"
#include "model/activity_state.hpp"
#include "model/execution.hpp"
#include "schedule/activities.hpp"
#include "schedule/event.hpp"
#include "schedule/event_router.hpp"
#include "schedule/preview.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hapax::api {

// The definition, or none if this build cannot read it because a later release wrote it.
[[nodiscard]] std::optional<schedule::Activity> readable(const model::ActivityState& state);

// "task generate-report in queue reports"
[[nodiscard]] std::string target_text(const schedule::Activity& activity);
// "at 09:00 on weekdays, Europe/Zurich"; a fixed sentence if this build cannot read the definition.
[[nodiscard]] std::string trigger_text(const model::ActivityState& state);

// {"id","namespace","kind","description","version","paused","note","next_due","last_started","counts":{…},"trouble",
// "created_at","updated_at","definition":{…}} and the definition's members: "name","trigger","target","input","tasks", …
[[nodiscard]] base::JsonObject activity_json(const model::ActivityState& state);
// As activity_json(), with "next_fires", and with "versions" if given.
[[nodiscard]] std::string shown_activity_json(const model::ActivityState& state, Time now,
                                              const std::vector<model::ActivityVersion>* versions = nullptr);
// The next five fires; none for an activity without a cron trigger.
[[nodiscard]] std::vector<schedule::PreviewedFire> next_fires(const schedule::Activity& activity, Time now);

// {"run_id","scheduled_for","local","due","note"}
[[nodiscard]] std::string fire_json(const schedule::Activity& activity, const schedule::PreviewedFire& fire);

// An outage, and the runs that each misfire policy would start after it.
struct PreviewedOutage {
  schedule::Outage outage;
  std::array<schedule::PreviewedPolicy, 3> policies;
};
// Upcoming fires of an activity with a cron trigger.
struct Preview {
  const schedule::Activity& activity;
  Time from;
  const std::vector<schedule::PreviewedFire>& fires;
  const std::optional<PreviewedOutage>& outage;
};
// {"id","description","time_zone","from","fires":[…],"outage"?:{"from","to","down","policies":[…]}}
[[nodiscard]] std::string preview_json(const Preview& preview);

// Returns the time from start to finish of the last attempt; none until that attempt has ended.
[[nodiscard]] std::optional<Duration> time_taken(const model::Execution& execution);
// {"run_id","id","task","queue","status","attempt","run","created_at","started_at","finished_at","duration_ms","error"},
// with "tasks":[…] of the same shape if `instances` are given.
[[nodiscard]] std::string activity_run_json(const model::Execution& run,
                                            const std::vector<model::Execution>* instances = nullptr);

// {"run_id","id","created","status","result"?,"error"?}
[[nodiscard]] std::string started_json(const schedule::Activities::Started& started,
                                       const std::optional<model::Outcome>& end);
// {"from","to","ticks","started","existing","refused","trouble"}
[[nodiscard]] std::string backfill_json(const schedule::Activities::Backfill& report, const schedule::TickRange& range);

// The result of an event: {"line"?,"id","source","type","runs":[{"activity","run_id","execution","created","error"}],
// "paused":[…]}. Line 0 is left out.
[[nodiscard]] std::string event_json(const schedule::Event& event, const schedule::Routed& routed, std::int64_t line);

}  // namespace hapax::api
