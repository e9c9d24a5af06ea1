// WorkflowContext: the calls through which a workflow's function acts. Each call is recorded in the run's journal.
//
// When the function runs again, the call at the same place returns what was recorded. A call that differs from the
// journal at its place parks the run as stuck, naming both, until a worker with fitting code gets it. The code between
// two calls may depend only on the input and on the results of calls: no clock, no randomness, no I/O. Use step(),
// now(), random() and uuid() for those.
//
// Only the thread that runs the function may use the context, not from inside a step and not after the run has ended:
// otherwise UsageError. A catch (...) around a call must rethrow: an internal exception unwinds a run that is evicted
// from memory, and the run is replayed later.
#pragma once

#include <hapax/control.hpp>
#include <hapax/detail/json_codec.hpp>
#include <hapax/options.hpp>
#include <hapax/task.hpp>
#include <hapax/transaction.hpp>
#include <hapax/uuid.hpp>
#include <hapax/workflow.hpp>

#include <cstdint>
#include <exception>
#include <functional>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <typeinfo>
#include <utility>
#include <vector>

namespace hapax {

namespace detail {
class WorkflowRun;

// A value that did not convert: its JSON, the requested type and the conversion's error.
struct Unfit {
  const std::string& json;
  const std::type_info& expected;
  const char* why;
};
}  // namespace detail

class WorkflowContext;

// A step failed for good: carries the error as it was recorded. A replay throws the same from the journal.
class StepFailed : public Error {
 public:
  StepFailed(std::string_view step_name, std::string error_type, const std::string& message)
      : Error("StepFailed", message), step(step_name), type(std::move(error_type)) {}
  const std::string step;
  const std::string type;  // the C++ type, or the name of a hapax::Error
};

// A signal's payload does not convert to the type of the call that took it. The message names the payload and what was
// expected. The error is recorded: a replay throws the same, whatever type the code asks for by then.
class InvalidSignal : public Error {
 public:
  InvalidSignal(std::string_view signal_name, const std::string& message)
      : Error("InvalidSignal", message), signal(signal_name) {}
  const std::string signal;
};

// The result of a task or child workflow, which may come from another program, does not convert; or a step's recorded
// result cannot be read back. Recorded like InvalidSignal.
class InvalidResult : public Error {
 public:
  InvalidResult(std::string_view task_name, const std::string& message)
      : Error("InvalidResult", message), task(task_name) {}
  const std::string task;  // the task, workflow or step
};

// Options of a step.
struct StepOptions {
  int max_attempts = 4;  // in total; an error of type Permanent is not retried
  RetryPolicy retry{};   // the wait between attempts is durable, like sleep()
};

// Options of a task that a workflow sends; an option that is not set comes from the task's TaskOptions.
struct RunOptions {
  // None: task-{run}:{task}:{index}, the same whenever this place in the workflow is reached again. With a key of your
  // own, an existing execution under that key is awaited instead of a new one.
  std::optional<std::string> task_id{};
  std::optional<std::string> queue{};
  std::optional<Duration> delay{};
  std::optional<int> priority{};
  std::optional<int> max_attempts{};
  std::optional<Reuse> reuse{};
  std::optional<Duration> timeout{};
  std::optional<Duration> deadline{};
  std::optional<RetryPolicy> retry{};
  std::vector<std::string> tags{};
  std::optional<std::string> concurrency_key{};
  std::optional<std::string> ordering_key{};
};

// Options of a child workflow.
struct ChildOptions {
  // None: workflow-{run}:{workflow}:{index}.
  std::optional<std::string> workflow_id{};
  ParentClose parent_close = ParentClose::cancel;
  std::optional<std::string> queue{};
  std::optional<Reuse> reuse{};
  std::optional<Duration> delay{};
  std::optional<Duration> deadline{};
  std::vector<std::string> tags{};
};

// A task, child workflow, timer or signal that the workflow has started and not yet waited for. A value; copies refer
// to the same operation. Only the workflow's function may use it.
class AnyStarted {
 public:
  AnyStarted() = default;

 protected:
  friend class WorkflowContext;
  AnyStarted(std::shared_ptr<detail::WorkflowRun> run, std::int32_t position)
      : run_(std::move(run)), position_(position) {}

  [[nodiscard]] std::string await_json() const;
  [[noreturn]] void invalid(const detail::Unfit& unfit) const;

  std::shared_ptr<detail::WorkflowRun> run_;
  std::int32_t position_ = -1;
};

template <class Out>
class Started : public AnyStarted {
 public:
  Started() = default;

  // Waits for the result. Throws ExecutionFailed when the task or child did not complete, InvalidResult or
  // InvalidSignal when the value does not convert to Out.
  Out get() const {
    const std::string json = await_json();
    if constexpr (!std::is_void_v<Out>) {
      try {
        return detail::decode<Out>(json, "value");
      } catch (const std::exception& error) { invalid({json, typeid(Out), error.what()}); }
    }
  }

