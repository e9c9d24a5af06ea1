// Events as arguments give them.
#pragma once

#include "schedule/event.hpp"

#include <optional>
#include <string>

namespace hapax::cli {

// Where an argument has its event: in itself (it begins as JSON does), in a file (its path, with or without @), or in
// standard input (-).
[[nodiscard]] bool is_json_argument(const std::string& argument);
[[nodiscard]] std::string path_of_argument(const std::string& argument);  // of the other two; - stays

// One event. Throws MissingFile, and BadData that names the attribute.
[[nodiscard]] schedule::Event read_event(const std::string& argument);

// An envelope made of flags.
struct EventParts {
  std::optional<std::string> id;
  std::optional<std::string> source;
  std::optional<std::string> type;
  std::optional<std::string> subject;
  std::optional<std::string> data;  // JSON, @FILE or -

  [[nodiscard]] bool empty() const { return !id && !source && !type && !subject && !data; }
};
// As one JSON object. Throws BadUsage without source or type, and what is wrong with the data.
[[nodiscard]] std::string envelope_of(const EventParts& parts);

}  // namespace hapax::cli
