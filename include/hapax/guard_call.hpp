// One call of a guarded function, step by step: what hapax/guard.hpp and hapax/guard_asio.hpp are made of.
//
// Not for direct use: everything here is in hapax::detail and may change.
#pragma once

#include <hapax/error.hpp>
#include <hapax/guard_options.hpp>
#include <hapax/guard_store.hpp>
#include <hapax/json.hpp>

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

// What makes a call the one it is. The key is complete: hashed if it was long.
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

// Before a value goes whose members are plain: what nlohmann's destructor does against deep nesting needs memory.
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

// All arguments as one array.
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

// A place in the heartbeat's list: what is held, for as long as it is. Linked and unlinked under the list's lock.
struct GuardBeatNode {
  GuardBeatNode* next = nullptr;
  GuardBeatNode* previous = nullptr;
  const GuardHold* hold = nullptr;
  unsigned shard = 0;
  std::uint64_t serial = 0;
  std::uint64_t generation = 0;  // of the process that linked it; 0: not linked
};

// A place among the calls that this thread is inside of.
struct GuardFrame {
  GuardFrame* below = nullptr;
  GuardFrame* above = nullptr;
  const GuardStore* store = nullptr;
  const GuardKey* key = nullptr;
};

// The core for a call that does not outlive whoever lends it. Counting references of what all threads share is dear.
[[nodiscard]] inline std::shared_ptr<GuardCore> lent(const std::shared_ptr<GuardCore>& core) {
  return {std::shared_ptr<GuardCore>(), core.get()};
}

// Entered once; if it runs, ended once. One thread at a time, which need not be the same throughout.
class GuardCall {
 public:
  GuardCall(std::shared_ptr<GuardCore> core, GuardCallName name);
  GuardCall(const GuardCall&) = delete;
  GuardCall& operator=(const GuardCall&) = delete;
  // A call that runs and was not ended is unlocked as failed.
  ~GuardCall();

  // Finds out whether the caller runs the function; waits for the first call if that is what the options say. Throws what
  // the call is to throw.
  void enter();
  // Likewise without waiting: false when it would have to. enter() goes on from there.
  [[nodiscard]] bool try_enter();

  [[nodiscard]] bool runs() const { return runs_; }
  [[nodiscard]] const std::string& result() const { return result_; }  // JSON of the record, unless it runs
  [[nodiscard]] std::string described() const;

  // How it ended; each throws StaleLease when it was taken over, StoreUnavailable when it cannot be recorded.
  void complete(std::string result_json);
  // The record completes with null. Throws ResultNotStorable under return_result, gives a warning otherwise.
  void complete_without_result(const std::string& reason);
  // Records or unlocks, and throws nothing: the caller throws the function's own exception.
  void fail(const std::exception_ptr& error) noexcept;

  // The function is called between the two, on this thread: a call of the same key in there is a recursion.
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
  bool unguarded_ = false;  // the store was down, and the options say run
  bool ended_ = false;
  bool seen_in_progress_ = false;
  bool framed_ = false;
  std::uint64_t generation_ = 0;  // of the process that began
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
// As encode_strict, which it falls back to; quick with what results mostly are.
[[nodiscard]] std::string write_result(const nlohmann::json& result);
// As nlohmann::json::parse, which it falls back to; quick with what records mostly are.
[[nodiscard]] nlohmann::json parse_result(const std::string& text);
[[nodiscard]] std::optional<std::int64_t> read_number(std::string_view text);
[[noreturn]] void throw_unreadable(const GuardCall& call, const std::string& reason);

// The result of the first call, from its record.
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

// Completes the call with what the function returned.
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

// Runs `work` on a thread of the guards' own, of which there are as many as are needed.
void run_aside(std::function<void()> work);

// Fulfils `promise` with what the future that `launch` gives comes to, recorded first.
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
    // Somebody else is at it: waited for aside, so that the caller is not held up.
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
  // Launched here, as the unguarded function would be; its end is awaited aside, and the record is complete only then.
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
