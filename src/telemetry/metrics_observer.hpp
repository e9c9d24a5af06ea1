// MetricsObserver: counts what an app or a server does. One set of names for both.
//
// docs/reference/metrics.md lists the names.
#pragma once

#include <hapax/observer.hpp>

#include "telemetry/metrics.hpp"

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <shared_mutex>
#include <span>
#include <string>
#include <string_view>

namespace hapax::telemetry {

// Tasks, by namespace and queue, that have samples of their own; what comes later counts under "other".
inline constexpr std::size_t tasks_shown = 200;

// The registry outlives it. Any thread.
class MetricsObserver final : public Observer {
 public:
  explicit MetricsObserver(Metrics& metrics);

  void on_admissions(const AdmissionBatch& batch) override;
  void on_claims(const ClaimBatch& batch) override;
  void on_attempt_begun(const AttemptBegin& begin) override;
  void on_attempt_ended(const AttemptEnd& end) override;
  void on_outcomes(const OutcomeBatch& batch) override;
  void on_step_ended(const StepEnd& end) override;
  void on_leases_lost(const LeaseLoss& loss) override;
  void on_store_call(const StoreCall& call) override;
  void on_sweep(const SweepEnd& sweep) override;
  void on_log(LogLevel level, std::string_view message, const LogFields& fields) override;

 private:
  static constexpr std::size_t admission_outcomes = static_cast<std::size_t>(AdmissionOutcome::name_taken) + 1;
  static constexpr std::size_t attempt_outcomes = static_cast<std::size_t>(AttemptOutcome::lost) + 1;

  // The samples of one task in one queue. A counter is made with its first count.
  struct OfTask {
    Labels labels;
    Histogram* wait = nullptr;
    Histogram* run = nullptr;
    std::array<std::atomic<Counter*>, admission_outcomes> requests{};
    std::array<std::atomic<Counter*>, attempt_outcomes> attempts{};
  };
  [[nodiscard]] OfTask& of(const ObservedTask& task);
  [[nodiscard]] std::unique_ptr<OfTask> make(std::string_view namespace_name, std::string_view queue,
                                             std::string_view task);
  void count(std::atomic<Counter*>& counter, const char* name, const OfTask& task, std::string_view outcome);

  Metrics& metrics_;
  std::array<Counter*, admission_outcomes> admissions_{};
  Histogram& admission_size_;
  Histogram& admission_seconds_;
  Counter& claims_;
  Histogram& claim_size_;
  Histogram& claim_seconds_;
  std::array<Counter*, static_cast<std::size_t>(AttemptOutcome::continued) + 1> outcomes_{};
  Counter& retries_;
  Counter& stale_;
  Histogram& finish_size_;
  Histogram& finish_seconds_;
  std::array<Counter*, 2> steps_{};  // completed, failed
  Histogram& step_seconds_;
  Counter& own_lost_;
  Counter& lost_sessions_;
  Counter& lost_leases_;
  Counter& dead_by_loss_;
  Counter& timed_out_;
  Counter& sweep_failures_;
  Gauge& sweep_bad_rows_;
  std::array<Counter*, 4> lines_{};  // by LogLevel
  std::shared_mutex tasks_mutex_;
  std::map<std::string, std::unique_ptr<OfTask>, std::less<>> tasks_;  // guarded by tasks_mutex_; by all three names
  std::unique_ptr<OfTask> other_;
};

// The figures of a queue that are read from the store when metrics are asked for.
struct QueueFigures {
  std::string namespace_name;
  std::string queue;
  std::int64_t ready = 0;
  std::int64_t delayed = 0;
  std::int64_t parked = 0;
  std::int64_t running = 0;
  std::int64_t dead = 0;
  Duration oldest_ready{0};
  bool paused = false;
};
// Several apps may share a namespace and its store: a queue is written once.
void write_queues(MetricsVisitor& to, std::span<const QueueFigures> queues);

}  // namespace hapax::telemetry
