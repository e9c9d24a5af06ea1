// Reads events from command-line arguments.
#pragma once

#include "schedule/event.hpp"

#include <optional>
#include <string>

namespace hapax::cli {

// An event argument is JSON (it begins with { or [), the path of a file (with or without @), or - for standard input.
[[nodiscard]] bool is_json_argument(const std::string& argument);
[[nodiscard]] std::string path_of_argument(const std::string& argument);  // without the @; - stays -

// Reads one event. Throws MissingFile, and BadData that names the attribute.
[[nodiscard]] schedule::Event read_event(const std::string& argument);

// The parts of an envelope that is made from flags.
struct EventParts {
  std::optional<std::string> id;
  std::optional<std::string> source;
  std::optional<std::string> type;
  std::optional<std::string> subject;
  std::optional<std::string> data;  // JSON, @FILE or -

  [[nodiscard]] bool empty() const { return !id && !source && !type && !subject && !data; }
};
// The envelope as a JSON object. Throws BadUsage without source or type, and the errors of reading and checking the
// data.
[[nodiscard]] std::string envelope_of(const EventParts& parts);

}  // namespace hapax::cli
