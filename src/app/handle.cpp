#include <hapax/handle.hpp>

#include <hapax/error.hpp>

#include "app/app_state.hpp"
#include "engine/follow_continuations.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>

namespace hapax {

namespace {

detail::AppState& app_of(const std::shared_ptr<detail::AppState>& state) {
  if (!state) { throw UsageError("this handle is empty: it refers to no execution"); }
  return *state;
}

const char* failure_name(Status status) {
  switch (status) {
    case Status::cancelled: return "ExecutionCancelled";
    case Status::timed_out: return "ExecutionTimedOut";
    default: return "ExecutionFailed";
  }
}

// Returns the result, or throws as result_json() does.
std::string result_of(const model::Outcome& outcome) {
  if (outcome.status == Status::completed) { return outcome.result.value_or("null"); }
  std::string message = "execution " + outcome.id.to_string() + " ended as " + std::string(to_string(outcome.status));
  if (outcome.error) { message = outcome.error->type + ": " + outcome.error->message; }
  throw ExecutionFailed(failure_name(outcome.status), message, outcome.id, outcome.status);
}

using ResultCallback = std::function<void(std::string, std::exception_ptr)>;

void watch_result(const std::shared_ptr<detail::AppState>& app, const Uuid& id, bool local, ResultCallback callback) {
  engine::watch_last_run(
      app->engine().waiters(), id,
      [app, callback = std::move(callback)](const model::Outcome* outcome, std::exception_ptr error) {
        std::string result;
        if (outcome != nullptr) {
          try {
            result = result_of(*outcome);
          } catch (...) { error = std::current_exception(); }
        }
        callback(std::move(result), std::move(error));
      },
      local);
}

}  // namespace

Status AnyHandle::status() const {
  Uuid id = id_;
  while (true) {
    const auto outcomes = app_of(state_).store().outcomes(std::span<const Uuid>(&id, 1));
    if (!outcomes.front()) { throw ResultExpired("execution " + id.to_string() + " is not in the store any more"); }
    if (!outcomes.front()->continued_as) { return outcomes.front()->status; }
    id = *outcomes.front()->continued_as;
  }
}

Status AnyHandle::wait() const {
  app_of(state_).forbid_in_transaction("waiting for a result");
  return engine::wait_for_last_run(state_->engine().waiters(), id_, std::nullopt, local_)->status;
}

bool AnyHandle::wait_for(Duration at_most) const {
  app_of(state_).forbid_in_transaction("waiting for a result");
  return engine::wait_for_last_run(state_->engine().waiters(), id_, at_most, local_).has_value();
}

std::string AnyHandle::result_json() const {
  app_of(state_).forbid_in_transaction("waiting for a result");
  return result_of(*engine::wait_for_last_run(state_->engine().waiters(), id_, std::nullopt, local_));
}

std::string AnyHandle::result_json_for(Duration at_most) const {
  app_of(state_).forbid_in_transaction("waiting for a result");
  const auto outcome = engine::wait_for_last_run(state_->engine().waiters(), id_, at_most, local_);
  if (!outcome) {
    throw WaitTimeout("execution " + id_.to_string() + " has not ended within " + format_duration(at_most));
  }
  return result_of(*outcome);
}

void AnyHandle::on_result(std::function<void(std::string, std::exception_ptr)> callback) const {
  (void)app_of(state_);
  watch_result(state_, id_, local_, std::move(callback));
}

CancelAnswer AnyHandle::cancel(std::string_view reason) const {
  (void)app_of(state_);
  return App(state_).cancel(id_, reason);
}

}  // namespace hapax