 private:
  friend class WorkflowContext;
  Started(std::shared_ptr<detail::WorkflowRun> run, std::int32_t position) : AnyStarted(std::move(run), position) {}
};

// The worker makes and owns a WorkflowContext, which lives as long as the call of the run's function.
class WorkflowContext {
 public:
  explicit WorkflowContext(std::shared_ptr<detail::WorkflowRun> run) : run_(std::move(run)) {}

  // ---- Identity of the run -----------------------------------------------------------------------------------------
  [[nodiscard]] const Uuid& execution_id() const;     // of this run; continue_as_new makes a new one
  [[nodiscard]] const std::string& workflow() const;  // the workflow's name
  [[nodiscard]] const std::string& workflow_id() const;
  [[nodiscard]] int run_number() const;  // from 1 under its workflow_id
  [[nodiscard]] std::optional<Uuid> parent() const;
  // The W3C trace context for what the workflow's steps call. It may differ when the function runs again, so only pass it
  // on. Empty: there is none.
  [[nodiscard]] std::string traceparent() const;
  [[nodiscard]] std::string tracestate() const;
  // True while earlier calls are replayed from the journal: use it to write a log line only once.
  [[nodiscard]] bool replaying() const;

  // ---- Steps -------------------------------------------------------------------------------------------------------
  // Calls fn once, on the worker thread's own stack, and records its result before the next step begins. A crash
  // between fn's effect and the record repeats the call. An exception is retried as `options` say, then recorded and
  // thrown as StepFailed. fn must not use the context.
  template <class Fn>
  auto step(std::string_view name, Fn&& fn, const StepOptions& options = {}) -> std::invoke_result_t<Fn&> {
    using Result = std::invoke_result_t<Fn&>;
    const std::string json = step_json(name, options, [&fn]() -> std::string {
      if constexpr (std::is_void_v<Result>) {
        fn();
        return "null";
      } else {
        return detail::encode_lenient<Result>(fn());
      }
    });
    if constexpr (!std::is_void_v<Result>) { return decode<Result>(json); }
  }
  // As step(), inside a transaction of the store's database: the writes of fn(Transaction&) and the record of its
  // result are one commit. SQLite and PostgreSQL only.
  template <class Fn>
  auto transaction(std::string_view name, Fn&& fn) -> std::invoke_result_t<Fn&, Transaction&> {
    using Result = std::invoke_result_t<Fn&, Transaction&>;
    const std::string json = transaction_json(name, [&fn](Transaction& tx) -> std::string {
      if constexpr (std::is_void_v<Result>) {
        fn(tx);
        return "null";
      } else {
        return detail::encode_lenient<Result>(fn(tx));
      }
    });
    if constexpr (!std::is_void_v<Result>) { return decode<Result>(json); }
  }

  // ---- Tasks and children ------------------------------------------------------------------------------------------
  // Sends the task to its queue and waits for its result. Throws ExecutionFailed, and the errors of a refused enqueue.
  template <class In, class Out>
  Out run(const Task<In, Out>& task, const std::type_identity_t<In>& input, const RunOptions& options = {}) {
    return start(task, input, options).get();
  }
  template <class In, class Out>
  Started<Out> start(const Task<In, Out>& task, const std::type_identity_t<In>& input, const RunOptions& options = {}) {
    return {run_, start_task(task.spec(), detail::encode_strict(input, "input"), options)};
  }
  // Runs a child workflow, or starts it without waiting.
  template <class In, class Out>
  Out run(const Workflow<In, Out>& workflow, const std::type_identity_t<In>& input, const ChildOptions& options = {}) {
    return start(workflow, input, options).get();
  }
  template <class In, class Out>
  Started<Out> start(const Workflow<In, Out>& workflow, const std::type_identity_t<In>& input,
                     const ChildOptions& options = {}) {
    return {run_, start_child(workflow.spec(), detail::encode_strict(input, "input"), options)};
  }

  // ---- Time --------------------------------------------------------------------------------------------------------
  // Waits by the store's clock: never shorter, and not at all when the instant has passed. A sleeping workflow holds no
  // thread.
  void sleep(Duration duration) { timer(duration).get(); }
  void sleep_until(Time until);
  [[nodiscard]] Started<void> timer(Duration duration);
  // The store's time when this call first ran; random numbers and a UUID, recorded likewise.
  [[nodiscard]] Time now();
  [[nodiscard]] double random();  // uniform in [0, 1)
  [[nodiscard]] std::uint64_t random_bits();
  [[nodiscard]] Uuid uuid();

