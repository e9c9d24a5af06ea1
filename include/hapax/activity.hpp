// Activity: work that is started by a schedule or by events. Each tick and each event starts it at most once.
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
// The store keeps the definition. Every process with a worker and every server starts due ticks; sending an event
// starts the activities that it matches. Applying the same definition again changes nothing, so a program applies its
// activities each time it starts. App (hapax/app.hpp) has the calls; docs/guides/schedules.md, missed-runs.md and
// events.md are the guides.
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

// How to treat missed ticks: ticks not started within misfire_grace, because no process ran, the processes were
// overloaded or the activity was paused.
enum class MisfirePolicy : std::uint8_t {
  skip,      // drop and count them
  catchup,   // run the newest catchup_limit of them, oldest first, each under its own ID
  compress,  // one run for all of them, with the window they span
};

// How to treat a tick that is due while the last run has not ended.
enum class Overlap : std::uint8_t {
  allow,            // run it beside the last run
  skip,             // drop it
  buffer_one,       // the tick waits for the last run, or is dropped when another tick waits already
  buffer_all,       // the tick waits for all runs before it; up to 1,000 wait
  cancel_other,     // ask the last run to stop; the tick runs when that run has ended
  terminate_other,  // end the last run and start the tick, both at once
};

struct CronTrigger {
  std::string cron{};             // "0 9 * * MON-FRI"; a sixth field in front means seconds; "@daily", "@every 90s"
  std::string time_zone = "UTC";  // an IANA name
  MisfirePolicy misfire_policy = MisfirePolicy::skip;
  Duration misfire_grace = std::chrono::seconds(60);  // a tick started up to this late counts as on time
  int catchup_limit = 10;                             // missed ticks that MisfirePolicy::catchup runs
  Overlap overlap = Overlap::allow;
  Duration jitter{0};  // delays each tick by up to this, by a hash of activity and tick, and never past the next tick
  std::optional<Time> start{};  // no ticks before this instant; a tick at it runs
  std::optional<Time> end{};    // no ticks after this instant; a tick at it runs
};

struct EventTrigger {
  std::vector<std::string> types{};     // patterns such as "order.*"; one of them must match the event's type
  std::optional<std::string> source{};  // a pattern for the event's source; none: any source
  nlohmann::json filter{};  // conditions by JSON Pointer, all must hold: {{"/data/country", {"CH", "AT"}}}; null: none
};

template <class In>
struct Fired;

// The task or workflow that an activity runs, with the options it was declared with. The task's input type is Fired<…>,
// or JSON, which then holds both members of Fired. A name alone stands for a task that another program handles.
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
  // Any other input type does not compile: a run's input is {"input": …, "trigger": …}, which does not convert to that
  // type.
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
  TaskOptions options{};  // an option left at its default comes from the catalogue
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

// One more task that each run of an activity starts, once.
struct ActivityTask {
  ActivityTarget task{};  // must not be a workflow
  nlohmann::json input{};
};

// The definition of an activity. A plain value: nothing is stored before App::apply().
struct Activity {
  std::string id{};  // 1 to 200 bytes, without a colon
  std::string name{};
  std::string description{};
  std::variant<CronTrigger, EventTrigger> trigger{};
  ActivityTarget target{};
  nlohmann::json input{};  // a template; places such as "{{scheduled_for}}" or "{{event.data/order/id}}" are filled in
  std::vector<ActivityTask> tasks{};
};

// Returns the definition as JSON text, in the form that the command line and the API take. Throws InvalidArgument when
// a member of `tasks` is a workflow.
[[nodiscard]] std::string to_json_text(const Activity& activity);

// ---- The input of an activity's executions ------------------------------------------------------------------------

// The missed ticks that one run under MisfirePolicy::compress stands for.
struct FiredWindow {
  Time from{};              // the first missed tick
  Time to{};                // the last missed tick
  std::int64_t missed = 0;  // how many
};

// Why an execution was started.
struct FiredBy {
  std::string kind{};                   // "cron", "event", "manual"
  std::optional<Time> scheduled_for{};  // of a cron trigger: the tick, or when a manual run was requested
  std::optional<FiredWindow> window{};  // set when the run stands for missed ticks (compress)
  nlohmann::json last_result{};         // of the newest run that had completed when this one was started; null: none
  nlohmann::json event{};               // the CloudEvents envelope; null for a cron trigger
  bool backfill = false;                // started by App::backfill_activity
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

// ---- Answers of the store ------------------------------------------------------------------------------------------

// A stored activity with its counters.
struct ActivityRecord {
  std::string id{};
  std::string definition{};   // JSON, with every default written out
  std::string description{};  // the trigger in words: "at 09:00 on weekdays, Europe/Zurich"
  int version = 1;            // of the definition; grows with each change
  bool paused = false;
  std::string note{};  // as given to pause_activity
  std::optional<Time> next_due{};
  std::optional<Time> last_started{};
  std::int64_t started = 0;
  std::int64_t duplicates = 0;  // ticks and events whose run existed already
  std::int64_t missed = 0;      // ticks dropped by the misfire policy, and events dropped while paused
  std::int64_t overlapped = 0;  // ticks dropped by the overlap policy
  std::int64_t refused = 0;     // ticks and events that could not be started
  std::string trouble{};        // why the latest refused tick or event could not be started
  Time created_at{};
  Time updated_at{};
};

struct AppliedActivity {
  ActivityRecord activity{};
  bool created = false;
  bool changed = false;  // false: the store had this very definition
};

struct BackfillReport {
  std::int64_t ticks = 0;     // in the range
  std::int64_t started = 0;   // by this call
  std::int64_t existing = 0;  // ticks whose run existed already
  std::int64_t refused = 0;   // ticks that could not be started
};

// The run of one activity for one event: started by this call, or by an earlier delivery of the event.
struct EventRun {
  std::string activity{};
  std::string run_id{};  // "activity-on-order:evt_abc123"
  Uuid execution{};
  bool created = false;  // by this call
  std::string error{};   // why the run could not be started; empty: it exists
};

struct RoutedEvent {
  std::string id{};              // the event's ID; a generated one if the envelope has none
  std::vector<EventRun> runs{};  // one for each activity that the event matched
};

}  // namespace hapax
