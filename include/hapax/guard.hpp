// Guarded functions: repeated calls with the same arguments have one effect.
//
//   auto store = hapax::file_guard_store("/var/lib/shop/guard");
//   auto create_invoice = hapax::idempotent("create_invoice", {.ttl = 24h, .store = store},
//                                           [](const Order& order) { return billing::create(order); });
//   Invoice invoice = create_invoice(order);    // runs
//   Invoice same = create_invoice(order);       // not run: the result comes from the record
//
// A guard needs no queue and no server: the caller's thread runs the function, and the store keeps the outcome. "Once"
// holds among all callers that share the store: threads of a process (memory), processes of a machine (file, SQLite),
// or machines (Redis, PostgreSQL). docs/guides/guard.md says when to use a guard, a task or a workflow.
#pragma once

#include <hapax/detail/guard_call.hpp>
#include <hapax/guard_options.hpp>
#include <hapax/guard_store.hpp>

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

namespace hapax {

template <class Signature>
class Guarded;

// A guarded function: called like the function itself. A value; copies share the function and its records. Any thread
// may call it; threads whose calls have different keys run the function at the same time.
//
// Besides the function's own exceptions, a call throws DuplicateExecution, RecordedFailure, IdempotencyMismatch,
// WaitTimeout, GuardRecursion, StaleLease (another caller took the call over while it ran; its result does not count),
// ResultNotStorable, StoreUnavailable and InvalidArgument (the arguments cannot form a key).
template <class Result, class... Args>
class Guarded<Result(Args...)> {
  static_assert(!std::is_reference_v<Result>, "a guarded function returns a value: it is kept and given to others");

 public:
  template <class Function>
  Guarded(std::shared_ptr<detail::GuardCore> core, Function function)
      : core_(std::move(core)), function_(std::make_shared<std::function<Result(Args...)>>(std::move(function))) {}

  template <class Function, class KeyFunction>
  Guarded(std::shared_ptr<detail::GuardCore> core, Function function, KeyFunction key)
      : Guarded(std::move(core), std::move(function)) {
    key_ = std::make_shared<std::function<std::string(const std::decay_t<Args>&...)>>(std::move(key));
  }

  Result operator()(Args... args) const {
    if constexpr (detail::IsFuture<Result>::value) {
      return call_async(std::forward<Args>(args)...);
    } else {
      std::shared_ptr<detail::GuardCore> kept;
      detail::GuardCall call(detail::lent(core_), name_call(args...));
      call.enter();
      if (!call.runs()) { return detail::recorded<Result>(call); }
      kept = core_;  // the function may destroy its guard
      return detail::run_guarded<Result>(call, [&]() -> Result { return (*function_)(std::forward<Args>(args)...); });
    }
  }

  // The record of the call with these arguments; none when the call was not made or its record has expired.
  [[nodiscard]] std::optional<GuardRecord> record(const std::decay_t<Args>&... args) const {
    return detail::read_record(*core_, name_call(args...));
  }

  // Deletes the record, so that the next call with these arguments runs again. forget() leaves a call in progress
  // alone; forget_even_in_progress() deletes its record too, and its result is then refused.
  GuardForgotten forget(const std::decay_t<Args>&... args) const { return forget_record(false, args...); }
  GuardForgotten forget_even_in_progress(const std::decay_t<Args>&... args) const {
    return forget_record(true, args...);
  }

 private:
  detail::GuardCallName name_call(const std::decay_t<Args>&... args) const {
    if (key_) {
      detail::GuardCallName name = detail::name_by_key(*core_, (*key_)(args...));
      if constexpr ((detail::GuardArgument<std::decay_t<Args>> && ...)) {
        if (detail::compares_arguments(*core_)) {
          name.fingerprint = detail::fingerprint_of(detail::canonical(args...));
        }
      }
      return name;
    }
    if constexpr ((detail::GuardArgument<std::decay_t<Args>> && ...)) {
      return detail::name_by_arguments(*core_, detail::canonical(args...));
    } else {
      throw UsageError("a guarded function whose arguments do not convert to JSON needs a key function");
    }
  }

  GuardForgotten forget_record(bool even_in_progress, const std::decay_t<Args>&... args) const {
    return detail::forget_record(*core_, name_call(args...), even_in_progress);
  }

  Result call_async(Args... args) const {
    static_assert(
        ((!std::is_same_v<std::decay_t<Args>, std::string_view> && !std::is_pointer_v<std::decay_t<Args>>)&&...),
        "a guarded function that returns a future may be called later: it owns its arguments");
    auto call = std::make_shared<detail::GuardCall>(core_, name_call(args...));
    auto run = [function = function_, arguments = std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)] {
      // Copied for the call: the function may take its arguments by value or keep them.
      auto copies = arguments;
      return std::apply([&](auto&... each) { return (*function)(static_cast<Args&&>(each)...); }, copies);
    };
    return detail::call_future<typename detail::IsFuture<Result>::Value>(call, std::move(run));
  }

  std::shared_ptr<detail::GuardCore> core_;
  std::shared_ptr<std::function<Result(Args...)>> function_;
  std::shared_ptr<std::function<std::string(const std::decay_t<Args>&...)>> key_;
};

namespace detail {

template <class Function>
struct SignatureOf;
template <class Signature>
struct SignatureOf<std::function<Signature>> {
  using type = Signature;
};

// The signature that std::function deduces: functions, lambdas, and function objects with one operator().
template <class Function>
using Signature = typename SignatureOf<decltype(std::function{std::declval<Function>()})>::type;

template <class Signature>
struct CanBeKey;
template <class Result, class... Args>
struct CanBeKey<Result(Args...)> : std::bool_constant<(GuardArgument<std::decay_t<Args>> && ...)> {};

}  // namespace detail

// Wraps `function` in a guard. Arguments and result convert to JSON with nlohmann's conversions; the result may also be
// void, or a std::future of either. The name is part of the key: guards with one name on one store share their records.
// Throws InvalidArgument for a bad name or option, UsageError without a store.
template <class Function>
[[nodiscard]] auto idempotent(std::string name, GuardOptions options, Function function) {
  using Signature = detail::Signature<Function>;
  static_assert(detail::CanBeKey<Signature>::value,
                "the arguments of a guarded function convert to JSON, or a key function is given");
  return Guarded<Signature>(detail::make_guard(std::move(name), std::move(options)), std::move(function));
}

// Wraps `function` in a guard with a key function: calls with equal key(arguments...) are the same call. A call with a
// known key and different arguments throws IdempotencyMismatch (GuardOptions::compare_arguments; only if the arguments
// convert to JSON).
template <class Function, class KeyFunction>
[[nodiscard]] auto idempotent(std::string name, GuardOptions options, Function function, KeyFunction key) {
  using Signature = detail::Signature<Function>;
  return Guarded<Signature>(detail::make_guard(std::move(name), std::move(options)), std::move(function),
                            std::move(key));
}

}  // namespace hapax
