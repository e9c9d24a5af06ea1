// One call of a guarded function, step by step: the implementation of hapax/guard.hpp and hapax/guard_asio.hpp.
//
// Not for direct use: everything here is in hapax::detail and may change.
#pragma once

#include <hapax/detail/json_codec.hpp>
#include <hapax/error.hpp>
#include <hapax/guard_options.hpp>
#include <hapax/guard_store.hpp>

#include <concepts>
#include <cstdint>
#include <exception>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace hapax::detail {

class GuardCore;

// The identity of a call. The key is final: a long one is hashed already.
struct GuardCallName {
  GuardKey key{};
  std::optional<GuardFingerprint> fingerprint{};
};

[[nodiscard]] std::shared_ptr<GuardCore> make_guard(std::string name, GuardOptions options);
[[nodiscard]] bool compares_arguments(const GuardCore& core);
[[nodiscard]] GuardCallName name_by_arguments(const GuardCore& core, std::string canonical);
[[nodiscard]] GuardCallName name_by_key(const GuardCore& core, std::string key);
[[nodiscard]] GuardFingerprint fingerprint_of(std::string_view canonical);
[[nodiscard]] std::optional<GuardRecord> read_record(GuardCore& core, const GuardCallName& name);
GuardForgotten forget_record(GuardCore& core, const GuardCallName& name, bool even_in_progress);

// ---- Arguments as canonical JSON (RFC 8785) ----------------------------------------------------------------------

template <class T>
concept GuardArgument = std::is_convertible_v<const T&, std::string_view> || requires(const T& value) {
  nlohmann::json(value);
};

void append_canonical_text(std::string& out, std::string_view text);
void append_canonical_integer(std::string& out, std::int64_t number);
void append_canonical_integer(std::string& out, std::uint64_t number);
void append_canonical_number(std::string& out, double number);
void append_canonical_json(std::string& out, const nlohmann::json& value);
[[noreturn]] void refuse_argument(const std::string& reason);

// Empties a JSON value before it is destroyed, when its members are plain: nlohmann's destructor allocates memory to
// guard against deep nesting.
inline void dismantle(nlohmann::json& value) noexcept {
  if (value.is_structured()) { value.clear(); }
}

template <class T>
void append_canonical(std::string& out, const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    out += value ? "true" : "false";
  } else if constexpr (std::is_integral_v<T> && std::is_signed_v<T>) {
    append_canonical_integer(out, std::int64_t{value});
  } else if constexpr (std::is_integral_v<T>) {
    append_canonical_integer(out, std::uint64_t{value});
  } else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, float>) {
    append_canonical_number(out, double{value});
  } else if constexpr (std::is_same_v<T, nlohmann::json>) {
    append_canonical_json(out, value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    append_canonical_text(out, std::string_view(value));
  } else {
    try {
      nlohmann::json json(value);
      append_canonical_json(out, json);
      dismantle(json);
    } catch (const nlohmann::json::exception& error) { refuse_argument(error.what()); }
  }
}

// All arguments as one canonical JSON array.
template <class... Args>
std::string canonical(const Args&... args) {
  std::string out(1, '[');
  ((append_canonical(out, args), out.push_back(',')), ...);
  if constexpr (sizeof...(Args) == 0) {
    out.push_back(']');
  } else {
    out.back() = ']';
  }
  return out;
}

// ---- A call ------------------------------------------------------------------------------------------------------

// An entry of the heartbeat's list: a hold to renew. Linked and unlinked under the list's lock.
struct GuardBeatNode {
  GuardBeatNode* next = nullptr;
  GuardBeatNode* previous = nullptr;
  const GuardHold* hold = nullptr;
  unsigned shard = 0;
  std::uint64_t serial = 0;
  std::uint64_t generation = 0;  // guard::process_generation() when it was linked; 0: not linked
};

// An entry of the list of guarded calls that this thread is inside of, used to detect recursion.
struct GuardFrame {
  GuardFrame* below = nullptr;
  GuardFrame* above = nullptr;
  const GuardStore* store = nullptr;
  const GuardKey* key = nullptr;
};

// A pointer to the core without shared ownership, for a call that does not outlive its guard: reference counts that all
// threads share are costly.
[[nodiscard]] inline std::shared_ptr<GuardCore> lent(const std::shared_ptr<GuardCore>& core) {
  return {std::shared_ptr<GuardCore>(), core.get()};
}

// One call: entered once and, if it runs, ended once. One thread at a time may use it, not always the same one.
class GuardCall {
 public:
  GuardCall(std::shared_ptr<GuardCore> core, GuardCallName name);
  GuardCall(const GuardCall&) = delete;
  GuardCall& operator=(const GuardCall&) = delete;
  // Unlocks the key, as after a failure, if the call runs and was not ended.
  ~GuardCall();

  // Decides whether the caller runs the function; waits for the first call if the options say so. Throws the exceptions
  // of a call (hapax/guard.hpp).
  void enter();
  // enter() without waiting: false when it would have to wait. The caller then goes on with enter().
  [[nodiscard]] bool try_enter();

  [[nodiscard]] bool runs() const { return runs_; }
  [[nodiscard]] const std::string& result() const { return result_; }  // JSON of the record; empty when it runs
  [[nodiscard]] std::string described() const;

  // Record the end of the call. Both throw StaleLease when the call was taken over or forgotten, and StoreUnavailable
  // when the store does not take the record (under OnStoreError::run they warn instead).
  void complete(std::string result_json);
  // Completes the record with null. Throws ResultNotStorable under return_result, warns otherwise.
  void complete_without_result(const std::string& reason);
  // Records the failure or unlocks the key. Throws nothing: the caller rethrows the function's own exception.
  void fail(const std::exception_ptr& error) noexcept;

