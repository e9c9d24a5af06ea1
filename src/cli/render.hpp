// Formats executions for people; api/execution_json.hpp formats them for scripts.
#pragma once

#include <hapax/status.hpp>

#include "api/execution_json.hpp"
#include "cli/table.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hapax::cli {

[[nodiscard]] Style status_style(Status status);
[[nodiscard]] Cell status_cell(const model::Execution& execution, Time now);

// "3m ago", "in 20s" on a terminal; elsewhere the instant itself.
[[nodiscard]] std::string when(std::optional<Time> time, Time now);
// Rounded for people: "2h 5m", "3.2s", "12ms".
[[nodiscard]] std::string rough(Duration duration);
[[nodiscard]] std::string plural(std::int64_t count, const std::string& noun);
// "ValueError: no such order", on one line.
[[nodiscard]] std::string error_line(const std::optional<model::ErrorInfo>& error);

}  // namespace hapax::cli
