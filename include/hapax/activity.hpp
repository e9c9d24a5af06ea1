// Activity: work that starts by the clock or by events, each tick and each event at most once.
//
//   app.apply(hapax::Activity{.id = "daily-report",
//                             .trigger = hapax::CronTrigger{.cron = "0 9 * * MON-FRI", .time_zone = "Europe/Zurich",
//                                                           .misfire_policy = hapax::MisfirePolicy::catchup},
//                             .target = generate_report,      // a Task or a Workflow whose input is Fired<…>
//                             .input = {{"kind", "daily"}}});
//
//   app.handle(generate_report, [](const hapax::Fired<ReportInput>& fired) {
//     render(fired.input, *fired.trigger.scheduled_for); …
//   });
//
// An activity is stored: every process with a worker and every server sees to its ticks, and whoever sends an event starts
// what it matches. Applying the same definition again changes nothing, so programs apply theirs when they start.
// docs/guides/schedules.md, missed-runs.md and events.md tell the rest; hapax/app.hpp has the calls.
#pragma once

#include <hapax/task.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>
#include <hapax/workflow.hpp>

#include <nlohmann/json.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace hapax {

// What becomes of ticks that were not started within misfire_grace, as everything was down, overloaded or paused.
enum class MisfirePolicy : std::uint8_t {
  skip,      // they are dropped, and counted
  catchup,   // the newest catchup_limit of them run, oldest first, each under its own ID
  compress,  // one run for all of them, with the window they span
};

// What becomes of a tick while the last run is still going.
enum class Overlap : std::uint8_t {
  allow,            // it runs beside it
  skip,             // it is dropped
  buffer_one,       // it waits, unless one waits already
  buffer_all,       // it waits for all before it
  cancel_other,     // the other is asked to stop; it runs when that has ended
  terminate_other,  // the other is ended at once
};

struct CronTrigger {
  std::string cron{};  // "0 9 * * MON-FRI", with seconds in front if there are six fields; "@daily", "@every 90s"
  std::string time_zone = "UTC";  // an IANA name
  MisfirePolicy misfire_policy = MisfirePolicy::skip;
  Duration misfire_grace = std::chrono::seconds(60);
  int catchup_limit = 10;
  Overlap overlap = Overlap::allow;
  Duration jitter{0};           // each tick up to so much later, always as much, and before the next
  std::optional<Time> start{};  // both inside
  std::optional<Time> end{};
};

struct EventTrigger {
  std::vector<std::string> types{};     // patterns such as "order.*", of which one has to match
  std::optional<std::string> source{};  // a pattern too; none: any
  nlohmann::json filter{};              // by JSON Pointer: {{"/data/country", {"CH", "AT"}}}; null for none
};

template <class In>
struct Fired;

// What an activity runs: a task or a workflow whose input is Fired<…> (or JSON, which is then all of it), with the options
// it was declared with. By a name alone: a task that another program handles.
struct ActivityTarget {
  ActivityTarget() = default;
  template <class In, class Out>
  ActivityTarget(const Task<Fired<In>, Out>& task) : ActivityTarget(task.spec(), false) {}  // NOLINT: implicit
  template <class Out>
  ActivityTarget(const Task<nlohmann::json, Out>& task) : ActivityTarget(task.spec(), false) {}  // NOLINT: implicit
  template <class In, class Out>
  ActivityTarget(const Workflow<Fired<In>, Out>& flow) : ActivityTarget(flow.spec(), true) {}  // NOLINT: implicit
  template <class Out>
  ActivityTarget(const Workflow<nlohmann::json, Out>& flow) : ActivityTarget(flow.spec(), true) {}  // NOLINT: implicit
  // Any other input type: the execution would be handed {"input": …, "trigger": …}, which does not convert to it.
  template <class In, class Out>
  ActivityTarget(const Task<In, Out>& task) : ActivityTarget(task.spec(), false) {  // NOLINT: implicit
    refuse_input<In>();
  }
  template <class In, class Out>
  ActivityTarget(const Workflow<In, Out>& flow) : ActivityTarget(flow.spec(), true) {  // NOLINT: implicit
    refuse_input<In>();
  }
  ActivityTarget(std::string task) : name(std::move(task)) {}  // NOLINT: implicit
  ActivityTarget(const char* task) : name(task) {}             // NOLINT: implicit
  ActivityTarget(const TaskSpec& spec, bool is_workflow)
      : name(spec.name), options(spec.options), workflow(is_workflow) {}

