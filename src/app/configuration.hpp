// The activities of hapax.toml: reads, describes and applies them.
//
// Callers that read or apply a configuration use these functions. config::read and config::apply keep activities as
// JSON and do not interpret them.
#pragma once

#include "app/config/apply.hpp"
#include "app/config/config.hpp"
#include "engine/engine.hpp"
#include "schedule/activity.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::app {

// config::read, plus a problem with its line number for each invalid activity.
[[nodiscard]] config::Reading read_configuration(const std::string& path, const config::Environment& environment);
// The same for a text, as if it were the content of the file at `path`.
[[nodiscard]] config::Reading read_configuration_text(std::string_view text, const std::string& path);

// The activities of a configuration that was read without problems, ordered by id.
[[nodiscard]] std::vector<schedule::Activity> activities_of(const config::Config& config);

// "Activity daily-report: at 09:00 on weekdays, Europe/Zurich; runs task generate-report in queue reports; …"
[[nodiscard]] std::string describe_activity(const schedule::Activity& activity);

// config::plan, config::apply and config::apply_at_start, with the activities. Activities that the configuration does
// not mention stay as they are. A paused activity stays paused.
[[nodiscard]] std::vector<config::Change> plan_configuration(engine::Engine& engine, const std::string& namespace_name,
                                                             const config::Config& config);
std::vector<config::Change> apply_configuration(engine::Engine& engine, const std::string& namespace_name,
                                                const config::Config& config, const std::string& actor);
std::vector<config::Change> apply_configuration_at_start(engine::Engine& engine, const std::string& namespace_name,
                                                         const config::Config& config, const std::string& actor);

}  // namespace hapax::app
