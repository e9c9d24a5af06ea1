// The member functions of App for activities and events.
#include <hapax/app.hpp>

#include "app/app_state.hpp"
#include "base/json.hpp"
#include "model/identity.hpp"
#include "model/placed_error.hpp"
#include "schedule/activities.hpp"
#include "schedule/event_router.hpp"
#include "schedule/preview.hpp"
#include "schedule/ticker.hpp"

#include <future>

namespace hapax {

namespace {

using nlohmann::json;

schedule::Activities activities_of(detail::AppState& state) { return {state.engine(), state.namespace_name()}; }

json encode(const CronTrigger& trigger) {
  json out = {{"type", "cron"},
              {"cron", trigger.cron},
              {"time_zone", trigger.time_zone},
              {"misfire_policy", schedule::to_word(static_cast<schedule::MisfirePolicy>(trigger.misfire_policy))},
              {"misfire_grace", format_duration(trigger.misfire_grace)},
              {"catchup_limit", trigger.catchup_limit},
              {"overlap", schedule::to_word(static_cast<schedule::Overlap>(trigger.overlap))},
              {"jitter", format_duration(trigger.jitter)}};
  if (trigger.start) { out["start"] = format_time(*trigger.start); }
  if (trigger.end) { out["end"] = format_time(*trigger.end); }
  return out;
}

json encode(const EventTrigger& trigger) {
  json out = {{"type", "event"}, {"types", trigger.types}};
  if (trigger.source) { out["source"] = *trigger.source; }
  if (!trigger.filter.is_null()) { out["filter"] = trigger.filter; }
  return out;
}

// Writes the options that differ from the defaults.
void add_options(json& out, const ActivityTarget& target) {
  const TaskOptions usual;
  const TaskOptions& options = target.options;
  if (options.queue != usual.queue) { out["queue"] = options.queue; }
  model::TaskDefinition definition;
  if (options.priority != usual.priority) { definition.priority = options.priority; }
  if (!target.workflow && options.max_attempts != usual.max_attempts) {
    definition.max_attempts = options.max_attempts;
  }
  if (options.max_lost != usual.max_lost) { definition.max_lost = options.max_lost; }
  definition.timeout = options.timeout;
  definition.deadline = options.deadline;
  definition.retry = options.retry;
  json encoded = json::parse(model::encode_definition(definition));
  if (!encoded.empty()) { out["options"] = std::move(encoded); }
}

// From this many events on, a second parser thread is worth its start.
constexpr std::size_t worth_a_thread = 2000;

// Parses events[begin, end) into parsed[begin, end).
void parse_some(std::span<const std::string> events, std::size_t begin, std::size_t end, schedule::MissingId missing_id,
                std::vector<schedule::Event>& parsed) {
  for (std::size_t i = begin; i < end; ++i) {
    try {
      parsed[i] = schedule::parse_event(events[i], missing_id);
    } catch (const InvalidArgument& error) {
      if (events.size() == 1) { throw; }
      model::throw_placed("events[" + std::to_string(i) + "]", error);
    }
  }
}

// Parses all events before any is routed, as one bad event fails the call. The store is idle meanwhile, so a second
// thread helps.
std::vector<schedule::Event> parse_all(std::span<const std::string> events, schedule::MissingId missing_id) {
  std::vector<schedule::Event> parsed(events.size());
  const std::size_t half = events.size() < worth_a_thread ? events.size() : events.size() / 2;
  std::future<void> rest;
  if (half < events.size()) {
    rest = std::async(std::launch::async, [&] { parse_some(events, half, events.size(), missing_id, parsed); });
  }
  parse_some(events, 0, half, missing_id, parsed);  // if this throws, the destructor of `rest` waits for the thread
  if (rest.valid()) { rest.get(); }
  return parsed;
}

std::string trigger_text(const std::string& definition) {
  try {
    const schedule::Activity activity = schedule::parse_stored_activity(definition);
    return schedule::describe_trigger(activity);
  } catch (const InvalidArgument&) {
    return "";  // written by a later release
  }
}

ActivityRecord to_public(model::ActivityState&& from) {
  ActivityRecord to;
  to.id = std::move(from.id);
  to.description = trigger_text(from.definition);
  to.definition = std::move(from.definition);
  to.version = from.version;
  to.paused = from.paused;
  to.note = std::move(from.note);
  to.next_due = from.next_due;
  to.last_started = from.last_started;
  to.started = from.counts.started;
  to.duplicates = from.counts.duplicates;
  to.missed = from.counts.missed;
  to.overlapped = from.counts.overlapped;
  to.refused = from.counts.refused;
  to.trouble = std::move(from.trouble);
  to.created_at = from.created_at;
  to.updated_at = from.updated_at;
  return to;
}

}  // namespace

std::string to_json_text(const Activity& activity) {
  json out = {{"id", activity.id}, {"input", activity.input}};
  if (!activity.name.empty()) { out["name"] = activity.name; }
  if (!activity.description.empty()) { out["description"] = activity.description; }
  out["trigger"] = std::visit([](const auto& trigger) { return encode(trigger); }, activity.trigger);
  json& target = out["target"] = {{activity.target.workflow ? "workflow" : "task", activity.target.name}};
  add_options(target, activity.target);
  for (const ActivityTask& task : activity.tasks) {
    if (task.task.workflow) {
      throw InvalidArgument("tasks",
                            "'" + task.task.name + "' is a workflow; expected tasks, as a run starts them once");
    }
    json& one = out["tasks"].emplace_back(json{{"task_type", task.task.name}, {"input", task.input}});
    add_options(one, task.task);
  }
  return detail::encode_strict(out, "activity");
}

void from_json(const json& from, FiredBy& trigger) {
  from.at("kind").get_to(trigger.kind);
  if (const auto at = from.find("scheduled_for"); at != from.end()) {
    trigger.scheduled_for = parse_time(at->get<std::string>(), "scheduled_for");
  }
  if (const auto window = from.find("window"); window != from.end() && window->is_object()) {
    trigger.window = {.from = parse_time(window->at("from").get<std::string>(), "window.from"),
                      .to = parse_time(window->at("to").get<std::string>(), "window.to"),
                      .missed = window->at("missed").get<std::int64_t>()};
  }
  trigger.last_result = from.value("last_result", json());
  trigger.event = from.value("event", json());
  trigger.backfill = from.value("backfill", false);
}

void to_json(json& to, const FiredBy& trigger) {
  to = {{"kind", trigger.kind}};
  if (trigger.scheduled_for) {
    to["scheduled_for"] = schedule::format_scheduled_for(*trigger.scheduled_for);
    to["window"] = nullptr;
    to["last_result"] = trigger.last_result;
  }
  if (trigger.window) {
    to["window"] = json::parse(schedule::encode_window(
        {.from = trigger.window->from, .to = trigger.window->to, .missed = trigger.window->missed}));
  }
  if (!trigger.event.is_null() || trigger.kind == "event") { to["event"] = trigger.event; }
  if (trigger.backfill) { to["backfill"] = true; }
}

AppliedActivity App::apply(const Activity& activity) { return apply_activity_json(to_json_text(activity)); }

AppliedActivity App::apply_activity_json(std::string_view definition) {
  state_->forbid_in_transaction("apply");
  schedule::Activities::Applied applied =
      activities_of(*state_).apply(schedule::parse_activity(definition), state_->actor().name);
  return {.activity = to_public(std::move(applied.state)), .created = applied.created, .changed = applied.changed};
}

std::optional<ActivityRecord> App::activity(std::string_view id) {
  auto found = activities_of(*state_).find(id);
  return found ? std::optional(to_public(*std::move(found))) : std::nullopt;
}

std::vector<ActivityRecord> App::activities() {
  std::vector<ActivityRecord> all;
  schedule::Activities activities = activities_of(*state_);
  model::ActivityQuery query;
  while (true) {
    std::vector<model::ActivityState> page = activities.list(query);
    if (page.empty()) { return all; }
    query.after = page.back().id;
    for (model::ActivityState& state : page) { all.push_back(to_public(std::move(state))); }
  }
}

void App::pause_activity(std::string_view id, std::string_view note) {
  state_->forbid_in_transaction("pause_activity");
  (void)activities_of(*state_).pause(id, note, state_->actor().name);
}

void App::resume_activity(std::string_view id) {
  state_->forbid_in_transaction("resume_activity");
  (void)activities_of(*state_).resume(id, state_->actor().name);
}

void App::remove_activity(std::string_view id) {
  state_->forbid_in_transaction("remove_activity");
  activities_of(*state_).remove(id, state_->actor().name);
}

AnyHandle App::trigger_activity(std::string_view id, std::optional<std::string> key) {
  state_->forbid_in_transaction("trigger_activity");
  const schedule::Activities::Started started =
      activities_of(*state_).trigger(id, {.key = std::move(key), .event = {}}, state_->actor().name);
  if (started.admission.verdict == model::AdmissionVerdict::queue_draining) {
    throw QueueDraining("the queue of activity '" + std::string(id) + "' is draining and takes nothing new");
  }
  return state_->handle(started.admission);
}

BackfillReport App::backfill_activity(std::string_view id, Time from, Time to) {
  state_->forbid_in_transaction("backfill_activity");
  const schedule::Activities::Backfill report =
      activities_of(*state_).backfill(id, {.from = from, .to = to}, state_->actor().name);
  return {.ticks = report.ticks, .started = report.started, .existing = report.existing, .refused = report.refused};
}

std::vector<ExecutionRecord> App::activity_runs(std::string_view id, const ListOptions& options) {
  ListOptions own = options;
  own.parent = model::activity_uuid(state_->namespace_name(), id);
  return list(own);
}

std::vector<Time> App::next_fires(std::string_view id, int count) {
  const model::ActivityState state = activities_of(*state_).get(id);
  const schedule::Activity activity = schedule::parse_stored_activity(state.definition);
  std::vector<Time> times;
  if (activity.cron() == nullptr) { return times; }
  for (const schedule::PreviewedFire& fire :
       schedule::preview_fires(*activity.cron(), activity.id, state_->store().now(), count)) {
    times.push_back(fire.scheduled_for);
  }
  return times;
}

std::vector<RoutedEvent> App::send_events(std::span<const std::string> events) {
  state_->forbid_in_transaction("an event");
  std::vector<schedule::Event> parsed = parse_all(events, state_->router().missing_id());
  std::vector<schedule::Routed> routed = state_->router().route(parsed);
  std::vector<RoutedEvent> answers;
  answers.reserve(routed.size());
  for (std::size_t i = 0; i < routed.size(); ++i) {
    RoutedEvent& answer = answers.emplace_back();
    answer.id = std::move(parsed[i].id);
    for (schedule::Routed::Run& run : routed[i].runs) {
      answer.runs.push_back({.activity = std::move(run.activity),
                             .run_id = std::move(run.run_id),
                             .execution = run.execution,
                             .created = run.created,
                             .error = std::move(run.error)});
    }
  }
  return answers;
}

RoutedEvent App::send_event(std::string_view event) {
  const std::string text(event);
  return send_events({&text, 1}).at(0);
}

namespace detail {

schedule::EventRouter& AppState::router() {
  const std::lock_guard lock(router_mutex_);
  if (!router_) { router_ = std::make_shared<schedule::EventRouter>(*engine_, namespace_name_); }
  return *router_;
}

void start_ticker(engine::Engine& engine) {
  schedule::Ticker::Options options;
  options.on_trouble = [&engine](std::string_view text) {
    engine.observations().log(LogLevel::warning, text, {{"component", "schedules"}});
  };
  schedule::start_ticker(engine, std::move(options));
}

void tick_now(engine::Engine& engine) {
  schedule::Ticker ticker(engine, {});
  while (ticker.look().due > 0) {}
}

}  // namespace detail

}  // namespace hapax
