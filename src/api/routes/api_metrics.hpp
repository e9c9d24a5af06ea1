// Counters and histograms of the API and of the engine below it.
#pragma once

#include "engine/engine.hpp"
#include "http/metrics.hpp"
#include "model/execution.hpp"

#include <span>

namespace hapax::api {

class ApiMetrics {
 public:
  // Observes the engine; the engine and the metrics outlive it.
  ApiMetrics(http::Metrics& metrics, engine::Engine& engine);

  void claimed(std::size_t count, Duration took);
  // One store call; verdicts in the order of the finishes.
  void finished(std::span<const model::Finish> finishes, std::span<const model::FinishVerdict> verdicts, Duration took);

 private:
  void admitted(std::span<const model::Admission> admissions, Duration took);

  // Indexed by AdmissionVerdict.
  std::array<http::Counter*, 9> admissions_{};
  http::Histogram& admission_size_;
  http::Histogram& admission_seconds_;
  http::Counter& claims_;
  http::Histogram& claim_size_;
  http::Histogram& claim_seconds_;
  // Indexed by FinishKind.
  std::array<http::Counter*, 9> outcomes_{};
  http::Counter& retries_;
  http::Counter& stale_;
  http::Histogram& finish_size_;
  http::Histogram& finish_seconds_;
  http::Counter& lost_sessions_;
  http::Counter& lost_leases_;
  http::Counter& dead_by_loss_;
  http::Counter& timed_out_;
  http::Counter& sweep_failures_;
  http::Gauge& sweep_bad_rows_;
};

}  // namespace hapax::api
