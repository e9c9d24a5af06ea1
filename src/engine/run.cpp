#include "engine/run.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"

#include <algorithm>
#include <cmath>

namespace hapax::engine {

Ending Ending::completed(std::string result_json) {
  Ending ending;
  ending.result = std::move(result_json);
  return ending;
}

Ending Ending::failed(model::Failure failure) {
  Ending ending;
  ending.kind = Kind::failed;
  ending.failure = std::move(failure);
  return ending;
}

Ending Ending::failed(std::string type, std::string message, std::string detail) {
  return failed(model::Failure{.error = {std::move(type), std::move(message), std::move(detail)}});
}

Ending Ending::cancelled(std::string reason) {
  Ending ending;
  ending.kind = Kind::cancelled;
  ending.failure.error = {"Cancelled", std::move(reason), {}};
  return ending;
}

Ending Ending::snoozed(Duration delay) {
  Ending ending;
  ending.kind = Kind::snoozed;
  ending.delay = delay;
  return ending;
}

Ending Ending::released() {
  Ending ending;
  ending.kind = Kind::released;
  return ending;
}

Ending Ending::settled() {
  Ending ending;
  ending.kind = Kind::settled;
  return ending;
}

std::stop_token Run::stop_token() {
  const std::lock_guard lock(mutex_);
  if (!stop_source_) {
    stop_source_.emplace();
    if (should_stop()) { stop_source_->request_stop(); }
  }
  return stop_source_->get_token();
}

void Run::progress(double fraction, std::string_view message) {
  const std::lock_guard lock(mutex_);
  fraction_ = std::isfinite(fraction) ? std::clamp(fraction, 0.0, 1.0) : 0.0;
  message_ = base::keep_head(base::escape_invalid(message), limits::progress_message_bytes);
  progress_dirty_.store(true, std::memory_order_relaxed);
}

std::optional<model::Progress> Run::take_progress() {
  const std::lock_guard lock(mutex_);
  if (!progress_dirty_.exchange(false)) { return std::nullopt; }
  return model::Progress{claim_.id, claim_.fence, fraction_, message_};
}

bool Run::start(Time at) {
  State expected = State::queued;
  started_us_.store(at.time_since_epoch().count(), std::memory_order_relaxed);
  return state_.compare_exchange_strong(expected, State::running);
}

bool Run::settle() { return state_.exchange(State::settling) != State::settling; }

void Run::request_stop(StopReason reason) {
  StopReason expected = StopReason::none;
  if (!stop_.compare_exchange_strong(expected, reason)) {
    // After a cancellation an outcome still counts; after the other reasons none does.
    if (expected == StopReason::cancel_requested) { stop_.compare_exchange_strong(expected, reason); }
    return;
  }
  std::optional<std::stop_source> source;
  {
    const std::lock_guard lock(mutex_);
    source = stop_source_;
  }
  // The stop is requested outside the lock, because a stop callback may call any member of this Run.
  if (source) { source->request_stop(); }
}

}  // namespace hapax::engine
