// The state of an activity in the store, and the change that is the only way to modify it (decision 24).
//
// The store does not interpret definitions. A command or a worker's ticker reads the state, computes the change with
// src/schedule, and submits it with the revision it has read. The store ignores a change whose revision is not the
// current one, so of two tickers one advances the cursor and admits the ticks, and the other changes nothing.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::model {

// Persisted; never renumber.
enum class ActivityKind : std::uint8_t { cron = 0, event = 1 };

// Totals of an activity's ticks and events since the activity was created.
struct ActivityCounts {
  std::int64_t started = 0;
  std::int64_t duplicates = 0;  // a run with that identity existed already
  std::int64_t missed = 0;      // dropped by the misfire policy
  std::int64_t overlapped = 0;  // dropped by the overlap policy
  std::int64_t refused = 0;     // could not be started; ActivityState::trouble has the latest reason
  friend bool operator==(const ActivityCounts&, const ActivityCounts&) = default;
};

struct ActivityState {
  std::string namespace_name = "default";
  std::string id;
  Uuid uuid;                  // activity_uuid(namespace_name, id): the parent of the activity's runs
  std::int64_t revision = 1;  // raised by each applied change that names a revision
  int version = 1;            // of the definition
  std::string definition;     // schedule/activity.hpp's canonical JSON
  ActivityKind kind = ActivityKind::cron;
  bool paused = false;
  std::string note;              // given with the pause
  Time cursor{};                 // the last tick that was run or dropped, or the instant from which ticks count
  std::optional<Time> next_due;  // when a ticker has to look at the activity; none: never
  std::optional<Time> last_started;
  ActivityCounts counts;
  std::string trouble;  // the latest reason for a refusal
  Time created_at{};
  Time updated_at{};  // when the definition last changed
  friend bool operator==(const ActivityState&, const ActivityState&) = default;
};

struct ActivityVersion {
  int version = 1;
  std::string definition;
  std::string actor;
  Time at{};
};

struct ActivityQuery {
  std::string namespace_name = "default";
  std::optional<std::string> id;
  std::optional<ActivityKind> kind;
  std::optional<std::string> after;  // only activities with a greater id (pagination)
  int limit = 1000;                  // ordered by id
};

// An activity that is due by the store's clock, for the ticker. Activities of all namespaces, longest due first.
struct DueActivity {
  ActivityState state;
  std::vector<Uuid> live;                  // runs that have not ended, oldest first, at most live_runs_max
  std::optional<std::string> last_result;  // of the newest completed run among the newest 1,000 runs
  std::string trouble;                     // why the stored last result could not be read; empty: no error
};

// Live runs per due activity: more than any overlap policy needs (limits::buffered_runs is 1,000).
inline constexpr int live_runs_max = 1002;

struct DueActivities {
  Time now{};
  std::vector<DueActivity> due;
  std::optional<Time> next;  // when the next activity after those in `due` is due
};

// A change of one activity, applied as a whole or not at all. All changes of one store call share one transaction.
struct ActivityChange {
  std::string namespace_name = "default";
  std::string id;
  // The revision that the caller has read; 0: there was no such activity. None: the change applies to any revision,
  // only `admit`, `add` and `trouble` have an effect, and the revision stays.
  std::optional<std::int64_t> revision;

  // Creates the activity or replaces its definition. A definition that differs becomes a new version; all are kept.
  struct Definition {
    std::string json;
    ActivityKind kind = ActivityKind::cron;
  };
  std::optional<Definition> definition;
  bool remove = false;  // runs, versions and counts stay; an activity recreated under the same id continues with them
  struct Pause {
    bool paused = false;
    std::string note;
  };
  std::optional<Pause> pause;
  // The new cursor, and when a ticker has to look at the activity again.
  struct Schedule {
    Time cursor{};
    std::optional<Time> next_due;
  };
  std::optional<Schedule> schedule;

  // Admitted in this order. An item whose parent is an earlier item (a task instance of a run) is admitted only if the
  // earlier item was created; otherwise the two items share the earlier item's admission.
  std::vector<NewExecution> admit;
  // Live runs to end, after `admit`, and only if a run of the activity was created. The reason is `newer_run`. Runs
  // that have ended meanwhile are ignored.
  std::vector<Uuid> cancel;     // asked to stop, as by cancel()
  std::vector<Uuid> terminate;  // ended as cancelled, even while running

  ActivityCounts add;   // added to what the store counts for `admit`
  std::string trouble;  // empty: unchanged

  std::string actor;   // for the audit
  std::string action;  // "activity.apply", "activity.pause", …; empty: no audit line is written
  std::string detail;
};

struct ActivityReply {
  bool applied = false;               // false: the activity has another revision or is not there; nothing was changed
  std::int64_t revision = 0;          // the current one; 0: there is no such activity
  std::vector<Admission> admissions;  // one for each item of `admit`, if applied
};

inline constexpr std::string_view newer_run = "a newer run of its activity";

// For each item of a change's `admit`, the index of the earlier item that is its parent; none: the item has no such
// parent.
[[nodiscard]] std::vector<std::optional<std::size_t>> dependants(std::span<const NewExecution* const> items);

// The counts that a change's `admit` adds. An item whose parent is the activity is a run. A task instance that a
// draining queue refuses counts as refused if its run was created.
struct ActivityTally {
  ActivityCounts counts;
  std::string trouble;  // empty: none
};
[[nodiscard]] ActivityTally tally(const Uuid& activity, std::span<const NewExecution> items,
                                  std::span<const Admission> admissions);

ActivityCounts& operator+=(ActivityCounts& counts, const ActivityCounts& more);

}  // namespace hapax::model
