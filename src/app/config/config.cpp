#include "app/config/config.hpp"

#include "app/config/reader.hpp"
#include "store/open.hpp"

#include <algorithm>
#include <climits>
#include <cstdlib>

namespace hapax::config {

const Stated* Config::find(std::string_view key) const {
  const auto found = std::find_if(stated.begin(), stated.end(), [&](const Stated& one) { return one.key == key; });
  return found == stated.end() ? nullptr : &*found;
}

std::string Config::source_of(std::string_view key) const {
  const Stated* found = find(key);
  return found == nullptr ? "" : found->source;
}

void Config::state(Stated stated_now) {
  const auto found =
      std::find_if(stated.begin(), stated.end(), [&](const Stated& one) { return one.key == stated_now.key; });
  if (found == stated.end()) {
    stated.push_back(std::move(stated_now));
  } else {
    *found = std::move(stated_now);
  }
}

std::string Problem::text() const {
  return (source.empty() ? "" : source + ": ") + (key.empty() ? "" : key + ": ") + message;
}

Environment process_environment() {
  return [](const std::string& variable) -> std::optional<std::string> {
    const char* value = std::getenv(variable.c_str());
    return value == nullptr ? std::nullopt : std::optional<std::string>(value);
  };
}

Environment no_environment() {
  return [](const std::string&) { return std::optional<std::string>(); };
}

void read_toml(Reading& reading, std::string_view text) {
  const std::string& path = reading.config.path;
  const TomlText parsed = parse_toml(text);
  if (parsed.problem) {
    reading.problems.push_back({.source = path + ":" + std::to_string(parsed.problem->line),
                                .message = "is not TOML: " + parsed.problem->message,
                                .line = parsed.problem->line});
  } else {
    Reader(path, reading).read(parsed.root);
  }
}

void read_environment(Reading& reading, const Environment& environment) {
  for (const ScalarKey& scalar : scalar_keys()) {
    const std::string variable(scalar.variable);
    const std::optional<std::string> value = environment(variable);
    if (!value || value->empty()) { continue; }
    try {
      scalar.set(reading.config, *value, variable);
      const std::string shown = scalar.key == "store.url" ? store::display_url(*value) : *value;
      reading.config.state({.key = std::string(scalar.key), .value = shown, .source = variable});
    } catch (const InvalidArgument& error) {
      const std::string message = error.what();
      reading.problems.push_back({.key = variable, .message = message.substr(error.field().size() + 2)});
    }
  }
}

// Sorts by line; values and problems from outside the file come last.
void sort_by_line(Reading& reading) {
  const auto by_line = [](const auto& a, const auto& b) {
    return (a.line == 0 ? INT_MAX : a.line) < (b.line == 0 ? INT_MAX : b.line);
  };
  std::stable_sort(reading.config.stated.begin(), reading.config.stated.end(), by_line);
  std::stable_sort(reading.problems.begin(), reading.problems.end(), by_line);
}

Reading read_text(std::string_view text, const std::string& path, const Environment& environment) {
  Reading reading;
  reading.config.path = path;
  read_toml(reading, text);
  read_environment(reading, environment);
  check_together(reading);
  sort_by_line(reading);
  return reading;
}

Config require_good(Reading reading) {
  if (reading.problems.empty()) { return std::move(reading.config); }
  const std::size_t more = reading.problems.size() - 1;
  throw ConfigurationError(reading.problems.front().text() +
                           (more == 0 ? "" : " (" + std::to_string(more) + " more; hapax config check tells all)"));
}

Config load(const std::string& path) { return require_good(read(path, no_environment())); }

Config parse(std::string_view text, const std::string& path) {
  return require_good(read_text(text, path, no_environment()));
}

}  // namespace hapax::config