  // ---- Signals and queries -----------------------------------------------------------------------------------------
  // Waits for the next signal of this name, or takes one that is buffered. Throws InvalidSignal when the payload does
  // not convert; that signal is consumed, and the next wait gets the next signal.
  template <class Payload>
  Payload wait_signal(std::string_view name) {
    return signal<Payload>(name).get();
  }
  // As wait_signal(), but returns none when no signal came within `timeout`.
  template <class Payload>
  std::optional<Payload> wait_signal(std::string_view name, Duration timeout) {
    const std::optional<std::int32_t> position = take_signal(name, timeout);
    return position ? std::optional<Payload>(Started<Payload>(run_, *position).get()) : std::nullopt;
  }
  // Takes the next signal of this name without waiting, to be awaited together with others.
  template <class Payload>
  [[nodiscard]] Started<Payload> signal(std::string_view name) {
    return {run_, expect_signal(name)};
  }
  // Registers fn(const Question&) or fn() as the answer to WorkflowHandle::query. fn may read the function's state and
  // must change nothing.
  template <class Question, class Fn>
  void on_query(std::string_view name, Fn fn) {
    add_query(name, [fn = std::move(fn)](const std::string& question) {
      return detail::encode_lenient(fn(detail::decode<Question>(question, "question")));
    });
  }
  template <class Fn>
  void on_query(std::string_view name, Fn fn) {
    add_query(name, [fn = std::move(fn)](const std::string&) { return detail::encode_lenient(fn()); });
  }

  // ---- Waiting for several -----------------------------------------------------------------------------------------
  // Waits until all have ended and returns their results in order, or throws the first failure.
  template <class Out>
  std::vector<Out> all(const std::vector<Started<Out>>& started) {
    await_all(positions(started));
    std::vector<Out> results;
    results.reserve(started.size());
    for (const Started<Out>& one : started) { results.push_back(one.get()); }
    return results;
  }
  void all(const std::vector<Started<void>>& started) {
    await_all(positions(started));
    for (const Started<void>& one : started) { one.get(); }
  }
  template <class... Outs>
  auto all(const Started<Outs>&... started) {
    await_all({started.position_...});
    return std::tuple<Outs...>(started.get()...);
  }
  // Waits for the first one to end and returns its index; the others go on. The first one's get() returns its result or
  // throws.
  template <class... Outs>
  [[nodiscard]] std::size_t any(const Started<Outs>&... started) {
    return await_any({started.position_...});
  }
  template <class Out>
  [[nodiscard]] std::size_t any(const std::vector<Started<Out>>& started) {
    return await_any(positions(started));
  }
  // As any(), and cancels the others.
  template <class... Outs>
  [[nodiscard]] std::size_t race(const Started<Outs>&... started) {
    return await_race({started.position_...});
  }
  template <class Out>
  [[nodiscard]] std::size_t race(const std::vector<Started<Out>>& started) {
    return await_race(positions(started));
  }

  // ---- The run itself ----------------------------------------------------------------------------------------------
  // Ends this run and starts the next one under the same workflow_id, with an empty journal. Signals not yet taken pass
  // to the next run.
  template <class In>
  [[noreturn]] void continue_as_new(const In& input) {
    continue_json(detail::encode_strict(input, "input"));
  }
  // True in a run that reaches this place for the first time with this code; false in a run that passed it with older
  // code.
  [[nodiscard]] bool patched(std::string_view change_id);
  // True after a cancellation request. The next call throws Cancelled, once; calls after that work, for compensation.
  [[nodiscard]] bool cancelled() const;
  // Reports progress from 0 to 1 with a short message.
  void progress(double fraction, std::string_view message = {});
  // Sets the tag "name=value" on the run, for App::list; the latest value replaces earlier ones.
  void set_attribute(std::string_view name, std::string_view value);

 private:
  template <class T>
  T decode(const std::string& json) {
    try {
      return detail::decode<T>(json, "value");
    } catch (const std::exception& error) { invalid_step({json, typeid(T), error.what()}); }
  }
  template <class Out>
  static std::vector<std::int32_t> positions(const std::vector<Started<Out>>& started) {
    std::vector<std::int32_t> all;
    for (const Started<Out>& one : started) { all.push_back(one.position_); }
    return all;
  }

  std::string step_json(std::string_view name, const StepOptions& options, const std::function<std::string()>& body);
  std::string transaction_json(std::string_view name, const std::function<std::string(Transaction&)>& body);
  std::int32_t start_task(const TaskSpec& task, std::string input, const RunOptions& options);
  std::int32_t start_child(const TaskSpec& workflow, std::string input, const ChildOptions& options);
  std::int32_t expect_signal(std::string_view name);
  std::optional<std::int32_t> take_signal(std::string_view name, Duration timeout);
  void add_query(std::string_view name, std::function<std::string(const std::string&)> answer);
  void await_all(const std::vector<std::int32_t>& positions);
  std::size_t await_any(const std::vector<std::int32_t>& positions);
  std::size_t await_race(const std::vector<std::int32_t>& positions);
  [[noreturn]] void continue_json(std::string input);
  [[noreturn]] void invalid_step(const detail::Unfit& unfit);

  std::shared_ptr<detail::WorkflowRun> run_;
};

}  // namespace hapax
