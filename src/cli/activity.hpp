// The parts of `hapax activity`, which is in several files.
#pragma once

#include "cli/backend.hpp"
#include "cli/commands.hpp"
#include "wire/activity_json.hpp"
#include "wire/activity_read.hpp"
#include "wire/json_out.hpp"
#include "wire/json_view.hpp"

#include <string>

namespace hapax::cli {

// Each adds its commands to the group.
void add_activity_apply(Commands& commands, CLI::App& group);
void add_activity_delete(Commands& commands, CLI::App& group);
void add_activity_looking(Commands& commands, CLI::App& group);
void add_activity_control(Commands& commands, CLI::App& group);
void add_activity_preview(Commands& commands, CLI::App& group);
void add_activity_runs(Commands& commands, CLI::App& group);

// Adds the ID argument.
CLI::Option* add_activity_id(CLI::App& command, std::string& id);

}  // namespace hapax::cli
