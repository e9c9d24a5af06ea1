// What a store keeps of an activity (SPEC S1, S7), and the one way in which it changes.
//
// The store does not read definitions: whoever changes an activity (a person's command, the ticker of a worker) reads its
// state, decides with src/schedule what is to be done, and hands in the change with the revision it has seen. A change of
// an older revision does nothing, so that of two tickers one advances the cursor and admits its ticks, and the other finds
// it done.
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

// What became of ticks and events, since the activity was made.
struct ActivityCounts {
  std::int64_t started = 0;
  std::int64_t duplicates = 0;  // there was a run of that ID already
  std::int64_t missed = 0;      // dropped by the misfire policy
  std::int64_t overlapped = 0;  // dropped by the overlap policy
  std::int64_t refused = 0;     // could not be started: ActivityState::trouble says why
  friend bool operator==(const ActivityCounts&, const ActivityCounts&) = default;
};

struct ActivityState {
  std::string ns = "default";
  std::string id;
  Uuid uuid;                  // activity_uuid(ns, id): the parent of its runs
  std::int64_t revision = 1;  // grows with each change that names one
  int version = 1;            // of the definition
  std::string definition;     // schedule/activity.hpp's canonical JSON
  ActivityKind kind = ActivityKind::cron;
  bool paused = false;
  std::string note;              // of who paused it
  Time cursor{};                 // the last tick that was run or dropped, or since when there are any
  std::optional<Time> next_due;  // when the ticker has to look at it; none: never
  std::optional<Time> last_started;
  ActivityCounts counts;
  std::string trouble;  // the last reason for which something was refused
  Time created_at{};
  Time updated_at{};  // of the definition
  friend bool operator==(const ActivityState&, const ActivityState&) = default;
};

struct ActivityVersion {
  int version = 1;
  std::string definition;
  std::string actor;
  Time at{};
};

struct ActivityQuery {
  std::string ns = "default";
  std::optional<std::string> id;
  std::optional<ActivityKind> kind;
  std::optional<std::string> after;  // cursor: continue behind this id
  int limit = 1000;                  // by id
};

// For the ticker: what is due by the store's clock, of all namespaces, the longest due first.
struct DueActivity {
  ActivityState state;
  std::vector<Uuid> live;                  // its runs that have not ended, oldest first, at most live_runs_told
  std::optional<std::string> last_result;  // of the newest run that completed, if it is not a thousand runs back
  std::string trouble;                     // why there is no last_result although there is one; empty: nothing is wrong
};

// More than any policy asks for.
inline constexpr int live_runs_told = 1002;

struct DueActivities {
  Time now{};
  std::vector<DueActivity> due;
  std::optional<Time> next;  // when the next is, behind these
};

// One transaction each call, and a change is done as a whole or not at all.
struct ActivityChange {
  std::string ns = "default";
  std::string id;
  // What the caller has seen: 0, that there is none. Not given: whatever there is; then only `admit`, `add` and `trouble`
  // count, and the revision stays.
  std::optional<std::int64_t> revision;

  // Makes it, or replaces its definition: a new version, which is kept, if it is another text.
  struct Definition {
    std::string json;
    ActivityKind kind = ActivityKind::cron;
  };
  std::optional<Definition> definition;
  bool remove = false;  // its runs, versions and counts stay: one made again under that id goes on with them
  struct Pause {
    bool paused = false;
    std::string note;
  };
  std::optional<Pause> pause;
  // Both or none: where the cursor goes and when to look again.
  struct Schedule {
    Time cursor{};
    std::optional<Time> next_due;
  };
  std::optional<Schedule> schedule;

  // In their order. One whose parent is the id of one before it belongs to that one: it is admitted if that was created,
  // and otherwise has its answer.
  std::vector<NewExecution> admit;
  // Then, if a run of the activity was created, for the reason `newer_run`. What has ended meanwhile is passed over.
  std::vector<Uuid> cancel;     // asked to stop, as cancel() does it
  std::vector<Uuid> terminate;  // ended as cancelled, also when it runs

  ActivityCounts add;   // beside what the store counts of `admit`
  std::string trouble;  // empty: as it was

  std::string actor;   // with an action, an audit line is written
  std::string action;  // "activity.apply", "activity.pause", …
  std::string detail;
};

struct ActivityReply {
  bool applied = false;               // false: its revision is another; nothing was changed
  std::int64_t revision = 0;          // as it is now; 0: there is none
  std::vector<Admission> admissions;  // one for each of `admit`, if applied
};

inline constexpr std::string_view newer_run = "a newer run of its activity";

// Which of a change's `admit` belongs to which before it, by place; none: to nothing before it.
[[nodiscard]] std::vector<std::optional<std::size_t>> dependants(std::span<const NewExecution* const> items);

// What the store counts of a change's `admit`: those whose parent is the activity are its runs. Refused is also what a run
// that was created could not start.
struct ActivityTally {
  ActivityCounts counts;
  std::string trouble;  // empty: none
};
[[nodiscard]] ActivityTally tally(const Uuid& activity, std::span<const NewExecution> items,
                                  std::span<const Admission> admissions);

ActivityCounts& operator+=(ActivityCounts& counts, const ActivityCounts& more);

}  // namespace hapax::model
