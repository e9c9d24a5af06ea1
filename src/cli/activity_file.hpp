// Activities as people write them down: a JSON object, a list of them, or [activities.ID] tables in TOML.
#pragma once

#include "schedule/activity.hpp"

#include <string>
#include <vector>

namespace hapax::cli {

struct ActivityFile {
  std::vector<schedule::Activity> activities;
  bool has_other_sections = false;  // of a hapax.toml: queues, tasks, …
};

// By the file's ending, .json or .toml; else, and for - (standard input), by how it begins. Throws MissingFile, and
// BadData that names the file and the member if any of it cannot be taken.
[[nodiscard]] ActivityFile read_activity_file(const std::string& path);

}  // namespace hapax::cli
