// ObserverRelay: an observer that calls others.
#pragma once

#include <hapax/observer.hpp>

#include <memory>
#include <string_view>
#include <vector>

namespace hapax::detail {

// Calls each of the observers in turn. An observer that throws does not keep an event from the others.
class ObserverRelay : public Observer {
 public:
  // Null ones are left out.
  explicit ObserverRelay(std::vector<std::shared_ptr<Observer>> observers);

  void on_open(const ObservedApp& app) override;
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
  void trace_request(const Uuid& id, TraceContext& trace) override;
  void trace_attempt(const Uuid& id, std::int64_t fence, TraceContext& trace) override;

 private:
  template <class Tell>
  void each(const Tell& tell);

  const std::vector<std::shared_ptr<Observer>> observers_;
};

}  // namespace hapax::detail
