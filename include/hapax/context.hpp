// TaskContext: what a handler knows of the attempt it makes.
#pragma once

#include <hapax/control.hpp>
#include <hapax/json.hpp>
#include <hapax/transaction.hpp>
#include <hapax/uuid.hpp>

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

namespace hapax {

class App;

// Lives as long as the handler's call; used by the handler's thread, except where said.
class TaskContext {
 public:
  explicit TaskContext(detail::ContextState& state) : state_(state) {}
  TaskContext(const TaskContext&) = delete;
  TaskContext& operator=(const TaskContext&) = delete;

  [[nodiscard]] const Uuid& execution_id() const;
  [[nodiscard]] const std::string& task() const;
  [[nodiscard]] const std::string& queue() const;
  [[nodiscard]] int attempt() const;  // from 1
  [[nodiscard]] int max_attempts() const;
  [[nodiscard]] int run() const;  // from 1; a retried dead letter has the next one
  // Grows with every claim of the execution. Kept next to what a handler writes, it tells an old attempt's write.
  [[nodiscard]] std::int64_t fence() const;
  // The same for all attempts and runs: what to pass on as an Idempotency-Key.
  [[nodiscard]] const std::string& effect_key() const;
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] const std::vector<std::string>& tags() const;
  [[nodiscard]] nlohmann::json metadata() const;  // null when there is none
  [[nodiscard]] const std::string& traceparent() const;

  // True when the handler should stop: it was cancelled, its time is over, its lease was lost, or the worker ends. Any
  // thread.
  [[nodiscard]] bool cancelled() const;
  void throw_if_cancelled() const {
    if (cancelled()) { throw Cancelled(); }
  }
  // The same as a token, for std::condition_variable_any and std::stop_callback. May outlive the context.
  [[nodiscard]] std::stop_token stop_token() const;
  // The worker is shutting down: finish soon; cancelled() follows at the end of its grace period. Any thread.
  [[nodiscard]] bool draining() const;

  // 0 to 1, and a line for people. Kept, latest only, and shown with the next heartbeat. Any thread.
  void progress(double fraction, std::string_view message = {});

  // Runs `fn` once per execution: its result is recorded under `name`, fenced, and a later attempt gets the record
  // instead of another call. A crash between fn's effect and the record repeats the call, so hand effect_key() on. Throws
  // StaleLease when the lease is not this attempt's any more.
  template <class Fn>
  auto once(std::string_view name, Fn&& fn) -> std::invoke_result_t<Fn&> {
    using Result = std::invoke_result_t<Fn&>;
    if constexpr (std::is_void_v<Result>) {
      if (!recorded(name)) {
        fn();
        record(name, "null");
      }
    } else {
      if (const auto json = recorded(name)) { return detail::decode<Result>(*json, "recorded result"); }
      Result result = fn();
      record(name, detail::encode_lenient(result));
      return result;
    }
  }

  // Records the outcome within the transaction in which the handler writes: both happen or neither. What the handler
  // returns afterwards is ignored. If the transaction never commits, the attempt has failed, whatever the handler
  // returned. Throws StaleLease, and leaves the transaction uncommittable, when the lease is not this attempt's any more.
  template <class Result>
  void complete_in(Transaction& tx, const Result& result) {
    complete_json_in(tx, detail::encode_lenient(result));
  }
  void complete_in(Transaction& tx) { complete_json_in(tx, "null"); }
  void complete_json_in(Transaction& tx, std::string result_json);

  // The app whose handler this is, e.g. to enqueue what follows.
  [[nodiscard]] App app() const;

 private:
  [[nodiscard]] std::optional<std::string> recorded(std::string_view name);
  void record(std::string_view name, std::string json);

  detail::ContextState& state_;
};

}  // namespace hapax
