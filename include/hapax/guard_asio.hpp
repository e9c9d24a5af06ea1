// Guarded functions for Asio programs: asynchronous work under a guard, called with a completion token.
//
//   auto charge = hapax::asio::idempotent<Payment(Order)>("charge", {.store = store},
//       [&](const Order& order, hapax::asio::GuardDone<Payment> done) {
//         client.async_post(order, [done](std::exception_ptr error, Payment payment) { done(error, payment); });
//       });
//   charge(order, [](std::exception_ptr error, Payment payment) { … });    // or use_future, or spawn's yield_context
//
// The record completes when `done` is called, not when the function returns. The guards' own threads ask the store, so
// no thread of the program waits for it. The function and the completion handler both run on the handler's executor.
#pragma once

#include <hapax/asio.hpp>
#include <hapax/detail/guard_run.hpp>
#include <hapax/guard.hpp>

#include <atomic>
#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>

namespace hapax::asio {

// The callback that the guarded function calls when its work has ended: done(error, result), or done(error) when there
// is no result. Any thread may call it; calls after the first change nothing, and copies share one call. When all
// copies are destroyed uncalled, the call fails with UsageError.
template <class Result>
class GuardDone {
 public:
  explicit GuardDone(std::shared_ptr<detail::GuardRun<Result>> run) : run_(std::move(run)) {}
  void operator()(std::exception_ptr error, Result result) const { run_->end(std::move(error), std::move(result)); }

 private:
  std::shared_ptr<detail::GuardRun<Result>> run_;
};
template <>
class GuardDone<void> {
 public:
  explicit GuardDone(std::shared_ptr<detail::GuardRun<void>> run) : run_(std::move(run)) {}
  void operator()(std::exception_ptr error) const { run_->end(std::move(error), {}); }

 private:
  std::shared_ptr<detail::GuardRun<void>> run_;
};

template <class Signature>
class Guarded;

// A guarded asynchronous function: called with the arguments and a completion token, completes with
// (std::exception_ptr, Result), or (std::exception_ptr) when Result is void. Result must be default-constructible. A
// value; copies share everything. Any thread may call it.
template <class Result, class... Args>
class Guarded<Result(Args...)> {
 public:
  using Function = std::function<void(const std::decay_t<Args>&..., GuardDone<Result>)>;

  Guarded(std::shared_ptr<hapax::detail::GuardCore> core, Function function)
      : core_(std::move(core)), function_(std::make_shared<Function>(std::move(function))) {}

  // Refuses temporary arguments that g++ 12 would destroy twice (hapax/asio.hpp), where all arguments are temporaries.
  template <class Token>
  requires(detail::DestroyedTwice<std::decay_t<Args>, Token> || ...) void operator()(std::decay_t<Args>&&...,
                                                                                     Token&&) const {
    detail::refuse_temporary<Token>();
  }
  // Arguments that cannot form a key throw here, as in a plain call.
  template <class Token>
  auto operator()(const std::decay_t<Args>&... args, Token&& token) const {
    auto call = std::make_shared<hapax::detail::GuardCall>(
        core_, hapax::detail::name_by_arguments(*core_, hapax::detail::canonical(args...)));
    return boost::asio::async_initiate<Token, typename detail::ResultSignature<Result>::type>(
        [](auto handler, std::shared_ptr<hapax::detail::GuardCall> begun, std::shared_ptr<Function> function,
           std::tuple<std::decay_t<Args>...> arguments) {
          detail::Completer completer(std::move(handler));
          auto run = std::make_shared<detail::GuardRun<Result>>(
              std::move(begun), [completer](std::exception_ptr error, typename detail::GuardRun<Result>::Value value) {
                if constexpr (std::is_void_v<Result>) {
                  completer(std::move(error));
                } else {
                  completer(std::move(error), std::move(value));
                }
              });
          hapax::detail::run_aside(
              [run, function, arguments = std::move(arguments), executor = completer.executor()]() mutable {
                try {
                  run->call().enter();
                } catch (...) { return run->refuse(std::current_exception()); }
                if (!run->call().runs()) { return run->answer(); }
                // Keeps the context alive until post has returned, as in Completer.
                const auto work = boost::asio::make_work_guard(executor);
                const auto there = std::move(executor);
                boost::asio::post(there, [run, function, arguments] {
                  try {
                    const hapax::detail::FrameScope inside(run->call());
                    std::apply([&](const auto&... each) { (*function)(each..., GuardDone<Result>(run)); }, arguments);
                  } catch (...) { run->end(std::current_exception(), {}); }
                });
              });
        },
        token, std::move(call), function_, std::tuple<std::decay_t<Args>...>(args...));
  }

 private:
  std::shared_ptr<hapax::detail::GuardCore> core_;
  std::shared_ptr<Function> function_;
};

// Wraps `function(arguments..., done)` in a guard. `Signature` is that of the call, without `done`.
template <class Signature>
[[nodiscard]] Guarded<Signature> idempotent(std::string name, GuardOptions options,
                                            typename Guarded<Signature>::Function function) {
  return Guarded<Signature>(hapax::detail::make_guard(std::move(name), std::move(options)), std::move(function));
}

}  // namespace hapax::asio
