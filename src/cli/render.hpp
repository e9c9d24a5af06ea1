// Executions, attempts and queues as JSON for scripts and as text for people.
#pragma once

#include <hapax/inspect.hpp>
#include <hapax/status.hpp>

#include "cli/json_out.hpp"
#include "cli/table.hpp"
#include "model/execution.hpp"

#include <optional>
#include <string>
#include <vector>

namespace hapax::cli {

[[nodiscard]] std::string error_json(const std::optional<model::ErrorInfo>& error);
[[nodiscard]] std::string attempt_json(const model::Attempt& attempt);
[[nodiscard]] std::string timeline_json(const std::vector<TimelineEntry>& timeline);
// All fields of an execution; payloads only when they were read. `attempts` and `journal` add those lists.
[[nodiscard]] std::string execution_json(const model::Execution& execution, bool payloads,
                                         const std::vector<model::Attempt>* attempts = nullptr,
                                         const std::vector<TimelineEntry>* journal = nullptr);
[[nodiscard]] std::string queue_json(const model::QueueInfo& queue);
// {"id","status","result"?,"error"?}
[[nodiscard]] std::string outcome_json(const model::Outcome& outcome);

[[nodiscard]] Style status_style(Status status);
[[nodiscard]] Cell status_cell(const model::Execution& execution, Time now);

// "3m ago", "in 20s" on a terminal; the instant itself elsewhere.
[[nodiscard]] std::string when(std::optional<Time> time, Time now);
// "2h 5m", "3.2s", "12ms": two figures are enough for people.
[[nodiscard]] std::string rough(Duration duration);
[[nodiscard]] std::string plural(std::int64_t count, const std::string& noun);
// "ValueError: no such order", on one line.
[[nodiscard]] std::string error_line(const std::optional<model::ErrorInfo>& error);
[[nodiscard]] std::optional<model::ErrorInfo> error_of(const TimelineEntry& entry);

}  // namespace hapax::cli
