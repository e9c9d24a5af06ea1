// WorkflowContext: what a workflow's function does through its journal.
//
// Each call is recorded; when the function runs again, the call at the same place gives what was recorded. A call that
// asks for something else than the journal has at that place parks the run as stuck, with both sides named, until a
// worker with fitting code meets it (SPEC W5). Nothing between two calls may depend on anything but the input and what
// calls gave: no clock, no randomness, no I/O. Those go into step(), now(), random(), uuid().
//
// Used by the thread that runs the function, not from inside a step, not after the run has ended: UsageError. catch (...)
// around a call must rethrow: a run that is put aside is unwound by an exception of its own.
#pragma once

#include <hapax/control.hpp>
#include <hapax/json.hpp>
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

// A value that did not convert: its JSON, the type that was asked for, and what the conversion said.
struct Unfit {
  const std::string& json;
  const std::type_info& expected;
  const char* why;
};
}  // namespace detail

class WorkflowContext;

// A step that failed for good: what it threw, as it was recorded. The same when it is thrown from the journal.
class StepFailed : public Error {
 public:
  StepFailed(std::string_view step_name, std::string error_type, const std::string& message)
      : Error("StepFailed", message), step(step_name), type(std::move(error_type)) {}
  const std::string step;
  const std::string type;  // the C++ type, or the name of a hapax::Error
};

// A signal came whose payload does not convert to the type of the call that took it. The message says what came and what was
// expected. Recorded: the same is thrown when the run is played again, whatever the code's type is by then.
class InvalidSignal : public Error {
 public:
  InvalidSignal(std::string_view signal_name, const std::string& message)
      : Error("InvalidSignal", message), signal(signal_name) {}
  const std::string signal;
};

// The same of the result of a task or a child workflow, which may come from another program, and of a step whose result
// cannot be read back.
class InvalidResult : public Error {
 public:
  InvalidResult(std::string_view task_name, const std::string& message)
      : Error("InvalidResult", message), task(task_name) {}
  const std::string task;  // or the workflow, or the step
};

struct StepOptions {
  int max_attempts = 4;  // in total; what throws Permanent is not tried again
  RetryPolicy retry{};   // the wait between attempts is durable, like sleep()
};

// How a workflow sends a task.
struct RunOptions {
  // None: task-{run}:{task}:{index}, the same whenever this place in the workflow is reached again. With a key of your
  // own, another execution under it is joined instead of started.
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

// Something a workflow has started and not yet waited for: a task, a child, a timer or a signal's arrival. Copies speak of
// the same. Used by the workflow's function only.
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

  // Waits for it. Throws ExecutionFailed for a task or child that did not complete, InvalidResult and InvalidSignal for what
  // does not convert to Out.
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

class WorkflowContext {
 public:
  explicit WorkflowContext(std::shared_ptr<detail::WorkflowRun> run) : run_(std::move(run)) {}

  // ---- Who this is -------------------------------------------------------------------------------------------------
  [[nodiscard]] const Uuid& execution_id() const;     // of this run; new after continue_as_new
  [[nodiscard]] const std::string& workflow() const;  // its name
  [[nodiscard]] const std::string& workflow_id() const;
  [[nodiscard]] int run_number() const;  // from 1 under its workflow_id
  [[nodiscard]] std::optional<Uuid> parent() const;
  // True while what happened before is played again: for logs that should be written once.
  [[nodiscard]] bool replaying() const;

  // ---- Steps -------------------------------------------------------------------------------------------------------
  // Calls fn here, once, on the worker's own stack, and records what it returns; recorded before the next step begins. A
  // crash between fn's effect and the record repeats the call. What it throws is tried again as options say, then recorded
  // and thrown as StepFailed. fn must not use the context.
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
  // The same with a transaction of the store's database: what fn(Transaction&) writes and the record of it are one commit.
  // SQLite and PostgreSQL.
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
  // Sends the task to its queue and waits for its result. Throws ExecutionFailed, and what a refused admission throws.
  template <class In, class Out>
  Out run(const Task<In, Out>& task, const std::type_identity_t<In>& input, const RunOptions& options = {}) {
    return start(task, input, options).get();
  }
  template <class In, class Out>
  Started<Out> start(const Task<In, Out>& task, const std::type_identity_t<In>& input, const RunOptions& options = {}) {
    return {run_, start_task(task.spec(), detail::encode_strict(input, "input"), options)};
  }
  // A child workflow.
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
  // By the store's clock; never early, at once when overdue. Holds no thread.
  void sleep(Duration duration) { timer(duration).get(); }
  void sleep_until(Time until);
  [[nodiscard]] Started<void> timer(Duration duration);
  // The store's time, as it was when this was first asked.
  [[nodiscard]] Time now();
  [[nodiscard]] double random();  // 0 to 1
  [[nodiscard]] std::uint64_t random_bits();
  [[nodiscard]] Uuid uuid();

  // ---- Signals and queries -----------------------------------------------------------------------------------------
  // The next signal of that name, waiting for it if none is buffered. Throws InvalidSignal when its payload does not convert;
  // the signal is taken all the same, and the next wait gets the next one.
  template <class Payload>
  Payload wait_signal(std::string_view name) {
    return signal<Payload>(name).get();
  }
  // Nothing when none came within `timeout`.
  template <class Payload>
  std::optional<Payload> wait_signal(std::string_view name, Duration timeout) {
    const std::optional<std::int32_t> position = take_signal(name, timeout);
    return position ? std::optional<Payload>(Started<Payload>(run_, *position).get()) : std::nullopt;
  }
  // Takes the next signal of that name; to be waited for with others.
  template <class Payload>
  [[nodiscard]] Started<Payload> signal(std::string_view name) {
    return {run_, expect_signal(name)};
  }
  // fn(const Question&) or fn() answers WorkflowHandle::query. It sees the function's state and changes nothing.
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
  // All results, in order; the first failure is thrown once all have ended.
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
  // Which one is the first to end; the others go on. Its get() gives the result or throws.
  template <class... Outs>
  [[nodiscard]] std::size_t any(const Started<Outs>&... started) {
    return await_any({started.position_...});
  }
  template <class Out>
  [[nodiscard]] std::size_t any(const std::vector<Started<Out>>& started) {
    return await_any(positions(started));
  }
  // The same, and the others are cancelled.
  template <class... Outs>
  [[nodiscard]] std::size_t race(const Started<Outs>&... started) {
    return await_race({started.position_...});
  }
  template <class Out>
  [[nodiscard]] std::size_t race(const std::vector<Started<Out>>& started) {
    return await_race(positions(started));
  }

  // ---- The run itself ----------------------------------------------------------------------------------------------
  // Ends this run and begins the next one under the same workflow_id, with an empty journal. Signals that were not taken
  // go over to it.
  template <class In>
  [[noreturn]] void continue_as_new(const In& input) {
    continue_json(detail::encode_strict(input, "input"));
  }
  // True in runs that meet this place with this code first; false in runs that had passed it with the code before.
  [[nodiscard]] bool patched(std::string_view change_id);
  // Cancellation was asked for. Calls throw Cancelled once; calls made after that work, for compensation.
  [[nodiscard]] bool cancelled() const;
  void progress(double fraction, std::string_view message = {});
  // Found by `list` as the tag "name=value"; the latest value counts.
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
