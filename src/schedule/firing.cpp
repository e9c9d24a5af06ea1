#include "schedule/firing.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/sha256.hpp"
#include "model/identity.hpp"
#include "model/traceparent.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <map>

namespace hapax::schedule {

namespace {

// Between an ID and an event's source in key material; neither contains it. Part of stored identities: never change it.
constexpr char separator = '\x1f';

const Event* event_of(const Reason& reason) {
  if (const auto* const by_event = std::get_if<EventReason>(&reason)) { return &by_event->event; }
  const auto* const manual = std::get_if<ManualReason>(&reason);
  return manual != nullptr ? manual->event : nullptr;
}

std::string key_material(const std::string& id, const Reason& reason) {
  const auto* const by_event = std::get_if<EventReason>(&reason);
  return by_event != nullptr ? id + separator + by_event->event.source : id;
}

// Whether the id has the shape of a scheduled_for: 2026-03-01T09:00:00+00:00.
bool looks_like_a_tick(std::string_view event_id) {
  constexpr std::string_view shape = "0000-00-00T00:00:00+00:00";
  return event_id.size() == shape.size() &&
         std::equal(shape.begin(), shape.end(), event_id.begin(),
                    [](char of, char c) { return of == '0' ? c >= '0' && c <= '9' : c == of; });
}

// The mark between an event's id and the first hexadecimal digits of its source's SHA-256.
constexpr char source_mark = '~';
constexpr std::size_t source_digits = 16;

bool looks_marked(std::string_view event_id) {
  if (event_id.size() <= source_digits || event_id[event_id.size() - source_digits - 1] != source_mark) {
    return false;
  }
  return event_id.substr(event_id.size() - source_digits).find_first_not_of("0123456789abcdef") ==
         std::string_view::npos;
}

// Whether a manual run, a tick, or another event's marked id could have the same run ID (decision 54).
bool is_reserved(std::string_view event_id) {
  return event_id.starts_with("manual-") || looks_like_a_tick(event_id) || looks_marked(event_id);
}

// The unmarked ID, which identities are made of, even if the run's ID is marked. Part of stored identities: never
// change it.
std::string identified_id(std::string_view activity_id, const Reason& reason) {
  std::string id = "activity-" + std::string(activity_id) + ":";
  if (const auto* const tick = std::get_if<TickReason>(&reason)) {
    return id + format_scheduled_for(tick->tick.scheduled_for);
  }
  if (const auto* const event = std::get_if<EventReason>(&reason)) { return id + event->event.id; }
  return id + "manual-" + std::get<ManualReason>(reason).key;
}

void check_reason(const Activity& activity, const Reason& reason) {
  if (const auto* const manual = std::get_if<ManualReason>(&reason)) { model::check_key(manual->key); }
  const bool by_clock = activity.cron() != nullptr;
  if (by_clock && event_of(reason) != nullptr) {
    throw InvalidArgument("event", "is given, but activity '" + activity.id + "' has a cron trigger; expected none");
  }
  if (!by_clock && std::holds_alternative<TickReason>(reason)) {
    throw InvalidArgument("trigger", "activity '" + activity.id + "' has an event trigger, and so no ticks");
  }
}

// The JSON values of the template places, and the input's "trigger" member.
struct Facts {
  std::string activity_id;
  std::string activity_name;
  std::string run_id;
  std::string scheduled_for;
  std::string window;
  std::string last_result;
  std::string event;
  std::string event_id;
  std::string event_source;
  std::string event_type;
  std::string event_subject;
  std::string event_time;
  std::string event_data;
  std::string trigger;

