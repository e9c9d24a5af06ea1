// TaskContext: the handler's view of the attempt it runs.
#pragma once

#include <hapax/control.hpp>
#include <hapax/detail/json_codec.hpp>
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

// A TaskContext exists for the duration of the handler's call; the worker owns it. Only the handler's thread may call
// it, except where a comment says any thread.
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
  [[nodiscard]] int run() const;  // from 1; retrying a dead letter starts the next run
  // Grows with every claim of the execution. Store the fence beside your writes to recognise a write of an older
  // attempt.
  [[nodiscard]] std::int64_t fence() const;
  // A key that is the same for all attempts and runs: pass it to other services as an Idempotency-Key.
  [[nodiscard]] const std::string& effect_key() const;
  [[nodiscard]] std::optional<Time> deadline() const;
  [[nodiscard]] const std::vector<std::string>& tags() const;
  [[nodiscard]] nlohmann::json metadata() const;  // null when there is none
  // The W3C trace context for what the handler calls: the one that came with the enqueue, or the one that the app's
  // observer made for this attempt (hapax/otlp.hpp). Empty: there is none.
  [[nodiscard]] const std::string& traceparent() const;
  [[nodiscard]] const std::string& tracestate() const;

  // True when the handler should stop: the execution was cancelled, its timeout or deadline passed, its lease was lost,
  // or the worker's grace period is over. Any thread.
  [[nodiscard]] bool cancelled() const;
  void throw_if_cancelled() const {
    if (cancelled()) { throw Cancelled(); }
  }
  // cancelled() as a token, for std::condition_variable_any and std::stop_callback. The token may outlive the context.
  [[nodiscard]] std::stop_token stop_token() const;
  // True while the worker shuts down: finish soon; cancelled() follows at the end of the grace period. Any thread.
  [[nodiscard]] bool draining() const;

  // Reports progress from 0 to 1 with a short message. The latest report is sent with the next heartbeat. Any thread.
  void progress(double fraction, std::string_view message = {});

  // Runs `fn` once per execution and records its result under `name`; a later attempt gets the record and does not call
  // `fn`. A crash between fn's effect and the record repeats the call, so pass effect_key() on. Throws StaleLease when
  // this attempt no longer holds the lease.
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

  // Records the outcome inside the transaction in which the handler writes: both commit or neither does. The handler's
  // own return value is then ignored. If the transaction never commits, the attempt has failed, whatever the handler
  // returned. Throws StaleLease, and leaves the transaction unable to commit, when this attempt no longer holds the
  // lease.
  template <class Result>
  void complete_in(Transaction& tx, const Result& result) {
    complete_json_in(tx, detail::encode_lenient(result));
  }
  void complete_in(Transaction& tx) { complete_json_in(tx, "null"); }
  void complete_json_in(Transaction& tx, std::string result_json);

  // The app that runs this handler, to enqueue more work for example.
  [[nodiscard]] App app() const;

 private:
  [[nodiscard]] std::optional<std::string> recorded(std::string_view name);
  void record(std::string_view name, std::string json);

  detail::ContextState& state_;
};

}  // namespace hapax
