#include "http/observer.hpp"

#include <hapax/time.hpp>

#include "base/json_text.hpp"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace hapax::http {

namespace {

constexpr const char* requests_help = "Requests over HTTP that were answered";
constexpr const char* took_help = "From a request's first byte to the last of its answer, waits of long polls included";

Labels labels_of(const Route* route) {
  return {{"method", route == nullptr ? "other" : route->method},
          {"route", route == nullptr ? "none" : route->pattern}};
}

// Same text as format_time(); the part up to the second is formatted once per second and thread.
void append_now(std::string& line) {
  struct Second {
    std::chrono::sys_seconds at{};
    std::string text;  // without its Z
  };
  static thread_local Second second;
  const Time now = std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now());
  const auto whole = std::chrono::floor<std::chrono::seconds>(now);
  if (whole != second.at || second.text.empty()) {
    second.text = format_time(Time(whole));
    second.text.pop_back();
    second.at = whole;
  }
  line += second.text;
  auto fraction = static_cast<unsigned>((now - whole).count());
  if (fraction != 0) {
    std::array<char, 7> digits{'.'};
    const std::size_t count = fraction % 1000 == 0 ? 3 : 6;
    if (count == 3) { fraction /= 1000; }
    for (std::size_t i = count; i > 0; --i, fraction /= 10) { digits[i] = static_cast<char>('0' + fraction % 10); }
    line.append(digits.data(), count + 1);
  }
  line += 'Z';
}

// The thread's buffer for a line, reused for the next one.
std::string& begin_line(std::string_view event) {
  static thread_local std::string line;
  line.assign("{\"time\":\"");
  append_now(line);
  return line.append("\",\"event\":\"").append(event).append("\"");
}

// `key` includes its comma, quotes and colon, to append it in one piece: each request writes a line.
void append_text(std::string& line, std::string_view key, std::string_view value) {
  line += key;
  base::append_json_quoted(line, value);
}

void append_number(std::string& line, std::string_view key, std::uint64_t value) {
  std::array<char, 20> digits;
  const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
  line.append(key).append(digits.data(), end);
}

// Three digits after the point.
void append_milliseconds(std::string& line, std::string_view key, std::chrono::microseconds value) {
  const auto microseconds = static_cast<std::uint64_t>(std::max<std::int64_t>(0, value.count()));
  append_number(line, key, microseconds / 1000);
  const auto rest = static_cast<unsigned>(microseconds % 1000);
  const auto digit = [](unsigned value_of) { return static_cast<char>('0' + value_of % 10); };
  const std::array<char, 4> fraction = {'.', digit(rest / 100), digit(rest / 10), digit(rest)};
  line.append(fraction.data(), fraction.size());
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
  append_text(of_route->log_member, R"(,"route":)", route == nullptr ? "none" : route->pattern);
  return of_route;
}

void Observer::tell(const Observation& observation) {
  OfRoute& of_route = *routes_.at(observation.route);
  of_route.took->observe(observation.took);
  const auto status = static_cast<std::size_t>(observation.status);
  if (status < statuses) {
    // If two threads make the counter at once, the registry gives both the same one.
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
  std::string& line = begin_line("request");
  append_text(line, R"(,"method":)", observation.method);
  line += of_route.log_member;
  append_number(line, R"(,"status":)", status);
  if (!observation.error.empty()) { append_text(line, R"(,"error":)", observation.error); }
  append_milliseconds(line, R"(,"duration_ms":)",
                      std::chrono::duration_cast<std::chrono::microseconds>(observation.took));
  append_number(line, R"(,"bytes_in":)", observation.bytes_in);
  append_number(line, R"(,"bytes_out":)", observation.bytes_out);
  append_text(line, R"(,"peer":)", observation.peer);
  if (observation.principal != nullptr) {
    append_text(line, R"(,"principal":)", observation.principal->name);
    append_text(line, R"(,"namespace":)", observation.principal->namespace_name);
  }
  if (!observation.trace.empty()) { append_text(line, R"(,"traceparent":)", observation.trace); }
  line += "}\n";
  log_(line);
}

void Observer::record_defect(const Route* route, std::string_view defect) {
  metrics_.counter("hapax_http_defects_total", "Requests that met a defect of the server").add();
  if (!log_) { return; }
  std::string& line = begin_line("defect");
  append_text(line, R"(,"route":)", route == nullptr ? "none" : route->pattern);
  append_text(line, R"(,"detail":)", defect);
  line += "}\n";
  log_(line);
}

}  // namespace hapax::http
