// The metrics of a server: those of its process, and figures that are read when they are asked for.
#pragma once

#include "http/principal.hpp"
#include "telemetry/metrics.hpp"

#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace hapax::http {

using telemetry::Counter;
using telemetry::Gauge;
using telemetry::Histogram;
using telemetry::Labels;
using telemetry::MetricsText;

class Metrics : public telemetry::Metrics {
 public:
  // For values that are read when metrics are requested rather than counted (queue depths). Called once per request, on
  // a store thread, so it may block. Must report the principal's namespace only, unless the principal has the admin
  // scope. The part of a collector that throws is left out.
  using Collector = std::function<void(MetricsText&, const Principal&)>;
  void on_look(Collector collector);

  // In Prometheus' text format.
  [[nodiscard]] std::string text(const Principal& principal) const;

 private:
  mutable std::mutex collectors_mutex_;
  std::vector<Collector> collectors_;  // guarded by collectors_mutex_
};

}  // namespace hapax::http