  // Called before and after the function, on its thread: a call with the same key in between is a recursion.
  void push_frame();
  void pop_frame() noexcept;

 private:
  [[nodiscard]] bool look(bool may_wait);
  [[nodiscard]] GuardAnswer begin();
  void settle(GuardRecord& record);
  void wait(const GuardAnswer& answer);
  void finish(const GuardFinish& finish);
  void let_go() noexcept;

  std::shared_ptr<GuardCore> core_;
  GuardBegin request_;
  GuardHold hold_{};
  std::string result_{};
  GuardBeatNode node_{};
  GuardFrame frame_{};
  bool runs_ = false;
  bool unguarded_ = false;  // the store is unavailable, and on_store_error is run
  bool ended_ = false;
  bool seen_in_progress_ = false;
  bool framed_ = false;
  std::uint64_t generation_ = 0;  // guard::process_generation() when the call began
  std::int64_t waits_until_us_ = 0;
};

class FrameScope {
 public:
  explicit FrameScope(GuardCall& call) : call_(call) { call_.push_frame(); }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;
  ~FrameScope() { call_.pop_frame(); }

 private:
  GuardCall& call_;
};

// ---- Results -----------------------------------------------------------------------------------------------------

template <class T>
struct IsFuture : std::false_type {};
template <class T>
struct IsFuture<std::future<T>> : std::true_type {
  using Value = T;
};

[[nodiscard]] std::string number_text(std::int64_t number);
// encode_strict with a fast path for common results.
[[nodiscard]] std::string write_result(const nlohmann::json& result);
// nlohmann::json::parse with a fast path for common records.
[[nodiscard]] nlohmann::json parse_result(const std::string& text);
[[nodiscard]] std::optional<std::int64_t> read_number(std::string_view text);
[[noreturn]] void throw_unreadable(const GuardCall& call, const std::string& reason);

// The first call's result, read from its record.
template <class Result>
Result recorded(const GuardCall& call) {
  if constexpr (!std::is_void_v<Result>) {
    if constexpr (std::is_same_v<Result, std::int64_t> || std::is_same_v<Result, int>) {
      const std::optional<std::int64_t> number = read_number(call.result());
      if (number && std::in_range<Result>(*number)) { return static_cast<Result>(*number); }
    }
    try {
      nlohmann::json json = parse_result(call.result());
      if constexpr (std::is_same_v<Result, nlohmann::json>) {
        return json;
      } else {
        auto result = json.template get<Result>();
        dismantle(json);
        return result;
      }
    } catch (const std::exception& error) { throw_unreadable(call, error.what()); }
  }
}

// Completes the call with the function's result.
template <class Result>
void complete_with(GuardCall& call, const Result& result) {
  std::string json;
  std::string trouble;
  try {
    if constexpr (std::is_same_v<Result, std::int64_t> || std::is_same_v<Result, int>) {
      json = number_text(result);
    } else {
      json = write_result(nlohmann::json(result));
    }
  } catch (const std::exception& error) { trouble = error.what(); } catch (...) {
    trouble = "its conversion to JSON threw something that is not a std::exception";
  }
  if (json.empty()) {
    call.complete_without_result(trouble);
  } else {
    call.complete(std::move(json));
  }
}

template <class Result, class Function>
Result run_guarded(GuardCall& call, Function function) {
  const auto run = [&]() -> Result {
    const FrameScope inside(call);
    try {
      return function();
    } catch (...) {
      call.fail(std::current_exception());
      throw;
    }
  };
  if constexpr (std::is_void_v<Result>) {
    run();
    call.complete("null");
  } else {
    Result result = run();
    complete_with(call, result);
    return result;
  }
}

// ---- Functions that return a std::future -------------------------------------------------------------------------

// Runs `work` on a thread of the guards' pool, which grows as needed; on the caller's thread when no more threads can
// be had.
void run_aside(std::function<void()> work);

// Fulfils `promise` with the record's result or, if the call runs, with launch()'s result after recording it.
template <class Value, class Launch>
void run_future(GuardCall& call, const Launch& launch, std::promise<Value>& promise) {
  try {
    if (!call.runs()) {
      if constexpr (std::is_void_v<Value>) {
        promise.set_value();
      } else {
        promise.set_value(recorded<Value>(call));
      }
      return;
    }
    if constexpr (std::is_void_v<Value>) {
      run_guarded<void>(call, launch);
      promise.set_value();
    } else {
      promise.set_value(run_guarded<Value>(call, launch));
    }
  } catch (...) { promise.set_exception(std::current_exception()); }
}

template <class Value, class Run>
std::future<Value> call_future(const std::shared_ptr<GuardCall>& call, Run run) {
  auto promise = std::make_shared<std::promise<Value>>();
  std::future<Value> future = promise->get_future();
  if (!call->try_enter()) {
    // Another caller runs the function: wait on a pool thread, so that the caller is not blocked.
    run_aside([call, promise, run = std::move(run)] {
      try {
        call->enter();
      } catch (...) {
        promise->set_exception(std::current_exception());
        return;
      }
      run_future<Value>(
          *call, [&run] { return run().get(); }, *promise);
    });
    return future;
  }
  if (!call->runs()) {
    run_future<Value>(
        *call, [&run] { return run().get(); }, *promise);
    return future;
  }
  // Start the function here, as the unguarded call would; a pool thread waits for its end and completes the record.
  auto inner = std::make_shared<std::future<Value>>();
  try {
    const FrameScope inside(*call);
    *inner = run();
  } catch (...) {
    call->fail(std::current_exception());
    throw;
  }
  run_aside([call, promise, inner] {
    run_future<Value>(
        *call, [&inner] { return inner->get(); }, *promise);
  });
  return future;
}

}  // namespace hapax::detail