  std::string name{};
  TaskOptions options{};  // what is as usual is the catalogue's to say
  bool workflow = false;

 private:
  template <class In>
  static constexpr void refuse_input() {
    static_assert(
        sizeof(In) == 0,
        "an activity's target takes hapax::Fired<Input>, which has the definition's input and why it runs: "
        "declare it as hapax::Task<hapax::Fired<Input>, Result> (or hapax::Workflow<...>), or give the target "
        "by its name alone if another program handles it (docs/guides/schedules.md)");
  }
};

// A further task that each run starts, once.
struct ActivityTask {
  ActivityTarget task{};  // no workflow
  nlohmann::json input{};
};

struct Activity {
  std::string id{};  // 1 to 200 bytes, without a colon
  std::string name{};
  std::string description{};
  std::variant<CronTrigger, EventTrigger> trigger{};
  ActivityTarget target{};
  nlohmann::json input{};  // a template: "{{scheduled_for}}", "{{event.data/order/id}}", … are filled in
  std::vector<ActivityTask> tasks{};
};

// As JSON, the form in which the command line and the API have it.
[[nodiscard]] std::string to_json_text(const Activity& activity);

// ---- What an execution of an activity gets ------------------------------------------------------------------------

struct FiredWindow {
  Time from{};  // the first missed tick
  Time to{};    // the last
  std::int64_t missed = 0;
};

struct FiredBy {
  std::string kind{};                   // "cron", "event", "manual"
  std::optional<Time> scheduled_for{};  // of a cron trigger: the tick, or when it was asked for
  std::optional<FiredWindow> window{};  // under compress, after an outage
  nlohmann::json last_result{};         // of the newest run that had completed when this one was started; null: none
  nlohmann::json event{};               // the CloudEvents envelope
  bool backfill = false;
};

// The input type of an activity's target and tasks.
template <class In>
struct Fired {
  In input{};
  FiredBy trigger{};
};

void from_json(const nlohmann::json& json, FiredBy& trigger);
void to_json(nlohmann::json& json, const FiredBy& trigger);

template <class In>
void from_json(const nlohmann::json& json, Fired<In>& fired) {
  json.at("input").get_to(fired.input);
  json.at("trigger").get_to(fired.trigger);
}
template <class In>
void to_json(nlohmann::json& json, const Fired<In>& fired) {
  json = {{"input", fired.input}, {"trigger", fired.trigger}};
}

// ---- What the store tells of one ------------------------------------------------------------------------------------

struct ActivityRecord {
  std::string id{};
  std::string definition{};   // JSON, every default written out
  std::string description{};  // of its trigger, for people: "at 09:00 on weekdays, Europe/Zurich"
  int version = 1;            // of the definition
  bool paused = false;
  std::string note{};  // of who paused it
  std::optional<Time> next_due{};
  std::optional<Time> last_started{};
  std::int64_t started = 0;
  std::int64_t duplicates = 0;  // ticks and events whose run was there already
  std::int64_t missed = 0;      // dropped by the misfire policy; events while paused
  std::int64_t overlapped = 0;  // dropped by the overlap policy
  std::int64_t refused = 0;     // could not be started
  std::string trouble{};        // why, the last time
  Time created_at{};
  Time updated_at{};
};

struct AppliedActivity {
  ActivityRecord activity{};
  bool created = false;
  bool changed = false;  // or it was there just so
};

struct BackfillReport {
  std::int64_t ticks = 0;  // of the range
  std::int64_t started = 0;
  std::int64_t existing = 0;  // had run already
  std::int64_t refused = 0;
};

// A run that an event started, or met.
struct EventRun {
  std::string activity{};
  std::string run_id{};  // "activity-on-order:evt_abc123"
  Uuid execution{};
  bool created = false;
  std::string error{};  // neither started nor there already: why
};

struct RoutedEvent {
  std::string id{};  // as it came, or as it was given at the door
  std::vector<EventRun> runs{};
};

}  // namespace hapax
