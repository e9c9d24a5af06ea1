// The documents of wire/execution_json.hpp read back into values: for those who show them to people.
#pragma once

#include <hapax/inspect.hpp>

#include "model/execution.hpp"

#include <string_view>
#include <vector>

namespace hapax::wire {

// Each throws BadAnswer. What the document does not have (payloads that were not asked for) is empty.
[[nodiscard]] model::Execution read_execution(std::string_view document);
[[nodiscard]] std::vector<model::Attempt> read_attempts(std::string_view array);
[[nodiscard]] std::vector<TimelineEntry> read_timeline(std::string_view array);
[[nodiscard]] model::Outcome read_outcome(std::string_view document);
// Of the two verdicts that are no errors: created and deduplicated.
[[nodiscard]] model::Admission read_admission(std::string_view document);
[[nodiscard]] model::QueueInfo read_queue(std::string_view document);
[[nodiscard]] std::optional<model::ErrorInfo> read_error(std::string_view document);

}  // namespace hapax::wire
