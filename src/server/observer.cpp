#include "server/observer.hpp"

#include <hapax/time.hpp>

#include "base/json_text.hpp"

#include <cstdio>

namespace hapax::server {

namespace {

constexpr const char* requests_help = "Requests over HTTP that were answered";
constexpr const char* took_help = "From a request's first byte to the last of its answer, waits of long polls included";

Labels labels_of(const Route* route) {
  return {{"method", route == nullptr ? "other" : route->method},
          {"route", route == nullptr ? "none" : route->pattern}};
}

std::string begin_line(std::string_view event) {
  std::string line;
  line.reserve(320);
  const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  return line.append("{\"time\":\"").append(format_time(now)).append("\",\"event\":\"").append(event).append("\"");
}

void append_text(std::string& line, std::string_view key, std::string_view value) {
  line.append(",\"").append(key).append("\":");
  base::append_json_quoted(line, value);
}

void append_number(std::string& line, std::string_view key, std::uint64_t value) {
  line.append(",\"").append(key).append("\":").append(std::to_string(value));
}

}  // namespace

Observer::Observer(Metrics& metrics, const Router& router, std::function<void(std::string_view)> log)
    : connections(metrics.gauge("hapax_http_connections", "Connections that are open now")),
      accepted(metrics.counter("hapax_http_connections_total", "Connections that were accepted")),
      refused(metrics.counter("hapax_http_connections_refused_total", "Connections over the limit, answered 503")),
      dropped(metrics.counter("hapax_http_connections_dropped_total", "Connections ended by a timer while they asked")),
      metrics_(metrics),
      log_(std::move(log)) {
  for (const Route* const route : router.routes()) { routes_.emplace(route, make(route)); }
  routes_.emplace(nullptr, make(nullptr));
}

std::unique_ptr<Observer::OfRoute> Observer::make(const Route* route) {
  auto of_route = std::make_unique<OfRoute>();
  of_route->took = &metrics_.histogram("hapax_http_request_seconds", took_help, labels_of(route));
  return of_route;
}

void Observer::tell(const Observation& observation) {
  OfRoute& of_route = *routes_.at(observation.route);
  of_route.took->observe(observation.took);
  const auto status = static_cast<std::size_t>(observation.status);
  if (status < statuses) {
    // Two threads may make it at once: the registry gives both the same.
    Counter* counter = of_route.by_status[status].load(std::memory_order_acquire);
    if (counter == nullptr) {
      Labels labels = labels_of(observation.route);
      labels.emplace_back("status", std::to_string(status));
      counter = &metrics_.counter("hapax_http_requests_total", requests_help, labels);
      of_route.by_status[status].store(counter, std::memory_order_release);
    }
    counter->add();
  }
  if (!log_) { return; }
  std::string line = begin_line("request");
  append_text(line, "method", observation.method);
  append_text(line, "route", observation.route == nullptr ? "none" : observation.route->pattern);
  append_number(line, "status", status);
  if (!observation.error.empty()) { append_text(line, "error", observation.error); }
  std::array<char, 32> milliseconds{};
  const int length = std::snprintf(milliseconds.data(), milliseconds.size(), "%.3f",
                                   std::chrono::duration<double, std::milli>(observation.took).count());
  line.append(",\"duration_ms\":").append(milliseconds.data(), static_cast<std::size_t>(length));
  append_number(line, "bytes_in", observation.bytes_in);
  append_number(line, "bytes_out", observation.bytes_out);
  append_text(line, "peer", observation.peer);
  if (observation.principal != nullptr) {
    append_text(line, "principal", observation.principal->name);
    append_text(line, "namespace", observation.principal->ns);
  }
  if (!observation.trace.empty()) { append_text(line, "traceparent", observation.trace); }
  line += "}\n";
  log_(line);
}

void Observer::tell_defect(const Route* route, std::string_view defect) {
  metrics_.counter("hapax_http_defects_total", "Requests that met a defect of the server").add();
  if (!log_) { return; }
  std::string line = begin_line("defect");
  append_text(line, "route", route == nullptr ? "none" : route->pattern);
  append_text(line, "detail", defect);
  line += "}\n";
  log_(line);
}

}  // namespace hapax::server
