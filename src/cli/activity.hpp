// The subcommands of `hapax activity`, one group of them per file.
#pragma once

#include "api/activity_json.hpp"
#include "api/activity_read.hpp"
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "cli/backend.hpp"
#include "cli/commands.hpp"

#include <string>

namespace hapax::cli {

// Each function adds its commands to the group.
void add_activity_apply(Commands& commands, CLI::App& group);
void add_activity_delete(Commands& commands, CLI::App& group);
void add_activity_looking(Commands& commands, CLI::App& group);
void add_activity_control(Commands& commands, CLI::App& group);
void add_activity_preview(Commands& commands, CLI::App& group);
void add_activity_runs(Commands& commands, CLI::App& group);

// Adds the ID argument.
CLI::Option* add_activity_id(CLI::App& command, std::string& id);

}  // namespace hapax::cli
