// One call of an asynchronous guarded function (hapax/guard_asio.hpp). Not for direct use: everything here is in a
// namespace detail and may change.
#pragma once

#include <hapax/detail/guard_call.hpp>
#include <hapax/error.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <variant>

namespace hapax::asio::detail {

// One call in progress. The first of end(), answer() and refuse() completes it.
template <class Result>
class GuardRun {
 public:
  using Value = std::conditional_t<std::is_void_v<Result>, std::monostate, Result>;
  using Complete = std::function<void(std::exception_ptr, Value)>;

  GuardRun(std::shared_ptr<hapax::detail::GuardCall> call, Complete complete)
      : call_(std::move(call)), complete_(std::move(complete)) {}
  GuardRun(const GuardRun&) = delete;
  GuardRun& operator=(const GuardRun&) = delete;
  // The last copy of `done` was destroyed without being called: how the work ended is unknown.
  ~GuardRun() {
    if (ended_) { return; }
    end(std::make_exception_ptr(UsageError("the guarded call " + call_->described() +
                                           " was given up: its completion was dropped without being called")),
        Value{});
  }

  [[nodiscard]] hapax::detail::GuardCall& call() { return *call_; }

  void end(std::exception_ptr error, Value value) {
    if (ended_.exchange(true)) { return; }
    hapax::detail::run_aside(
        [call = call_, complete = std::move(complete_), error, value = std::move(value)]() mutable {
          if (error) {
            call->fail(error);
          } else {
            try {
              if constexpr (std::is_void_v<Result>) {
                call->complete("null");
              } else {
                hapax::detail::complete_with(*call, value);
              }
            } catch (...) { error = std::current_exception(); }
          }
          complete(error, error ? Value{} : std::move(value));
        });
  }

  // Answers from the record; the function is not called.
  void answer() {
    ended_ = true;
    std::exception_ptr error;
    Value value{};
    if constexpr (!std::is_void_v<Result>) {
      try {
        value = hapax::detail::recorded<Result>(*call_);
      } catch (...) { error = std::current_exception(); }
    }
    complete_(error, std::move(value));
  }

  void refuse(std::exception_ptr error) {
    ended_ = true;
    complete_(std::move(error), Value{});
  }

 private:
  const std::shared_ptr<hapax::detail::GuardCall> call_;
  Complete complete_;
  std::atomic<bool> ended_{false};
};

}  // namespace hapax::asio::detail
