#include "cli/serve_telemetry.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <cstdlib>

namespace hapax::cli {

namespace {

std::string environment(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string otlp_header_value(std::string_view text) {
  std::string value;
  for (std::size_t i = 0; i < text.size(); ++i) {
    unsigned byte = 0;
    if (text[i] != '%') {
      value += text[i];
      continue;
    }
    const std::string_view digits = text.substr(i + 1, 2);
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), byte, 16);
    if (error != std::errc{} || digits.size() != 2 || end != digits.data() + 2) {
      throw ConfigurationError("OTEL_EXPORTER_OTLP_HEADERS has a % without two hex digits behind it");
    }
    value += static_cast<char>(static_cast<std::uint8_t>(byte));
    i += 2;
  }
  return value;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> parse_otlp_headers(std::string_view text) {
  std::vector<std::pair<std::string, std::string>> headers;
  while (!text.empty()) {
    const std::string_view one = base::trimmed(text.substr(0, text.find(',')));
    text.remove_prefix(std::min(text.size(), text.find(',') == text.npos ? text.size() : text.find(',') + 1));
    if (one.empty()) { continue; }
    const std::size_t equals = one.find('=');
    if (equals == one.npos || equals == 0) {
      throw ConfigurationError("OTEL_EXPORTER_OTLP_HEADERS has an entry that is not name=value");
    }
    headers.emplace_back(base::trimmed(one.substr(0, equals)),
                         otlp_header_value(base::trimmed(one.substr(equals + 1))));
  }
  return headers;
}

std::shared_ptr<OtlpExporter> make_exporter(const std::string& url, http::Metrics& metrics) {
  if (url.empty()) { return nullptr; }
  OtlpOptions options{.url = url, .headers = parse_otlp_headers(environment("OTEL_EXPORTER_OTLP_HEADERS"))};
  if (std::string name = environment("OTEL_SERVICE_NAME"); !name.empty()) { options.service_name = std::move(name); }
  auto exporter = std::make_shared<OtlpExporter>(options);
  metrics.on_look([exporter](http::MetricsText& text, const http::Principal& principal) {
    if (!principal.admin) { return; }
    const OtlpCounts counts = exporter->counts();
    text.begin_family("hapax_otlp_sent_total", "counter", "Spans and log lines that the collector took");
    text.value({}, static_cast<double>(counts.sent));
    text.begin_family("hapax_otlp_dropped_total", "counter", "Spans and log lines that were given up");
    text.value({}, static_cast<double>(counts.dropped));
    text.begin_family("hapax_otlp_failures_total", "counter", "Requests to the collector that failed");
    text.value({}, static_cast<double>(counts.failures));
  });
  return exporter;
}

}  // namespace hapax::cli
