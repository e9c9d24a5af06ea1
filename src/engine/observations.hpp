// Observations: tells the app's Observer and its log what the engine and the workers do.
//
// Owned by the Engine; any thread may call it. Without an observer each call is one branch: no clock is read, and nothing
// is allocated. No caller holds a lock. An observer's exception is dropped, because what it was told has happened.
#pragma once

#include <hapax/observer.hpp>

#include "engine/outcome.hpp"
#include "engine/step_thread.hpp"
#include "store/store.hpp"

#include <atomic>
#include <memory>
#include <optional>
#include <shared_mutex>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hapax::engine {

class Observations {
 public:
  // observe() and log_to() are called once, before the engine is used. An empty function logs nothing.
  void observe(std::shared_ptr<Observer> observer) { observer_ = std::move(observer); }
  void log_to(LogFunction log) { log_ = std::move(log); }
  // No later line goes to the log function, and no other thread is inside it when stop_log() returns. The engine may
  // outlive the program's interest in its log: a workflow's abandoned stack keeps the engine alive.
  void stop_log() noexcept;

  [[nodiscard]] bool any() const { return observer_ != nullptr; }
  void opened(const ObservedApp& app) const noexcept;
  void log(LogLevel level, std::string_view message, const LogFields& fields) const noexcept;

  // ---- Calls of the store ------------------------------------------------------------------------------------------
  // Makes the call and returns its answer. `took` gets the time of a call that succeeded.
  template <class Call>
  std::invoke_result_t<const Call&> store_call(std::string_view verb, const Call& call,
                                               Duration* took = nullptr) const {
    if (!any()) { return call(); }
    StoreTimer timer(*this, verb);
    auto answer = call();
    const Duration lasted = timer.succeeded();
    if (took != nullptr) { *took = lasted; }
    return answer;
  }
  // An admission, and its answers.
  template <class Call>
  std::vector<model::Admission> admission(std::span<const model::NewExecution> requests, const Call& call) const {
    Duration took{0};
    std::vector<model::Admission> admissions = store_call("admit", call, &took);
    if (any()) { admitted(requests, admissions, took); }
    return admissions;
  }

  // ---- Trace contexts ----------------------------------------------------------------------------------------------
  // Before the admission, and before the attempt.
  void trace(model::NewExecution& request) const noexcept {
    if (any()) { make_trace(request); }
  }
  void trace(Run& run) const noexcept {
    if (any()) { make_trace(run); }
  }

  // ---- Events: callers check any() first, where an argument costs something -----------------------------------------
  void admitted(std::span<const model::NewExecution> requests, std::span<const model::Admission> admissions,
                std::optional<Duration> took) const noexcept;
  void claimed(std::span<const RunPtr> runs, Duration took) const noexcept;
  void claimed(std::span<const model::Claim> claims, Duration took) const noexcept;
  // `queued`: how long the run waited in this process.
  void begun(const model::Claim& claim, Duration queued) const noexcept;
  void begun(const Run& run) const noexcept;
  void ended(const Settled& settled, model::FinishVerdict verdict) const noexcept;
  void ended(const model::Claim& claim, const model::Finish& finish, model::FinishVerdict verdict) const noexcept;
  void recorded(std::size_t outcomes, Duration took) const noexcept;
  void step_ended(const Run& run, std::string_view step, const Ending& ending, Duration ran_for) const noexcept;
  // The runs have not ended by themselves before.
  void lost(std::span<const RunPtr> runs, bool session) const noexcept;
  void swept(const model::SweepReport& report) const noexcept;
  void sweep_failed() const noexcept;

 private:
  // Tells how long a call took; a call that did not succeed, with the timer's end.
  class StoreTimer {
   public:
    StoreTimer(const Observations& owner, std::string_view verb) : owner_(owner), verb_(verb), began_(engine_now()) {}
    StoreTimer(const StoreTimer&) = delete;
    StoreTimer& operator=(const StoreTimer&) = delete;
    ~StoreTimer() {
      if (!told_) { owner_.called(verb_, engine_now() - began_, true); }
    }
    [[nodiscard]] Duration succeeded() {
      const Duration took = engine_now() - began_;
      told_ = true;
      owner_.called(verb_, took, false);
      return took;
    }

   private:
    const Observations& owner_;
    const std::string_view verb_;
    const Time began_;
    bool told_ = false;
  };

  // Calls tell(observer), if there is one.
  template <class Tell>
  void with_observer(const Tell& tell) const noexcept;
  void called(std::string_view verb, Duration took, bool failed) const noexcept;
  void make_trace(model::NewExecution& request) const noexcept;
  void make_trace(Run& run) const noexcept;

  std::shared_ptr<Observer> observer_;
  LogFunction log_;
  mutable std::shared_mutex log_mutex_;  // shared by calls of log_
  std::atomic<bool> log_stopped_{false};
};

}  // namespace hapax::engine
