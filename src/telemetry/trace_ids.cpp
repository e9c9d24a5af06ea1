#include "telemetry/trace_ids.hpp"

#include "base/sha256.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace hapax::telemetry {

namespace {

constexpr std::size_t traceparent_length = 55;  // 00-<32 digits>-<16 digits>-<2 digits>

bool is_hex(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
}

std::string span_of(std::string_view kind, const Uuid& id, std::int64_t number) {
  const std::string of_id = id.to_string();
  const std::string of_number = std::to_string(number);
  const std::array<std::string_view, 3> parts = {kind, of_id, of_number};
  const base::Digest digest = base::sha256_parts(parts);
  return base::to_hex(std::span(digest).first(8));
}

}  // namespace

std::optional<TraceParent> parse_traceparent(std::string_view text) {
  if (text.size() != traceparent_length || !text.starts_with("00-") || text[35] != '-' || text[52] != '-') {
    return std::nullopt;
  }
  const std::string_view trace = text.substr(3, 32);
  const std::string_view span = text.substr(36, 16);
  const std::string_view flags = text.substr(53);
  if (!is_hex(trace) || !is_hex(span) || !is_hex(flags)) { return std::nullopt; }
  const char last = flags.back();
  const int digit = last <= '9' ? last - '0' : last - 'a' + 10;
  return TraceParent{.trace = std::string(trace), .span = std::string(span), .sampled = (digit & 1) != 0};
}

std::string to_text(const TraceParent& parent) {
  return "00-" + parent.trace + "-" + parent.span + (parent.sampled ? "-01" : "-00");
}

std::string trace_of(const Uuid& execution) { return base::to_hex(execution.bytes); }
std::string span_of_request(const Uuid& request) { return span_of("request", request, 0); }
std::string span_of_attempt(const Uuid& execution, std::int64_t fence) { return span_of("attempt", execution, fence); }

}  // namespace hapax::telemetry
