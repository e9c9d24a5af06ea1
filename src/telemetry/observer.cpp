#include <hapax/observer.hpp>

#include <hapax/detail/observer_relay.hpp>

#include <array>
#include <exception>
#include <utility>

namespace hapax {

namespace {

constexpr std::array admission_words = {"created",          "deduplicated", "already_exists", "already_completed",
                                        "already_finished", "mismatch",     "queue_draining", "taken_over",
                                        "session_gone",     "name_taken"};
static_assert(admission_words.size() == static_cast<std::size_t>(AdmissionOutcome::name_taken) + 1);

constexpr std::array attempt_words = {"completed", "failed",  "cancelled", "timed_out", "retried", "snoozed",
                                      "released",  "waiting", "continued", "stale",     "lost"};
static_assert(attempt_words.size() == static_cast<std::size_t>(AttemptOutcome::lost) + 1);

std::vector<std::shared_ptr<Observer>> present(std::vector<std::shared_ptr<Observer>> observers) {
  std::erase(observers, nullptr);
  return observers;
}

}  // namespace

std::string_view to_string(AdmissionOutcome outcome) { return admission_words.at(static_cast<std::size_t>(outcome)); }
std::string_view to_string(AttemptOutcome outcome) { return attempt_words.at(static_cast<std::size_t>(outcome)); }

std::shared_ptr<Observer> observe_with(std::vector<std::shared_ptr<Observer>> observers) {
  return std::make_shared<detail::ObserverRelay>(std::move(observers));
}

namespace detail {

ObserverRelay::ObserverRelay(std::vector<std::shared_ptr<Observer>> observers)
    : observers_(present(std::move(observers))) {}

template <class Tell>
void ObserverRelay::each(const Tell& tell) {
  std::exception_ptr thrown;
  for (const std::shared_ptr<Observer>& observer : observers_) {
    try {
      tell(*observer);
    } catch (...) { thrown = std::current_exception(); }
  }
  if (thrown) { std::rethrow_exception(thrown); }
}

void ObserverRelay::on_open(const ObservedApp& app) {
  each([&](Observer& one) { one.on_open(app); });
}
void ObserverRelay::on_admissions(const AdmissionBatch& batch) {
  each([&](Observer& one) { one.on_admissions(batch); });
}
void ObserverRelay::on_claims(const ClaimBatch& batch) {
  each([&](Observer& one) { one.on_claims(batch); });
}
void ObserverRelay::on_attempt_begun(const AttemptBegin& begin) {
  each([&](Observer& one) { one.on_attempt_begun(begin); });
}
void ObserverRelay::on_attempt_ended(const AttemptEnd& end) {
  each([&](Observer& one) { one.on_attempt_ended(end); });
}
void ObserverRelay::on_outcomes(const OutcomeBatch& batch) {
  each([&](Observer& one) { one.on_outcomes(batch); });
}
void ObserverRelay::on_step_ended(const StepEnd& end) {
  each([&](Observer& one) { one.on_step_ended(end); });
}
void ObserverRelay::on_leases_lost(const LeaseLoss& loss) {
  each([&](Observer& one) { one.on_leases_lost(loss); });
}
void ObserverRelay::on_store_call(const StoreCall& call) {
  each([&](Observer& one) { one.on_store_call(call); });
}
void ObserverRelay::on_sweep(const SweepEnd& sweep) {
  each([&](Observer& one) { one.on_sweep(sweep); });
}
void ObserverRelay::on_log(LogLevel level, std::string_view message, const LogFields& fields) {
  each([&](Observer& one) { one.on_log(level, message, fields); });
}
void ObserverRelay::trace_request(const Uuid& id, TraceContext& trace) {
  each([&](Observer& one) { one.trace_request(id, trace); });
}
void ObserverRelay::trace_attempt(const Uuid& id, std::int64_t fence, TraceContext& trace) {
  each([&](Observer& one) { one.trace_attempt(id, fence, trace); });
}

}  // namespace detail

}  // namespace hapax
