#include <hapax/prometheus.hpp>

#include "telemetry/loopback_listener.hpp"
#include "telemetry/metrics.hpp"
#include "telemetry/metrics_observer.hpp"
#include "telemetry/observed_queues.hpp"

#include <utility>

namespace hapax {

// The registry, the observer that counts in it, and the apps that are observed.
class PrometheusMetrics::State {
 public:
  explicit State(const std::string& listen) {
    if (!listen.empty()) {
      listener_ = std::make_unique<telemetry::LoopbackListener>(listen, [this] { return text(); });
    }
  }

  [[nodiscard]] std::string text() const {
    telemetry::MetricsText text;
    metrics_.visit(text);
    queues_->write(text);
    return text.text();
  }
  [[nodiscard]] std::string address() const { return listener_ ? listener_->address() : ""; }
  void stop() { listener_.reset(); }
  [[nodiscard]] std::vector<std::shared_ptr<Observer>> observers() {
    return {std::make_shared<telemetry::MetricsObserver>(metrics_), queues_};
  }

 private:
  telemetry::Metrics metrics_;
  const std::shared_ptr<telemetry::ObservedQueues> queues_ = std::make_shared<telemetry::ObservedQueues>();
  std::unique_ptr<telemetry::LoopbackListener> listener_;
};

PrometheusMetrics::PrometheusMetrics(const PrometheusOptions& options)
    : PrometheusMetrics(std::make_shared<State>(options.listen)) {}

PrometheusMetrics::PrometheusMetrics(std::shared_ptr<State> state)
    : ObserverRelay(state->observers()), state_(std::move(state)) {}

PrometheusMetrics::~PrometheusMetrics() { state_->stop(); }

std::string PrometheusMetrics::text() const { return state_->text(); }
std::string PrometheusMetrics::address() const { return state_->address(); }

}  // namespace hapax
