// An enqueue request as text (flags, or a line of a bulk file) made into a checked NewExecution.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::cli {

struct RequestFields {
  std::string task;
  std::string input = "null";  // JSON
  std::optional<std::string> task_id;
  std::string queue = "default";
  std::string on_conflict = "return_existing";
  std::optional<std::string> delay;
  std::optional<std::string> run_at;
  std::int64_t priority = 0;
  std::int64_t max_attempts = 4;
  std::optional<std::string> retry_base;
  std::optional<std::string> retry_cap;
  std::optional<std::string> timeout;
  std::optional<std::string> deadline;
  std::vector<std::string> tags;
  std::string metadata;  // JSON object, or empty
  std::string traceparent;
};

// Throws the typed error that names the field.
[[nodiscard]] model::NewExecution make_request(const RequestFields& fields, const std::string& ns);

[[nodiscard]] OnConflict parse_on_conflict(std::string_view text);

// Reads {"task","input","task_id"?,"queue"?,…} over `defaults`. Unknown members are errors with a suggestion. Throws
// InvalidArgument and its kin.
[[nodiscard]] RequestFields parse_request_line(std::string_view line, const RequestFields& defaults);

}  // namespace hapax::cli
