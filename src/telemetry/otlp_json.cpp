#include "telemetry/otlp_json.hpp"

#include "base/json.hpp"
#include "base/text.hpp"

#include <hapax/version.hpp>

#include <array>
#include <charconv>
#include <numeric>

namespace hapax::telemetry {

namespace {

std::string quoted(std::string_view text) { return base::json_quote(base::escape_invalid(text)); }
// OTLP writes numbers of 64 bits as strings.
template <class Number>
std::string whole(Number number) {
  return "\"" + std::to_string(number) + "\"";
}

std::string real(double value) {
  std::array<char, 40> text{};
  const auto [end, error] = std::to_chars(text.data(), text.data() + text.size(), value);
  return {text.data(), end};
}

std::string joined(std::span<const std::string> items) {
  std::string text;
  for (const std::string& item : items) { text.append(text.empty() ? "" : ",").append(item); }
  return text;
}

// {"resourceSpans":[{"resource":…,"scopeSpans":[{"scope":…,"spans":[…]}]}]}, and alike for the other signals.
std::string request(std::string_view signal, std::string_view list, std::string_view resource,
                    const std::string& items) {
  std::string text = "{\"resource";
  text.append(signal).append("\":[{\"resource\":{\"attributes\":").append(resource).append("},\"scope");
  text.append(signal).append("\":[{\"scope\":{\"name\":\"hapax\",\"version\":").append(quoted(version));
  text.append("},\"").append(list).append("\":[").append(items).append("]}]}]}");
  return text;
}

}  // namespace

std::string attributes_json(const Attributes& attributes) {
  std::string text = "[";
  for (const auto& [key, value] : attributes) {
    if (text.size() > 1) { text += ','; }
    text += "{\"key\":" + quoted(key) + ",\"value\":{\"stringValue\":" + quoted(value) + "}}";
  }
  return text + "]";
}

std::string span_json(const Span& span) {
  std::string text = "{\"traceId\":" + quoted(span.trace) + ",\"spanId\":" + quoted(span.id);
  if (!span.parent.empty()) { text += ",\"parentSpanId\":" + quoted(span.parent); }
  if (!span.state.empty()) { text += ",\"traceState\":" + quoted(span.state); }
  text += ",\"name\":" + quoted(span.name) + ",\"kind\":" + std::to_string(static_cast<int>(span.kind));
  text += ",\"startTimeUnixNano\":" + whole(span.began_ns) + ",\"endTimeUnixNano\":" + whole(span.ended_ns);
  text += ",\"attributes\":" + attributes_json(span.attributes);
  if (!span.error.empty()) { text += ",\"status\":{\"code\":2,\"message\":" + quoted(span.error) + "}"; }
  return text + "}";
}

std::string log_json(const LogLine& line) {
  return "{\"timeUnixNano\":" + whole(line.at_ns) + ",\"severityNumber\":" + std::to_string(line.severity) +
         ",\"severityText\":" + quoted(line.level) + ",\"body\":{\"stringValue\":" + quoted(line.message) +
         "},\"attributes\":" + attributes_json(line.attributes) + "}";
}

std::string traces_request(std::string_view resource, std::span<const std::string> items) {
  return request("Spans", "spans", resource, joined(items));
}

std::string logs_request(std::string_view resource, std::span<const std::string> items) {
  return request("Logs", "logRecords", resource, joined(items));
}

void MetricsJson::begin_family(std::string_view name, std::string_view type, std::string_view help) {
  end_family();
  name_ = name;
  type_ = type;
  help_ = help;
}

void MetricsJson::add_point(const Labels& labels, const std::string& members) {
  if (!points_.empty()) { points_ += ','; }
  points_ += "{\"attributes\":" + attributes_json(labels) + ",\"startTimeUnixNano\":" + whole(began_ns_) +
             ",\"timeUnixNano\":" + whole(now_ns_) + "," + members + "}";
}

void MetricsJson::value(const Labels& labels, double value) { add_point(labels, "\"asDouble\":" + real(value)); }

void MetricsJson::histogram(const Labels& labels, const Histogram& histogram) {
  std::vector<std::string> counts;
  std::uint64_t all = 0;
  for (const std::uint64_t count : histogram.counts()) {
    counts.push_back(whole(count));
    all += count;
  }
  std::vector<std::string> bounds;
  for (const double bound : histogram.bounds()) { bounds.push_back(real(bound)); }
  add_point(labels, "\"count\":" + whole(all) + ",\"sum\":" + real(histogram.sum()) + ",\"bucketCounts\":[" +
                        joined(counts) + "],\"explicitBounds\":[" + joined(bounds) + "]");
}

void MetricsJson::end_family() {
  if (!points_.empty()) {
    const bool is_counter = type_ == "counter";
    const std::string_view kind = is_counter ? "sum" : type_ == "histogram" ? "histogram" : "gauge";
    if (!metrics_.empty()) { metrics_ += ','; }
    metrics_ += "{\"name\":" + quoted(name_) + ",\"description\":" + quoted(help_) + ",\"" + std::string(kind) + "\":{";
    if (kind != "gauge") { metrics_ += "\"aggregationTemporality\":2,"; }
    if (is_counter) { metrics_ += "\"isMonotonic\":true,"; }
    metrics_ += "\"dataPoints\":[" + points_ + "]}}";
  }
  points_.clear();
}

std::string MetricsJson::request(std::string_view resource) {
  end_family();
  return telemetry::request("Metrics", "metrics", resource, metrics_);
}

}  // namespace hapax::telemetry
