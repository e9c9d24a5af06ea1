// Reads activity files: a JSON object, a list of objects, or TOML with [activities.ID] tables.
#pragma once

#include "schedule/activity.hpp"

#include <string>
#include <vector>

namespace hapax::cli {

struct ActivityFile {
  std::vector<schedule::Activity> activities;
  bool has_other_sections = false;  // the file also has queues, tasks, …
};

// The file's ending, .json or .toml, decides the format. For another ending, and for - (standard input), the text's
// beginning decides. Throws MissingFile, and BadData that names the file and the member if anything in the file is
// invalid.
[[nodiscard]] ActivityFile read_activity_file(const std::string& path);

}  // namespace hapax::cli
