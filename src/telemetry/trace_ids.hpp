// The trace context as numbers, and the ids of hapax's spans. Pure functions.
//
// The id of a span follows from the execution, so a worker knows the span of the enqueue that another process made.
#pragma once

#include <hapax/uuid.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace hapax::telemetry {

// The fields of a traceparent of version 00, in hex.
struct TraceParent {
  std::string trace;  // 32 digits
  std::string span;   // 16 digits
  bool sampled = true;
};
// None for an empty or malformed text.
[[nodiscard]] std::optional<TraceParent> parse_traceparent(std::string_view text);
[[nodiscard]] std::string to_text(const TraceParent& parent);

// The trace of an execution whose request came with none.
[[nodiscard]] std::string trace_of(const Uuid& execution);
[[nodiscard]] std::string span_of_request(const Uuid& request);
[[nodiscard]] std::string span_of_attempt(const Uuid& execution, std::int64_t fence);

}  // namespace hapax::telemetry
