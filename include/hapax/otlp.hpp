// OtlpExporter: sends spans, metrics and log lines of an app to an OpenTelemetry collector, by OTLP/HTTP with JSON.
//
//   auto app = hapax::open("sqlite:orders.db", {.observer = std::make_shared<hapax::OtlpExporter>(
//                              hapax::OtlpOptions{.url = "http://127.0.0.1:4318", .service_name = "orders"})});
//
// A trace has a span for each request (`enqueue TASK`), below it one for each attempt of the execution, and below that
// one for each step of a workflow. Tasks and workflows that a workflow starts are below the attempt that started them.
// The trace context is kept with the execution, so the spans of an enqueuing program and of its workers form one trace.
// A request without a trace context begins a trace; a request whose context says that it is not sampled has no spans.
//
// Nothing waits for the collector: what does not fit into the queue is dropped and counted.
#pragma once

#include <hapax/detail/observer_relay.hpp>
#include <hapax/observer.hpp>
#include <hapax/time.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hapax {

struct OtlpOptions {
  // The collector, http:// or https://; spans go to /v1/traces below it, metrics to /v1/metrics, log lines to /v1/logs.
  std::string url = "http://127.0.0.1:4318";
  std::string service_name = "hapax";                           // the resource attribute service.name
  std::vector<std::pair<std::string, std::string>> resource{};  // more resource attributes
  // Headers of each request, such as {"Authorization", "Bearer …"}. Headers may be secrets: no message shows them.
  std::vector<std::pair<std::string, std::string>> headers{};
  std::string ca_file{};  // trusted authorities for https; empty: the system's
  bool traces = true;
  bool metrics = true;
  bool logs = true;
  Duration interval = std::chrono::seconds(1);           // how often spans and log lines are sent
  Duration metrics_interval = std::chrono::seconds(30);  // how often metrics are sent
  Duration timeout = std::chrono::seconds(5);            // of one request
  Duration close_timeout = std::chrono::seconds(5);      // how long close() waits for the last requests
  std::size_t queue = 10'000;                            // spans and log lines, each, that may wait; 1 to 1,000,000
};

// Totals since the start.
struct OtlpCounts {
  std::uint64_t sent = 0;      // spans and log lines that the collector took
  std::uint64_t dropped = 0;   // spans and log lines that were given up: no room, or refused by the collector
  std::uint64_t failures = 0;  // requests that failed
  std::string last_error{};    // of the latest failure; without headers
};

// One object may observe several apps. Any thread may call it. One thread of its own sends.
class OtlpExporter final : public detail::ObserverRelay {
 public:
  // Throws ConfigurationError for a URL, a header or a CA file that cannot be used, and InvalidArgument for other
  // options. Connects when there is something to send.
  explicit OtlpExporter(const OtlpOptions& options);
  // Calls close().
  ~OtlpExporter() override;

  // Sends what waits, within OtlpOptions::close_timeout, and drops the rest. Events that come later are dropped.
  void close();
  [[nodiscard]] OtlpCounts counts() const;

  class State;

 private:
  explicit OtlpExporter(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace hapax
