// PrometheusMetrics: the metrics of an app in Prometheus' text format, with the names that `hapax serve` has.
//
//   auto metrics = std::make_shared<hapax::PrometheusMetrics>();
//   auto app = hapax::open("sqlite:orders.db", {.observer = metrics});
//   my_server.get("/metrics", [metrics] { return metrics->text(); });
//
// A program without an HTTP server of its own lets the object listen: {.listen = "127.0.0.1:9464"}.
// docs/reference/metrics.md lists the metrics.
#pragma once

#include <hapax/detail/observer_relay.hpp>
#include <hapax/observer.hpp>

#include <memory>
#include <string>
#include <string_view>

namespace hapax {

struct PrometheusOptions {
  // Also answers GET /metrics at this address, ADDRESS:PORT with a loopback address (127.0.0.1, [::1], localhost). Port
  // 0: a free one. Empty: does not listen. The listener has no authentication, so other addresses are refused.
  std::string listen{};
};

// The content type of PrometheusMetrics::text().
inline constexpr std::string_view prometheus_content_type = "text/plain; version=0.0.4; charset=utf-8";

// One object may observe several apps; their counts are then added up, and their queues shown one after the other. Any
// thread may call it.
class PrometheusMetrics final : public detail::ObserverRelay {
 public:
  // Throws InvalidArgument for an address that is not of the loopback, and ConfigurationError when it cannot listen.
  explicit PrometheusMetrics(const PrometheusOptions& options = {});
  // Stops the listener. Requests that it answers are cut off.
  ~PrometheusMetrics() override;

  // Reads the figures of queues from the store, so it may block; the queues of an app whose store is unavailable or
  // closed are left out.
  [[nodiscard]] std::string text() const;
  // The listener's address with its port, such as "127.0.0.1:9464"; empty without a listener.
  [[nodiscard]] std::string address() const;

  class State;

 private:
  explicit PrometheusMetrics(std::shared_ptr<State> state);

  const std::shared_ptr<State> state_;
};

}  // namespace hapax
