#include "schedule/activity.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/validate.hpp"
#include "schedule/fields.hpp"

#include <array>

namespace hapax::schedule {

namespace {

using nlohmann::json;

constexpr std::array<std::string_view, 8> members = {"id",     "name",  "description", "trigger",
                                                     "target", "input", "tasks",       "dedupe_key_strategy"};
constexpr std::array<std::string_view, 4> target_members = {"task", "workflow", "queue", "options"};
constexpr std::array<std::string_view, 4> task_members = {"task_type", "queue", "options", "input"};
constexpr std::array<std::string_view, 6> option_members = {"priority", "max_attempts", "max_lost",
                                                            "timeout",  "deadline",     "retry"};
constexpr std::array<std::string_view, 2> trigger_types = {"cron", "event"};

std::optional<std::string> parse_queue(const Fields& fields) {
  std::optional<std::string> queue = fields.text("queue", "reports");
  if (queue) { model::check_name(*queue, fields.path("queue")); }
  return queue;
}

// The members of [tasks.X] without those of the identity, which an activity sets itself.
model::TaskDefinition parse_options(const Fields& outer) {
  const json* const value = outer.find("options");
  if (value == nullptr) { return {}; }
  const std::string path = outer.path("options");
  const Fields known(*value, path, option_members, R"({"max_attempts": 1, "timeout": "30s"})");
  return model::decode_definition(value->dump(), path);
}

void encode_options(json& out, const model::TaskDefinition& options) {
  json encoded = json::parse(model::encode_definition(options));
  if (!encoded.empty()) { out["options"] = std::move(encoded); }
}

Template parse_template(const Fields& fields, TriggerKind kind) {
  const json* const value = fields.find("input");
  return value == nullptr ? Template() : Template(value->dump(), kind, fields.path("input"));
}

const json& required(const Fields& fields, std::string_view name, const std::string& expected) {
  const json* const value = fields.find(name);
  if (value == nullptr) { throw InvalidArgument(fields.path(name), "is missing; expected " + expected); }
  return *value;
}

std::variant<CronTrigger, EventTrigger> parse_trigger(const Fields& fields) {
  const std::string expected = R"(an object such as {"type": "cron", "cron": "0 9 * * MON-FRI"})";
  const json& value = required(fields, "trigger", expected);
  if (!value.is_object()) { fields.refuse("trigger", expected); }
  const std::string path = fields.path("trigger");
  const auto type = value.find("type");
  if (type == value.end()) { throw InvalidArgument(path + ".type", "is missing; expected \"cron\" or \"event\""); }
  const std::string word = text_at(path + ".type", *type, "cron");
  if (word == "cron") { return parse_cron_trigger(value, path); }
  if (word == "event") { return parse_event_trigger(value, path); }
  throw InvalidArgument(path + ".type", base::quoted(word) + " is none; expected " + base::listed(trigger_types));
}

Target parse_target(const Fields& outer) {
  constexpr std::string_view example = R"({"task": "generate-report"})";
  const json& value = required(outer, "target",
                               "what to run, such as " + std::string(example) + R"( or {"workflow": "process_order"})");
  const Fields fields(value, outer.path("target"), target_members, example);
  if (fields.has("task") == fields.has("workflow")) {
    throw InvalidArgument(
        outer.path("target"),
        std::string(fields.has("task") ? "names a task and a workflow" : "names neither a task nor a workflow") +
            "; expected one of them, such as " + std::string(example));
  }
  const bool is_task = fields.has("task");
  const std::string_view kind = is_task ? "task" : "workflow";
  Target target{.kind = is_task ? model::Kind::task : model::Kind::workflow,
                .name = fields.required_text(kind, "generate-report"),
                .queue = parse_queue(fields),
                .options = parse_options(fields)};
  model::check_name(target.name, fields.path(kind));
  return target;
}

std::vector<TaskInstance> parse_tasks(const Fields& outer, TriggerKind kind) {
  constexpr std::string_view example = R"({"task_type": "extract", "input": {}})";
  const json* const list = outer.find("tasks");
  if (list == nullptr) { return {}; }
  if (!list->is_array() || list->size() > limits::task_instances) {
    outer.refuse("tasks", "a list of at most " + std::to_string(limits::task_instances) + " task instances such as [" +
                              std::string(example) + "]");
  }
  std::vector<TaskInstance> tasks;
  for (const json& item : *list) {
    const Fields fields(item, outer.path("tasks") + "[" + std::to_string(tasks.size()) + "]", task_members, example);
    TaskInstance task{.task_type = fields.required_text("task_type", "extract"),
                      .queue = parse_queue(fields),
                      .options = parse_options(fields),
                      .input = parse_template(fields, kind)};
    model::check_name(task.task_type, fields.path("task_type"));
    tasks.push_back(std::move(task));
  }
  return tasks;
}

void check_dedupe_key_strategy(const Fields& fields, const Activity& activity) {
  const std::optional<std::string> word = fields.text("dedupe_key_strategy", "catchup");
  if (!word) { return; }
  const std::string path = fields.path("dedupe_key_strategy");
  const MisfirePolicy strategy = parse_misfire_policy(*word, path);
  const CronTrigger* const cron = activity.cron();
  if (cron == nullptr) { throw InvalidArgument(path, "is given, but an event trigger misses no ticks; expected none"); }
  if (strategy != cron->misfire_policy) {
    const std::string policy(to_word(cron->misfire_policy));
    throw InvalidArgument(path, "is " + *word + ", but trigger.misfire_policy is " + policy +
                                    "; expected the two to be the same, such as \"" + policy + "\" for both");
  }
}

json encode_task(const TaskInstance& task) {
  json out = {{"task_type", task.task_type}, {"input", json::parse(task.input.json())}};
  if (task.queue) { out["queue"] = *task.queue; }
  encode_options(out, task.options);
  return out;
}

// The cron expression with 0/n for each 7/n among its weekdays.
std::string without_seventh_days(std::string cron) {
  const std::size_t weekdays = cron.find_last_of(" \t");
  if (weekdays == std::string::npos) { return cron; }
  for (std::size_t at = cron.find("7/", weekdays); at != std::string::npos; at = cron.find("7/", at + 1)) {
    if (at == weekdays + 1 || cron[at - 1] == ',') { cron[at] = '0'; }
  }
  return cron;
}

}  // namespace

void check_activity_id(std::string_view id, const std::string& field) {
  model::check_name(id, field);
  if (id.find(':') != std::string_view::npos) {
    throw InvalidArgument(field, base::quoted(id) +
                                     " has a colon, which ends the id in the IDs of its runs; expected a name such as "
                                     "\"daily-report\"");
  }
}

std::string describe_trigger(const Activity& activity) {
  if (const CronTrigger* const cron = activity.cron()) { return cron->timetable.describe(); }
  const EventTrigger& event = *activity.event();
  std::string text = "on ";
  for (std::size_t i = 0; i < event.types.size(); ++i) { text += (i == 0 ? "" : " or ") + event.types[i]; }
  if (event.source) { text += " from " + *event.source; }
  return text + (event.filter.empty() ? "" : ", filtered");
}

Activity parse_activity(std::string_view text, std::string_view where) {
  const std::string path(where);
  const std::string whole = path.empty() ? "activity" : path;
  if (text.size() > limits::activity_bytes) { throw PayloadTooLarge(whole, text.size(), limits::activity_bytes); }
  base::check_json(text, whole);
  const json value = json::parse(text);
  const Fields fields(value, path, members, R"({"id": "daily-report", "trigger": {…}, "target": {…}})");
  std::string id = fields.required_text("id", "daily-report");
  check_activity_id(id, fields.path("id"));
  Activity activity{.id = id,
                    .name = fields.text("name", "Daily report").value_or(id),
                    .description = fields.text("description", "What the shop sold").value_or(""),
                    .trigger = parse_trigger(fields),
                    .target = parse_target(fields),
                    .input = {},
                    .tasks = {}};
  model::check_name(activity.name, fields.path("name"));
  if (activity.description.size() > limits::note_bytes) {
    fields.refuse("description", "at most " + std::to_string(limits::note_bytes) + " bytes");
  }
  const TriggerKind kind = activity.cron() != nullptr ? TriggerKind::cron : TriggerKind::event;
  activity.input = parse_template(fields, kind);
  activity.tasks = parse_tasks(fields, kind);
  check_dedupe_key_strategy(fields, activity);
  // The encoding has all defaults written out and is longer; it must fit too, so that it can be parsed again.
  if (const std::size_t size = encode_activity(activity).size(); size > limits::activity_bytes) {
    throw PayloadTooLarge(whole, size, limits::activity_bytes);
  }
  return activity;
}

Activity parse_stored_activity(std::string_view text) {
  json value = json::parse(text, nullptr, false);
  const auto cron = "/trigger/cron"_json_pointer;
  if (!value.is_object() || !value.contains(cron) || !value[cron].is_string()) { return parse_activity(text); }
  const auto given = value[cron].get<std::string>();
  std::string read = without_seventh_days(given);
  if (read == given) { return parse_activity(text); }
  value[cron] = std::move(read);
  return parse_activity(value.dump());
}

std::string encode_activity(const Activity& activity) {
  json out = {{"id", activity.id}, {"name", activity.name}, {"input", json::parse(activity.input.json())}};
  if (!activity.description.empty()) { out["description"] = activity.description; }
  if (const CronTrigger* const cron = activity.cron()) {
    out["trigger"] = encode_cron_trigger(*cron);
    out["dedupe_key_strategy"] = to_word(cron->misfire_policy);
  } else {
    out["trigger"] = encode_event_trigger(*activity.event());
  }
  json& target =
      out["target"] = {{activity.target.kind == model::Kind::workflow ? "workflow" : "task", activity.target.name}};
  if (activity.target.queue) { target["queue"] = *activity.target.queue; }
  encode_options(target, activity.target.options);
  if (!activity.tasks.empty()) {
    json& tasks = out["tasks"] = json::array();
    for (const TaskInstance& task : activity.tasks) { tasks.push_back(encode_task(task)); }
  }
  return base::canonical_json(out.dump(), "activity");
}

}  // namespace hapax::schedule
