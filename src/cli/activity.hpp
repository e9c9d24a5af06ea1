// The parts of `hapax activity`, which is in several files.
#pragma once

#include "cli/commands.hpp"
#include "engine/engine.hpp"
#include "schedule/activities.hpp"
#include "wire/activity_json.hpp"
#include "wire/json_out.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

// Each adds its commands to the group.
void add_activity_apply(Commands& commands, CLI::App& group);
void add_activity_delete(Commands& commands, CLI::App& group);
void add_activity_looking(Commands& commands, CLI::App& group);
void add_activity_control(Commands& commands, CLI::App& group);
void add_activity_preview(Commands& commands, CLI::App& group);
void add_activity_runs(Commands& commands, CLI::App& group);

// The activities of the shell's store and namespace.
class ActivityDesk {
 public:
  explicit ActivityDesk(Shell& shell) : ns_(shell.ns()), engine_(shell.shared_store()), activities_(engine_, ns_) {}

  [[nodiscard]] engine::Engine& engine() { return engine_; }
  [[nodiscard]] schedule::Activities& activities() { return activities_; }
  // Throws NotFound, with a suggestion if another's id is near.
  [[nodiscard]] model::ActivityState get(const std::string& id);

 private:
  std::string ns_;
  engine::Engine engine_;
  schedule::Activities activities_;
};

// Adds the ID argument.
CLI::Option* add_activity_id(CLI::App& command, std::string& id);

}  // namespace hapax::cli
