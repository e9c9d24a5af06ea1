// Reads the documents of api/execution_json.hpp back into values, for the command line's tables.
#pragma once

#include <hapax/inspect.hpp>

#include "model/execution.hpp"

#include <string_view>
#include <vector>

namespace hapax::api {

// Each function throws BadAnswer. Fields that the document lacks, such as payloads that were not requested, stay empty.
[[nodiscard]] model::Execution read_execution(std::string_view document);
[[nodiscard]] std::vector<model::Attempt> read_attempts(std::string_view array);
[[nodiscard]] std::vector<TimelineEntry> read_timeline(std::string_view array);
[[nodiscard]] model::Outcome read_outcome(std::string_view document);
// The admission is created or deduplicated: the server answers every other verdict as an error.
[[nodiscard]] model::Admission read_admission(std::string_view document);
[[nodiscard]] model::QueueInfo read_queue(std::string_view document);
[[nodiscard]] std::optional<model::ErrorInfo> read_error(std::string_view document);

}  // namespace hapax::api
