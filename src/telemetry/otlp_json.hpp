// OTLP's JSON: requests of spans, log lines and metrics. Pure functions; invalid bytes in texts are escaped.
#pragma once

#include "telemetry/metrics.hpp"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::telemetry {

using Attributes = std::vector<std::pair<std::string, std::string>>;

// [{"key": …, "value": {"stringValue": …}}, …]
[[nodiscard]] std::string attributes_json(const Attributes& attributes);

// OTLP's numbers.
enum class SpanKind { internal = 1, server = 2, client = 3, producer = 4, consumer = 5 };

struct Span {
  std::string trace;   // hex
  std::string id;      // hex
  std::string parent;  // hex; empty: a root
  std::string state;   // tracestate
  std::string name;
  SpanKind kind = SpanKind::internal;
  std::int64_t began_ns = 0;  // since 1970
  std::int64_t ended_ns = 0;
  std::string error;  // empty: it went well
  Attributes attributes;
};
[[nodiscard]] std::string span_json(const Span& span);

struct LogLine {
  std::int64_t at_ns = 0;
  int severity = 9;  // OTLP's severity number
  std::string_view level;
  std::string_view message;
  Attributes attributes;
};
[[nodiscard]] std::string log_json(const LogLine& line);

// Whole requests. `items` are spans or log lines as above; `resource` is attributes_json().
[[nodiscard]] std::string traces_request(std::string_view resource, std::span<const std::string> items);
[[nodiscard]] std::string logs_request(std::string_view resource, std::span<const std::string> items);

// Writes the metrics that it visits, with totals since `began_ns`.
class MetricsJson final : public MetricsVisitor {
 public:
  MetricsJson(std::int64_t began_ns, std::int64_t now_ns) : began_ns_(began_ns), now_ns_(now_ns) {}
  void begin_family(std::string_view name, std::string_view type, std::string_view help) override;
  void value(const Labels& labels, double value) override;
  void histogram(const Labels& labels, const Histogram& histogram) override;
  [[nodiscard]] std::string request(std::string_view resource);

 private:
  void end_family();
  void add_point(const Labels& labels, const std::string& members);

  const std::int64_t began_ns_;
  const std::int64_t now_ns_;
  std::string name_;
  std::string type_;
  std::string help_;
  std::string points_;
  std::string metrics_;
};

}  // namespace hapax::telemetry
