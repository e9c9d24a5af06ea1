#include "cli/activity_file.hpp"

#include "app/configuration.hpp"
#include "base/json_text.hpp"
#include "base/text.hpp"
#include "cli/arguments.hpp"
#include "cli/problem.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

constexpr std::string_view blanks = " \t\r\n";

// A JSON list of objects begins with [{ and an empty list with []; in TOML a name follows the bracket.
bool looks_like_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos || text[first] != '[') {
    return first != std::string_view::npos && text[first] == '{';
  }
  const std::size_t second = text.find_first_not_of(blanks, first + 1);
  return second != std::string_view::npos && (text[second] == '{' || text[second] == ']');
}

bool is_json(const std::string& path, std::string_view text) {
  if (path.ends_with(".json")) { return true; }
  return !path.ends_with(".toml") && looks_like_json(text);
}

std::vector<schedule::Activity> read_json(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos || text[first] != '[') { return {schedule::parse_activity(text)}; }
  std::vector<schedule::Activity> activities;
  for (const std::string_view item : base::json_items(text, "activities")) {
    const std::string where = "activities[" + std::to_string(activities.size()) + "]";
    schedule::Activity activity = schedule::parse_activity(item, where);
    const bool known = std::any_of(activities.begin(), activities.end(),
                                   [&activity](const schedule::Activity& other) { return other.id == activity.id; });
    if (known) {
      throw InvalidArgument(where + ".id", base::quoted(activity.id) + " is given twice; expected each activity once");
    }
    activities.push_back(std::move(activity));
  }
  return activities;
}

ActivityFile read_toml(std::string_view text, const std::string& name) {
  const config::Reading reading = app::read_configuration_text(text, name);
  if (!reading.problems.empty()) {
    const std::size_t more = reading.problems.size() - 1;
    throw BadData("InvalidArgument",
                  reading.problems.front().text() + (more == 0 ? "" : " (" + std::to_string(more) + " more)"),
                  reading.problems.front().key);
  }
  const auto is_of_activity = [](const config::Stated& stated) { return stated.key.starts_with("activities."); };
  return {
      .activities = app::activities_of(reading.config),
      .has_other_sections = !std::all_of(reading.config.stated.begin(), reading.config.stated.end(), is_of_activity)};
}

}  // namespace

ActivityFile read_activity_file(const std::string& path) {
  const std::string name = path == "-" ? "standard input" : path;
  ActivityFile file;
  try {
    const std::string text = read_payload(path == "-" ? path : "@" + path, "file");
    if (is_json(path, text)) {
      file.activities = read_json(text);
    } else {
      file = read_toml(text, name);
    }
  } catch (const InvalidArgument& error) { throw BadData(error.name(), name + ": " + error.what(), error.field()); }
  if (file.activities.empty()) {
    throw BadData("InvalidArgument",
                  name +
                      ": has no activity; expected a JSON object such as {\"id\": \"daily-report\", \"trigger\": {…}, "
                      "\"target\": {…}}, a list of them, or TOML with a table such as [activities.daily-report]",
                  "activities");
  }
  return file;
}

}  // namespace hapax::cli
