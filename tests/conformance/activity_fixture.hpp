// Base of the tests of activities in the store: short helpers for changes and runs.
#pragma once

#include "conformance/fixture.hpp"

#include "model/identity.hpp"

#include <optional>
#include <string>

namespace hapax::conformance {

class ActivityConformance : public Conformance {
 protected:
  static ActivityChange change(const std::string& id, std::int64_t revision,
                               const std::string& namespace_name = "default") {
    ActivityChange change;
    change.namespace_name = namespace_name;
    change.id = id;
    change.revision = revision;
    return change;
  }

  static ActivityChange definition(const std::string& id, std::int64_t revision, const std::string& json,
                                   ActivityKind kind = ActivityKind::cron,
                                   const std::string& namespace_name = "default") {
    ActivityChange made = change(id, revision, namespace_name);
    made.definition = {.json = json, .kind = kind};
    made.actor = "ann";
    made.action = "activity.apply";
    made.detail = json;
    return made;
  }

  ActivityReply apply(const ActivityChange& change) { return store().change_activities({&change, 1}).at(0); }

  // An activity whose next tick is due after `next_due`.
  std::int64_t make(const std::string& id, Duration next_due, const std::string& namespace_name = "default") {
    ActivityChange made = definition(id, 0, "{\"id\":\"" + id + "\"}", ActivityKind::cron, namespace_name);
    const Time now = store().now();
    made.schedule = {.cursor = now, .next_due = now + next_due};
    const ActivityReply reply = apply(made);
    EXPECT_TRUE(reply.applied);
    return reply.revision;
  }

  std::optional<ActivityState> find(const std::string& id, const std::string& namespace_name = "default") {
    const std::vector<ActivityState> found = store().activities({.namespace_name = namespace_name, .id = id});
    return found.empty() ? std::nullopt : std::optional(found.at(0));
  }

  // A run of an activity as the ticker requests it.
  static NewExecution run(const std::string& activity, const std::string& key, const std::string& queue = "default") {
    NewExecution item = request("report", queue);
    IdentityClaim& identity = item.identity.emplace();
    identity.key = "activity-" + activity + ":" + key;
    identity.hash = activity_identity_hash("default", activity, identity.key);
    identity.reuse = Reuse::reject;
    item.parent = activity_uuid("default", activity);
    return item;
  }
};

// One suite name for each test file.
class ActivityRunsConformance : public ActivityConformance {};

}  // namespace hapax::conformance
