// What the API and the engine below it count (SPEC §13).
#pragma once

#include "engine/engine.hpp"
#include "model/execution.hpp"
#include "server/metrics.hpp"

#include <span>

namespace hapax::server {

class ApiMetrics {
 public:
  // Observes the engine; both outlive it.
  ApiMetrics(Metrics& metrics, engine::Engine& engine);

  void claimed(std::size_t count, Duration took);
  // One store call, its verdicts in the order of the finishes.
  void finished(std::span<const model::Finish> finishes, std::span<const model::FinishVerdict> verdicts, Duration took);

 private:
  void admitted(std::span<const model::Admission> admissions, Duration took);

  // By AdmissionVerdict.
  std::array<Counter*, 9> admissions_{};
  Histogram& admission_size_;
  Histogram& admission_seconds_;
  Counter& claims_;
  Histogram& claim_size_;
  Histogram& claim_seconds_;
  // By FinishKind.
  std::array<Counter*, 9> outcomes_{};
  Counter& retries_;
  Counter& stale_;
  Histogram& finish_size_;
  Histogram& finish_seconds_;
  Counter& lost_sessions_;
  Counter& lost_leases_;
  Counter& dead_by_loss_;
  Counter& timed_out_;
  Counter& sweep_failures_;
  Gauge& sweep_bad_rows_;
};

}  // namespace hapax::server
