// Run: one attempt of an execution inside this process, from its claim to its recorded outcome.
#pragma once

#include <hapax/observer.hpp>

#include "model/execution.hpp"
#include "model/retry.hpp"

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>

namespace hapax::engine {

// Why a handler should stop: its result does not count any more, or a cancellation was requested.
enum class StopReason : std::uint8_t {
  none,
  cancel_requested,  // a cancellation was requested; the handler's result still counts
  timed_out,         // the attempt's timeout or the execution's deadline passed; the outcome is recorded already
  lease_lost,        // the session is gone; another worker may have the execution
  shutdown,          // the grace period is over; the run is released already
};

// The result of a handler's attempt. The worker turns it into a fenced outcome.
struct Ending {
  enum class Kind : std::uint8_t {
    completed,
    failed,     // with `failure`; retried while attempts are left
    cancelled,  // the handler ended because it was asked to
    snoozed,    // runs again after `delay`, the attempt not spent
    released,   // runs again at once, the attempt not spent
    settled,    // the outcome was recorded already, in the handler's own transaction
  };
  Kind kind = Kind::completed;
  std::string result = "null";  // JSON
  model::Failure failure;       // also the reason of `cancelled`
  Duration delay{0};

  [[nodiscard]] static Ending completed(std::string result_json);
  [[nodiscard]] static Ending failed(model::Failure failure);
  [[nodiscard]] static Ending failed(std::string type, std::string message, std::string detail = {});
  [[nodiscard]] static Ending cancelled(std::string reason);
  [[nodiscard]] static Ending snoozed(Duration delay);
  [[nodiscard]] static Ending released();
  [[nodiscard]] static Ending settled();
};

// Shared by the pool thread that runs the handler and by the worker's own threads. The handler's thread may call all
// public members; the handler may keep stop tokens after it has returned, but not the Run.
class Run {
 public:
  explicit Run(model::Claim claim) : claim_(std::move(claim)) {}
  Run(const Run&) = delete;
  Run& operator=(const Run&) = delete;

  [[nodiscard]] const model::Claim& claim() const { return claim_; }
  // The trace context of what the attempt calls and starts: the execution's, unless an observer has made another.
  [[nodiscard]] const std::string& traceparent() const {
    return trace_ ? trace_->traceparent : claim_.labels.traceparent;
  }
  [[nodiscard]] const std::string& tracestate() const { return trace_ ? trace_->tracestate : claim_.labels.tracestate; }

  [[nodiscard]] StopReason stop_reason() const { return stop_.load(std::memory_order_acquire); }
  [[nodiscard]] bool should_stop() const { return stop_reason() != StopReason::none; }
  [[nodiscard]] std::stop_token stop_token();

  // True while the worker stops: running handlers may finish, nothing is claimed. should_stop() follows when the grace
  // period is over.
  [[nodiscard]] bool draining() const { return draining_.load(std::memory_order_relaxed); }

  // Keeps the latest progress only, which the next beat sends.
  void progress(double fraction, std::string_view message);

  // ---- The worker's side -----------------------------------------------------------------------------------------
  enum class State : std::uint8_t {
    queued,    // claimed, not started
    running,   // a handler runs it
    settling,  // the outcome is decided and on its way to the store; later events are dropped
  };
  [[nodiscard]] State state() const { return state_.load(std::memory_order_acquire); }
  // start() and settle() each succeed for exactly one caller.
  [[nodiscard]] bool start(Time at);
  [[nodiscard]] bool settle();

  // Call it before the run is shared.
  void set_trace(TraceContext trace) { trace_ = std::make_unique<const TraceContext>(std::move(trace)); }

  // Asks the handler to stop. The first reason stays, except that any other reason replaces cancel_requested.
  void request_stop(StopReason reason);
  void set_draining() { draining_.store(true, std::memory_order_relaxed); }
  [[nodiscard]] std::optional<model::Progress> take_progress();
  [[nodiscard]] bool has_progress() const { return progress_dirty_.load(std::memory_order_relaxed); }
  [[nodiscard]] Time started() const {
    return Time(Duration(started_us_.load(std::memory_order_relaxed)));
  }  // engine time

  std::size_t slot = 0;       // index in the session's list of held runs; guarded by that list's mutex
  Time received{};            // engine time of the claim's arrival; set before the run is shared
  bool born_running = false;  // admitted and claimed in one call, by this process; set before the run is shared

 private:
  const model::Claim claim_;
  std::unique_ptr<const TraceContext> trace_;  // null: the execution's
  std::atomic<State> state_{State::queued};
  std::atomic<StopReason> stop_{StopReason::none};
  std::atomic<bool> draining_{false};
  std::atomic<bool> progress_dirty_{false};
  std::atomic<std::int64_t> started_us_{0};
  std::mutex mutex_;                             // guards the members below
  std::optional<std::stop_source> stop_source_;  // made when first asked for
  double fraction_ = 0;
  std::string message_;
};

using RunPtr = std::shared_ptr<Run>;

}  // namespace hapax::engine
