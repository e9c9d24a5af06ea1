#include "api/activity_json.hpp"

#include <hapax/error.hpp>

#include "api/execution_json.hpp"
#include "base/json_text.hpp"
#include "schedule/tick.hpp"

namespace hapax::api {
namespace {

constexpr int fires_shown = 5;

std::string versions_json(const std::vector<model::ActivityVersion>& versions) {
  std::vector<std::string> items;
  for (const model::ActivityVersion& version : versions) {
    base::JsonObject item;
    item.number("version", std::int64_t{version.version}).time("at", version.at).text("actor", version.actor);
    items.push_back(item.raw("definition", version.definition).str());
  }
  return base::json_array(items);
}

std::string window_json(const std::optional<schedule::Window>& window) {
  return window ? schedule::encode_window(*window) : "null";
}

std::string policy_json(const schedule::PreviewedPolicy& policy, const schedule::CronTrigger& cron) {
  std::vector<std::string> runs;
  for (const schedule::PreviewedRun& run : policy.runs) {
    base::JsonObject item;
    item.text("run_id", run.id).text("scheduled_for", schedule::format_scheduled_for(run.tick.scheduled_for));
    runs.push_back(item.boolean("missed", run.tick.missed).raw("window", window_json(run.tick.window)).str());
  }
  base::JsonObject object;
  object.text("policy", to_word(policy.policy)).boolean("own", policy.policy == cron.misfire_policy);
  object.raw("runs", base::json_array(runs)).number("dropped", policy.dropped);
  return object.boolean("more", policy.more).str();
}

base::JsonObject run_json(const model::Execution& e) {
  base::JsonObject object;
  object.text("run_id", e.identity_key).text("id", e.id.to_string()).text("task", e.task).text("queue", e.queue.name);
  object.text("status", to_string(e.status)).number("attempt", std::int64_t{e.attempt});
  object.number("run", std::int64_t{e.run}).time("created_at", e.created_at).time("started_at", e.started_at);
  object.time("finished_at", e.finished_at);
  if (const std::optional<Duration> duration = time_taken(e)) {
    object.number("duration_ms", static_cast<double>(duration->count()) / 1000);
  } else {
    object.null("duration_ms");
  }
  return object.raw("error", error_json(e.error));
}

}  // namespace

std::optional<schedule::Activity> readable(const model::ActivityState& state) {
  try {
    return schedule::parse_stored_activity(state.definition);
  } catch (const InvalidArgument&) { return std::nullopt; }
}

std::string target_text(const schedule::Activity& activity) {
  const schedule::Target& target = activity.target;
  return std::string(target.kind == model::Kind::workflow ? "workflow " : "task ") + target.name +
         (target.queue ? " in queue " + *target.queue : "");
}

std::string trigger_text(const model::ActivityState& state) {
  const std::optional<schedule::Activity> activity = readable(state);
  return activity ? schedule::describe_trigger(*activity) : "this build cannot read its definition";
}

base::JsonObject activity_json(const model::ActivityState& state) {
  const model::ActivityCounts& counts = state.counts;
  base::JsonObject counted;
  counted.number("started", counts.started).number("duplicates", counts.duplicates).number("missed", counts.missed);
  counted.number("overlapped", counts.overlapped).number("refused", counts.refused);
  base::JsonObject object;
  object.text("id", state.id)
      .text("namespace", state.namespace_name)
      .text("kind", state.kind == model::ActivityKind::cron ? "cron" : "event")
      .text("description", trigger_text(state))
      .number("version", std::int64_t{state.version})
      .boolean("paused", state.paused)
      .text_or_null("note", state.note)
      .time("next_due", state.next_due)
      .time("last_started", state.last_started)
      .raw("counts", counted.str())
      .text_or_null("trouble", state.trouble)
      .time("created_at", state.created_at)
      .time("updated_at", state.updated_at)
      .raw("definition", state.definition);
  // The definition's members also stand at the top level, so that a GET returns the shape that was PUT.
  for (const base::JsonMember& member : base::checked_members(state.definition, "definition")) {
    if (member.name != "id" && member.name != "description") { object.raw(member.name, member.value); }
  }
  return object;
}

std::vector<schedule::PreviewedFire> next_fires(const schedule::Activity& activity, Time now) {
  if (activity.cron() == nullptr) { return {}; }
  return schedule::preview_fires(*activity.cron(), activity.id, now, fires_shown);
}

std::string fire_json(const schedule::Activity& activity, const schedule::PreviewedFire& fire) {
  const schedule::TickReason reason{.tick = {.scheduled_for = fire.scheduled_for, .missed = false, .window = {}}};
  base::JsonObject object;
  object.text("run_id", schedule::run_id(activity.id, reason));
  object.text("scheduled_for", schedule::format_scheduled_for(fire.scheduled_for)).text("local", fire.local);
  return object.time("due", fire.due).text_or_null("note", fire.note).str();
}

std::string shown_activity_json(const model::ActivityState& state, Time now,
                                const std::vector<model::ActivityVersion>* versions) {
  const std::optional<schedule::Activity> activity = readable(state);
  std::vector<std::string> fires;
  if (activity && !state.paused) {
    for (const schedule::PreviewedFire& fire : next_fires(*activity, now)) {
      fires.push_back(fire_json(*activity, fire));
    }
  }
  base::JsonObject object = activity_json(state);
  object.raw("next_fires", base::json_array(fires));
  if (versions != nullptr) { object.raw("versions", versions_json(*versions)); }
  return object.str();
}

std::string preview_json(const Preview& preview) {
  const schedule::CronTrigger& cron = *preview.activity.cron();
  std::vector<std::string> items;
  for (const schedule::PreviewedFire& fire : preview.fires) { items.push_back(fire_json(preview.activity, fire)); }
  base::JsonObject object;
  object.text("id", preview.activity.id).text("description", describe_trigger(preview.activity));
  object.text("time_zone", cron.timetable.zone().name()).time("from", preview.from);
  object.raw("fires", base::json_array(items));
  if (preview.outage) {
    const schedule::Outage& outage = preview.outage->outage;
    std::vector<std::string> policies;
    for (const schedule::PreviewedPolicy& policy : preview.outage->policies) {
      policies.push_back(policy_json(policy, cron));
    }
    base::JsonObject shown;
    shown.time("from", outage.from).time("to", outage.from + outage.length);
    shown.duration("down", outage.length).raw("policies", base::json_array(policies));
    object.raw("outage", shown.str());
  }
  return object.str();
}

std::optional<Duration> time_taken(const model::Execution& execution) {
  if (!execution.started_at || !execution.finished_at) { return std::nullopt; }
  return *execution.finished_at - *execution.started_at;
}

std::string activity_run_json(const model::Execution& run, const std::vector<model::Execution>* instances) {
  base::JsonObject object = run_json(run);
  if (instances != nullptr) {
    std::vector<std::string> shown;
    for (const model::Execution& instance : *instances) { shown.push_back(run_json(instance).str()); }
    object.raw("tasks", base::json_array(shown));
  }
  return object.str();
}

std::string started_json(const schedule::Activities::Started& started, const std::optional<model::Outcome>& end) {
  const model::Admission& admission = started.admission;
  const Status status = end ? end->status : admission.status;
  base::JsonObject object;
  object.text("run_id", started.run_id).text("id", admission.id.to_string());
  object.boolean("created", admission.created()).text("status", to_string(status));
  const std::optional<std::string>& result = end ? end->result : admission.result;
  if (status == Status::completed) { object.raw("result", result && !result->empty() ? *result : "null"); }
  if (end && end->error) { object.raw("error", error_json(end->error)); }
  return object.str();
}

std::string backfill_json(const schedule::Activities::Backfill& report, const schedule::TickRange& range) {
  base::JsonObject object;
  object.time("from", range.from).time("to", range.to);
  object.number("ticks", report.ticks).number("started", report.started).number("existing", report.existing);
  object.number("refused", report.refused).text_or_null("trouble", report.trouble);
  if (report.next_from) { object.time("next_from", report.next_from); }
  return object.str();
}

std::string event_json(const schedule::Event& event, const schedule::Routed& routed, std::int64_t line) {
  std::vector<std::string> runs;
  for (const schedule::Routed::Run& run : routed.runs) {
    base::JsonObject item;
    item.text("activity", run.activity).text_or_null("run_id", run.run_id);
    item.text_or_null("execution", run.error.empty() ? run.execution.to_string() : "");
    runs.push_back(item.boolean("created", run.created).text_or_null("error", run.error).str());
  }
  base::JsonObject object;
  if (line > 0) { object.number("line", line); }
  object.text("id", event.id).text("source", event.source).text("type", event.type);
  return object.raw("runs", base::json_array(runs)).raw("paused", base::json_text_array(routed.paused)).str();
}

}  // namespace hapax::api
