#include "app/configuration.hpp"

#include <hapax/error.hpp>

#include "app/app_state.hpp"
#include "app/config/reader.hpp"
#include "schedule/activities.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <iterator>

namespace hapax::app {

namespace {

using nlohmann::json;

std::string path_of(const std::string& id) { return config::key_path("activities", id); }

// The line of the member that a problem names, or of the nearest enclosing member.
int line_of(const config::ActivityTable& table, std::string_view member) {
  while (!member.empty()) {
    if (const auto found = table.lines.find(member); found != table.lines.end()) { return found->second; }
    const std::size_t end = member.find_last_of(".[");
    member = member.substr(0, end == std::string_view::npos ? 0 : end);
  }
  return table.line;
}

config::Problem problem_of(const std::string& file, const config::ActivityTable& table, const std::string& where,
                           const InvalidArgument& error) {
  const std::string& field = error.field();
  const std::string message = error.what();
  const std::string_view member =
      field.size() > where.size() ? std::string_view(field).substr(where.size() + 1) : std::string_view();
  const int line = line_of(table, member);
  return {.source = file + ":" + std::to_string(line),
          .key = field,
          .message = message.substr(std::min(message.size(), field.size() + 2)),
          .line = line};
}

void check_activities(config::Reading& reading) {
  const std::size_t before = reading.problems.size();
  for (const auto& [id, table] : reading.config.activities) {
    try {
      (void)schedule::parse_activity(table.json, path_of(id));
    } catch (const InvalidArgument& error) {
      reading.problems.push_back(problem_of(reading.config.path, table, path_of(id), error));
    }
  }
  if (reading.problems.size() > before) { config::sort_by_line(reading); }
}

std::string target_words(const schedule::Activity& activity) {
  const schedule::Target& target = activity.target;
  std::string text = std::string(target.kind == model::Kind::workflow ? "workflow " : "task ") + target.name;
  if (target.queue) { text += " in queue " + *target.queue; }
  if (activity.tasks.empty()) { return text; }
  std::string names;
  for (const schedule::TaskInstance& task : activity.tasks) { names += (names.empty() ? "" : ", ") + task.task_type; }
  return text + " and with it " + names;
}

std::string misfire_words(const schedule::CronTrigger& cron) {
  const std::string grace = format_duration(cron.misfire_grace);
  switch (cron.misfire_policy) {
    case schedule::MisfirePolicy::skip: return "what is missed by " + grace + " is dropped";
    case schedule::MisfirePolicy::catchup:
      return "of what is missed by " + grace + " the newest " + std::to_string(cron.catchup_limit) + " are made up for";
    case schedule::MisfirePolicy::compress: return "what is missed by " + grace + " is made up for by one run";
  }
  return "";
}

std::string overlap_words(schedule::Overlap overlap) {
  switch (overlap) {
    case schedule::Overlap::allow: return "runs may overlap";
    case schedule::Overlap::skip: return "dropped while the last run is going";
    case schedule::Overlap::buffer_one: return "while the last run is going, one waits for its end";
    case schedule::Overlap::buffer_all: return "runs wait for the end of those before";
    case schedule::Overlap::cancel_other: return "the last run is asked to stop if it is still going";
    case schedule::Overlap::terminate_other: return "the last run is ended if it is still going";
  }
  return "";
}

// A string without its quotes, any other value as JSON; empty if the member is missing.
std::string shown(const json& object, const std::string& name) {
  const auto found = object.find(name);
  if (found == object.end()) { return ""; }
  return found->is_string() ? found->get<std::string>() : found->dump();
}

// Adds a change for each member in which two definitions differ. Members of trigger and target are compared one by one.
void compare(const json& before, const json& after, const std::string& where, std::vector<config::Change>& changes) {
  json all = before;
  all.update(after);
  for (const auto& [name, ignored] : all.items()) {
    const std::string path = where + "." + name;
    const bool both = before.contains(name) && after.contains(name);
    if (both && (name == "trigger" || name == "target")) {
      compare(before[name], after[name], path, changes);
      continue;
    }
    std::string from = shown(before, name);
    std::string to = shown(after, name);
    if (from != to) { changes.push_back({.subject = path, .from = std::move(from), .to = std::move(to)}); }
  }
}

struct Plan {
  std::vector<schedule::Activity> changed;
  std::vector<config::Change> changes;
};

Plan plan_activities(schedule::Activities& stored, const config::Config& config) {
  Plan plan;
  for (schedule::Activity& activity : activities_of(config)) {
    const std::string where = path_of(activity.id);
    const std::string wanted = schedule::encode_activity(activity);
    const std::optional<model::ActivityState> state = stored.find(activity.id);
    if (!state) {
      plan.changes.push_back({.subject = where, .to = schedule::describe_trigger(activity)});
    } else if (state->definition != wanted) {
      compare(json::parse(state->definition), json::parse(wanted), where, plan.changes);
    } else {
      continue;
    }
    plan.changed.push_back(std::move(activity));
  }
  return plan;
}

config::AlsoApply applying(engine::Engine& engine, const std::string& namespace_name, const config::Config& config,
                           const std::string& actor) {
  if (config.activities.empty()) { return {}; }
  return [&engine, &namespace_name, &config, &actor] {
    schedule::Activities activities(engine, namespace_name);
    Plan plan = plan_activities(activities, config);
    for (const schedule::Activity& activity : plan.changed) { (void)activities.apply(activity, actor); }
    return std::move(plan.changes);
  };
}

}  // namespace

config::Reading read_configuration(const std::string& path, const config::Environment& environment) {
  config::Reading reading = config::read(path, environment);
  check_activities(reading);
  return reading;
}

config::Reading read_configuration_text(std::string_view text, const std::string& path) {
  config::Reading reading = config::read_text(text, path, config::no_environment());
  check_activities(reading);
  return reading;
}

std::vector<schedule::Activity> activities_of(const config::Config& config) {
  std::vector<schedule::Activity> activities;
  activities.reserve(config.activities.size());
  for (const auto& [id, table] : config.activities) {
    activities.push_back(schedule::parse_activity(table.json, path_of(id)));
  }
  return activities;
}

std::string describe_activity(const schedule::Activity& activity) {
  std::string text =
      "Activity " + activity.id + ": " + schedule::describe_trigger(activity) + ", runs " + target_words(activity);
  if (const schedule::CronTrigger* const cron = activity.cron()) {
    text += "; " + misfire_words(*cron) + "; " + overlap_words(cron->overlap);
    if (cron->jitter > Duration{0}) { text += "; up to " + format_duration(cron->jitter) + " late"; }
    if (cron->start) { text += "; from " + format_time(*cron->start); }
    if (cron->end) { text += "; until " + format_time(*cron->end); }
  }
  return text + ".";
}

std::vector<config::Change> plan_configuration(engine::Engine& engine, const std::string& namespace_name,
                                               const config::Config& config) {
  std::vector<config::Change> changes = config::plan(engine.store(), namespace_name, config);
  if (config.activities.empty()) { return changes; }
  schedule::Activities activities(engine, namespace_name);
  std::ranges::move(plan_activities(activities, config).changes, std::back_inserter(changes));
  return changes;
}

std::vector<config::Change> apply_configuration(engine::Engine& engine, const std::string& namespace_name,
                                                const config::Config& config, const std::string& actor) {
  return config::apply(engine.store(), namespace_name, config, actor, applying(engine, namespace_name, config, actor));
}

std::vector<config::Change> apply_configuration_at_start(engine::Engine& engine, const std::string& namespace_name,
                                                         const config::Config& config, const std::string& actor) {
  return config::apply_at_start(engine.store(), namespace_name, config, actor,
                                applying(engine, namespace_name, config, actor));
}

}  // namespace hapax::app

namespace hapax::detail {

config::Config load_configuration(const std::string& path) {
  return config::require_good(app::read_configuration(path, config::process_environment()));
}

void apply_configuration_at_start(engine::Engine& engine, const std::string& namespace_name,
                                  const config::Config& config) {
  (void)app::apply_configuration_at_start(engine, namespace_name, config, "code");
}

}  // namespace hapax::detail