  [[nodiscard]] PlaceValues values() const {
    PlaceValues values;
    values[Place::activity_id] = activity_id;
    values[Place::activity_name] = activity_name;
    values[Place::run_id] = run_id;
    values[Place::scheduled_for] = scheduled_for;
    values[Place::window] = window;
    values[Place::last_result] = last_result;
    values[Place::event] = event;
    values[Place::event_id] = event_id;
    values[Place::event_source] = event_source;
    values[Place::event_type] = event_type;
    values[Place::event_subject] = event_subject;
    values[Place::event_time] = event_time;
    values[Place::event_data] = event_data;
    return values;
  }
};

void add_clock_facts(Facts& facts, const Reason& reason, const FiringContext& context) {
  const auto* const by_tick = std::get_if<TickReason>(&reason);
  const Time at = by_tick != nullptr ? by_tick->tick.scheduled_for : std::get<ManualReason>(reason).at;
  facts.scheduled_for = base::json_quote(format_scheduled_for(at));
  if (by_tick != nullptr && by_tick->tick.window) { facts.window = encode_window(*by_tick->tick.window); }
  bool omitted = false;
  if (context.last_result) {
    omitted = context.last_result->size() > base::part_limit(limits::last_result_bytes) ||
              json_depth_of(*context.last_result) > limits::event_depth;
    if (!omitted) { facts.last_result = *context.last_result; }
  }
  facts.trigger += ",\"scheduled_for\":" + facts.scheduled_for;
  facts.trigger += ",\"window\":" + (facts.window.empty() ? "null" : facts.window);
  facts.trigger += ",\"last_result\":" + (facts.last_result.empty() ? "null" : facts.last_result);
  if (omitted) { facts.trigger += ",\"last_result_omitted\":true"; }
  if (by_tick != nullptr && by_tick->backfill) { facts.trigger += ",\"backfill\":true"; }
}

// Sets only the values that the templates use. Most templates use none, as the input's trigger has the whole event
// anyway.
void add_event_facts(Facts& facts, const Activity& activity, const Event* event) {
  facts.trigger += ",\"event\":";
  if (event == nullptr) {
    facts.trigger += "null";
    return;
  }
  const std::size_t begin = facts.trigger.size();
  append_event(facts.trigger, *event);
  const auto add = [&activity](Place place, std::string& to, auto made) {
    if (activity.uses(place)) { to = made(); }
  };
  add(Place::event, facts.event, [&] { return facts.trigger.substr(begin); });
  add(Place::event_id, facts.event_id, [&] { return base::json_quote(event->id); });
  add(Place::event_source, facts.event_source, [&] { return base::json_quote(event->source); });
  add(Place::event_type, facts.event_type, [&] { return base::json_quote(event->type); });
  if (event->subject) {
    add(Place::event_subject, facts.event_subject, [&] { return base::json_quote(*event->subject); });
  }
  if (event->time) {
    add(Place::event_time, facts.event_time, [&] { return base::json_quote(format_time(*event->time)); });
  }
  add(Place::event_data, facts.event_data, [&] { return event->data.value_or(""); });
}

Facts facts_of(const Activity& activity, const Reason& reason, const std::string& id, const FiringContext& context) {
  Facts facts;
  if (activity.uses(Place::activity_id)) { facts.activity_id = base::json_quote(activity.id); }
  if (activity.uses(Place::activity_name)) { facts.activity_name = base::json_quote(activity.name); }
  if (activity.uses(Place::run_id)) { facts.run_id = base::json_quote(id); }
  std::string_view kind = "manual";
  if (std::holds_alternative<TickReason>(reason)) { kind = "cron"; }
  if (std::holds_alternative<EventReason>(reason)) { kind = "event"; }
  facts.trigger.append("{\"kind\":\"").append(kind).append("\"");
  if (activity.cron() != nullptr) {
    add_clock_facts(facts, reason, context);
  } else {
    add_event_facts(facts, activity, event_of(reason));
  }
  facts.trigger += "}";
  return facts;
}

std::string render(const Template& input, const Facts& facts) {
  std::string out = "{\"input\":";
  out.reserve(64 + input.json().size() + facts.trigger.size());
  input.render(out, facts.values());
  out.append(",\"trigger\":").append(facts.trigger).append("}");
  return out;
}

// Copies a definition's settings of how a task runs, but not its identity settings: activities set identities.
void apply(model::NewExecution& request, const model::TaskDefinition& definition) {
  if (definition.queue) { request.queue.name = *definition.queue; }
  request.priority = definition.priority.value_or(request.priority);
  request.max_attempts = definition.max_attempts.value_or(request.max_attempts);
  request.max_lost = definition.max_lost.value_or(request.max_lost);
  if (definition.retry) { request.retry = definition.retry; }
  if (definition.timeout) { request.attempt_timeout = definition.timeout; }
  if (definition.deadline) { request.deadline = definition.deadline; }
}

struct Wanted {
  model::Kind kind = model::Kind::task;
  const std::string& task;
  const std::optional<std::string>& queue;
  const model::TaskDefinition& options;
  std::string input;
  std::string id;
  base::Digest identity{};
};

model::NewExecution request_of(Wanted wanted, const FiringContext& context) {
  model::NewExecution request;
  request.queue.namespace_name = context.namespace_name;
  request.task = wanted.task;
  request.kind = wanted.kind;
  request.input = std::move(wanted.input);
  request.labels.actor = context.actor;
  model::set_trace(request.labels, context.traceparent, context.tracestate);
  if (wanted.kind == model::Kind::workflow) { request.max_attempts = 1; }
  model::IdentityClaim& identity = request.identity.emplace();
  identity.hash = wanted.identity;
  identity.key = std::move(wanted.id);
  identity.reuse = Reuse::reject;
  if (const auto* const found = context.catalogue != nullptr ? context.catalogue->find(wanted.task) : nullptr) {
    apply(request, *found);
    identity.dedup_window = found->dedup_window;
  }
  apply(request, wanted.options);
  if (wanted.queue) { request.queue.name = *wanted.queue; }
  // Template, event and last result have each been checked for depth, and cannot exceed the limit together.
  static_assert(2 + limits::template_depth + limits::event_depth <= limits::json_depth);
  model::check_composed_execution(request);
  return request;
}

}  // namespace

std::string format_scheduled_for(Time tick) {
  std::string text = format_time(std::chrono::floor<std::chrono::seconds>(tick));
  text.pop_back();
  return text + "+00:00";
}

std::string encode_window(const Window& window) {
  return "{\"from\":\"" + format_scheduled_for(window.from) + "\",\"to\":\"" + format_scheduled_for(window.to) +
         "\",\"missed\":" + std::to_string(window.missed) + "}";
}

std::string run_id(std::string_view activity_id, const Reason& reason, bool names_source) {
  std::string id = identified_id(activity_id, reason);
  const auto* const by_event = std::get_if<EventReason>(&reason);
  if (by_event == nullptr || !(names_source || is_reserved(by_event->event.id))) { return id; }
  return id + source_mark + base::to_hex(base::sha256(by_event->event.source)).substr(0, source_digits);
}

ActivityRun fire(const Activity& activity, const Reason& reason, const FiringContext& context) {
  check_reason(activity, reason);
  ActivityRun run;
  run.id = run_id(activity.id, reason, context.names_source);
  const Facts facts = facts_of(activity, reason, run.id, context);
  const auto identity_of = [&](const std::string& id) {
    return model::activity_identity_hash(context.namespace_name, activity.id, key_material(id, reason));
  };
  const std::string identified = identified_id(activity.id, reason);
  run.identity = identity_of(identified);
  run.requests.reserve(1 + activity.tasks.size());
  run.requests.push_back(request_of({.kind = activity.target.kind,
                                     .task = activity.target.name,
                                     .queue = activity.target.queue,
                                     .options = activity.target.options,
                                     .input = render(activity.input, facts),
                                     .id = run.id,
                                     .identity = run.identity},
                                    context));
  // The unmarked ID must be unique: the store refuses the name if an event of another source has it (decision 58).
  if (std::holds_alternative<EventReason>(reason) && run.id == identified) {
    run.requests.front().identity->name =
        model::activity_identity_hash(context.namespace_name, activity.id, identified);
  }
  std::map<std::string_view, int> indexes;
  for (const TaskInstance& task : activity.tasks) {
    const std::string index = std::to_string(indexes[task.task_type]++);
    const std::string place = ":" + task.task_type + ":" + index;
    run.requests.push_back(request_of({.task = task.task_type,
                                       .queue = task.queue,
                                       .options = task.options,
                                       .input = render(task.input, facts),
                                       .id = "task-" + run.id + place,
                                       .identity = identity_of("task-" + identified + place)},
                                      context));
  }
  return run;
}

}  // namespace hapax::schedule
