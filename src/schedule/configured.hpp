// hapax.toml with its activities: what the room config keeps as JSON is read, told and brought into a store here.
//
// Whoever reads or applies a configuration does it by these; config::read and config::apply know nothing of what an
// activity means.
#pragma once

#include "config/apply.hpp"
#include "config/config.hpp"
#include "engine/engine.hpp"
#include "schedule/activity.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::schedule {

// config::read, and a problem for each activity that cannot be taken, at its line.
[[nodiscard]] config::Reading read_configuration(const std::string& path, const config::Environment& environment);
// The same of a text, as if it stood in a file of that path.
[[nodiscard]] config::Reading read_configuration_text(std::string_view text, const std::string& path);

// The activities of a configuration that was read without problems, by id.
[[nodiscard]] std::vector<Activity> activities_of(const config::Config& config);

// "Activity daily-report: at 09:00 on weekdays, Europe/Zurich; runs task generate-report in queue reports; …"
[[nodiscard]] std::string in_words(const Activity& activity);

// As config::plan, config::apply and config::apply_at_start. Activities that the configuration does not mention are left
// alone; those that are paused stay so.
[[nodiscard]] std::vector<config::Change> plan_configuration(engine::Engine& engine, const std::string& ns,
                                                             const config::Config& config);
std::vector<config::Change> apply_configuration(engine::Engine& engine, const std::string& ns,
                                                const config::Config& config, const std::string& actor);
std::vector<config::Change> apply_configuration_at_start(engine::Engine& engine, const std::string& ns,
                                                         const config::Config& config, const std::string& actor);

}  // namespace hapax::schedule
