// The telemetry of `hapax serve`: spans and metrics to an OpenTelemetry collector.
#pragma once

#include <hapax/otlp.hpp>

#include "http/metrics.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::cli {

// An exporter to the collector at `url`; null for an empty one. Name and headers come from OTEL_SERVICE_NAME and
// OTEL_EXPORTER_OTLP_HEADERS, as headers may be secrets. The server's metrics show what was dropped. Throws
// ConfigurationError.
[[nodiscard]] std::shared_ptr<OtlpExporter> make_exporter(const std::string& url, http::Metrics& metrics);

// "name=value,name=value", the values percent-encoded (OpenTelemetry's form). Throws ConfigurationError, which shows no
// value.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> parse_otlp_headers(std::string_view text);

}  // namespace hapax::cli
