// App: an open store, and every call a program makes on it.
//
//   auto app = hapax::open("sqlite:orders.db");
//   app.handle(charge_card, [](hapax::TaskContext& ctx, const Order& order) { … return payment; });
//   auto worker = app.work({.queues = {"payments"}, .threads = 8});
//   auto handle = app.enqueue(charge_card, {"456", 99.99}, {.task_id = "charge-order-456"});
//   Payment payment = handle.result();
//
// An App is a handle on shared state: copies share one store, and any thread may use them. The store closes when the
// last copy, handle and worker is destroyed. Every failure is an exception derived from hapax::Error.
#pragma once

#include <hapax/activity.hpp>
#include <hapax/admin.hpp>
#include <hapax/bulk.hpp>
#include <hapax/context.hpp>
#include <hapax/detail/json_codec.hpp>
#include <hapax/detail/raw_item.hpp>
#include <hapax/handle.hpp>
#include <hapax/inspect.hpp>
#include <hapax/options.hpp>
#include <hapax/task.hpp>
#include <hapax/transaction.hpp>
#include <hapax/worker.hpp>
#include <hapax/workflow.hpp>
#include <hapax/workflow_context.hpp>

#include <concepts>
#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace hapax {

// A handler without types: takes input JSON, returns result JSON. Several worker threads call it at once.
using RawHandler = std::function<std::string(TaskContext&, const std::string& input)>;

// A workflow's function without types.
using RawWorkflow = std::function<std::string(WorkflowContext&, const std::string& input)>;

// Code that runs around every handler: it calls next() at most once and lets its exceptions through. The middleware
// added first is the outermost.
using Middleware = std::function<void(TaskContext&, const std::function<void()>& next)>;

// A copyable handle on shared state; any thread may call any member.
class App {
 public:
  explicit App(std::shared_ptr<detail::AppState> state) : state_(std::move(state)) {}

  // ---- Enqueue ---------------------------------------------------------------------------------------------------
  // Returns when the execution is durably admitted, or when an execution under the same task_id answers instead
  // (handle.created() is false). Throws InvalidArgument or a type derived from it for a bad request; TaskAlreadyExists,
  // TaskAlreadyCompleted, TaskAlreadyFinished or IdempotencyMismatch when the key is held; QueueDraining;
  // StoreUnavailable. After CommitUnknown the execution may or may not be admitted: enqueue again with the same
  // task_id.
  template <class In, class Out>
  Handle<Out> enqueue(const Task<In, Out>& task, const std::type_identity_t<In>& input,
                      const EnqueueOptions& options = {}) {
    return Handle<Out>(enqueue_json(task.spec(), encode_input(input), options));
  }
  AnyHandle enqueue_json(const TaskSpec& task, std::string input_json, const EnqueueOptions& options = {});

  // Returns without waiting for the store: the future gets what enqueue() would return or throw.
  template <class In, class Out>
  [[nodiscard]] std::future<Handle<Out>> enqueue_async(const Task<In, Out>& task, const std::type_identity_t<In>& input,
                                                       const EnqueueOptions& options = {}) {
    return in_future<Handle<Out>>(
        [&](const Admitted& admitted) { enqueue_json_async(task.spec(), encode_input(input), options, admitted); });
  }
  // Called once with (handle, nullptr) or ({}, error), on a thread of the library or on the caller's thread.
  using Admitted = std::function<void(AnyHandle, std::exception_ptr)>;
  void enqueue_json_async(const TaskSpec& task, std::string input_json, const EnqueueOptions& options,
                          const Admitted& callback);

  // Enqueues a range of inputs or of BulkItem<In>, reading the range as it writes. Each batch is one transaction. An
  // invalid item throws, naming its index, before anything of its batch is written; earlier batches stay admitted, as
  // the progress callback reported. An item whose key is held is not an exception: BulkAdmission::error names the
  // refusal.
  template <class In, class Out, std::ranges::input_range Range>
  BulkReport enqueue_many(const Task<In, Out>& task, Range&& range, const BulkOptions& options = {}) {
    auto position = std::ranges::begin(range);
    const auto end = std::ranges::end(range);
    return enqueue_bulk(
        task.spec(),
        [&]() -> std::optional<detail::RawItem> {
          if (position == end) { return std::nullopt; }
          auto item = encode_item<In>(*position);
          ++position;
          return item;
        },
        options);
  }
  // Enqueues the items of a generator: a callable that returns std::optional of an input or of BulkItem<In>, and
  // std::nullopt at the end.
  template <class In, class Out, std::invocable Generator>
  BulkReport enqueue_many(const Task<In, Out>& task, Generator&& generator, const BulkOptions& options = {}) {
    return enqueue_bulk(
        task.spec(),
        [&]() -> std::optional<detail::RawItem> {
          auto item = generator();
          return item ? std::optional(encode_item<In>(*item)) : std::nullopt;
        },
        options);
  }

  // ---- Transactions with the caller's own writes -------------------------------------------------------------------
  // SQLite and PostgreSQL: begins a transaction, calls fn(Transaction&) and commits; rolls back and rethrows if fn
  // throws. On SQLite all other writers wait meanwhile. A plain enqueue inside fn throws UsageError, because it could
  // wait for this transaction. Throws Unsupported on the memory store.
  void transaction(const std::function<void(Transaction&)>& fn);
  // PostgreSQL: wraps the transaction that is open on the caller's PGconn*. The caller commits it. Throws Unsupported
  // on other stores.
  [[nodiscard]] Transaction attach(void* connection);
  // Enqueues inside the transaction: the execution exists only if the transaction commits. Before the commit the
  // handle's status() throws ResultExpired.
  template <class In, class Out>
  Handle<Out> enqueue_in(Transaction& tx, const Task<In, Out>& task, const std::type_identity_t<In>& input,
                         const EnqueueOptions& options = {}) {
    return Handle<Out>(enqueue_json_in(tx, task.spec(), encode_input(input), options));
  }
  AnyHandle enqueue_json_in(Transaction& tx, const TaskSpec& task, std::string input_json,
                            const EnqueueOptions& options = {});

  // ---- Work ------------------------------------------------------------------------------------------------------
  // Registers the handler of a task: fn(TaskContext&, const In&) or fn(const In&), returning something that converts to
  // Out. Several threads call it at once. An exception from fn is a failed attempt; hapax/control.hpp has the
  // exceptions with other meanings. Throws UsageError when the task has a handler already.
  template <class In, class Out, class Fn>
  void handle(const Task<In, Out>& task, Fn fn) {
    add_handler(task.spec(), typed_handler<In, Out>(std::move(fn)));
  }
  // Registers a handler of JSON text. A result that is not JSON fails the execution for good, with type
  // "InvalidResult".
  void handle_json(const TaskSpec& task, RawHandler handler);
  // Adds a middleware around all handlers of this app.
  void use(Middleware middleware);

  // Starts a worker for the handlers registered so far and later. Throws UsageError when there is none. The worker runs
  // until the returned object is stopped or destroyed.
  [[nodiscard]] Worker work(const WorkerOptions& options = {});

  // ---- Workflows ---------------------------------------------------------------------------------------------------
  // Registers the function of a workflow: fn(WorkflowContext&, const In&), returning something that converts to Out.
  // The function is called again from its beginning when a run resumes elsewhere, so it must be deterministic
  // (hapax/workflow.hpp). Throws UsageError when a worker of this app was started before the app's first workflow was
  // registered.
  template <class In, class Out, class Fn>
  void handle(const Workflow<In, Out>& workflow, Fn fn) {
    add_workflow(workflow.spec(), typed_workflow<In, Out>(std::move(fn)));
  }
  void handle_workflow_json(const TaskSpec& workflow, RawWorkflow function);

  // Starts a run, or returns the run that already has this workflow_id, as enqueue does with a task_id. Throws
  // InvalidArgument without a workflow_id, and what enqueue throws.
  template <class In, class Out>
  WorkflowHandle<Out> start(const Workflow<In, Out>& workflow, const std::type_identity_t<In>& input,
                            const StartOptions& options) {
    return WorkflowHandle<Out>(start_json(workflow.spec(), encode_input(input), options));
  }
  AnyHandle start_json(const TaskSpec& workflow, std::string input_json, const StartOptions& options);
  // Returns without waiting for the store, as enqueue_async does.
  template <class In, class Out>
  [[nodiscard]] std::future<WorkflowHandle<Out>> start_async(const Workflow<In, Out>& workflow,
                                                             const std::type_identity_t<In>& input,
                                                             const StartOptions& options) {
    return in_future<WorkflowHandle<Out>>(
        [&](const Admitted& admitted) { start_json_async(workflow.spec(), encode_input(input), options, admitted); });
  }
  void start_json_async(const TaskSpec& workflow, std::string input_json, const StartOptions& options,
                        const Admitted& callback);
  // The handle of a run, by its id or by its workflow and workflow_id. Throws NotFound.
  template <class In, class Out>
  [[nodiscard]] WorkflowHandle<Out> find(const Workflow<In, Out>& workflow, std::string_view workflow_id) {
    return WorkflowHandle<Out>(find_any(workflow.spec(), workflow_id));
  }
  template <class In, class Out>
  [[nodiscard]] WorkflowHandle<Out> find(const Workflow<In, Out>& workflow, const Uuid& id) {
    (void)workflow;
    return WorkflowHandle<Out>(find_any(id));
  }
  // Starts a new run under options.workflow_id that takes over the first `steps` journal entries of `run` and continues
  // from there. Throws WrongStatus when one of those entries started a task or child that had not ended.
  AnyHandle fork(const Uuid& run, int steps, const StartOptions& options);
  // The journal of a run as a list, in order; empty for a task. Throws NotFound.
  [[nodiscard]] std::vector<TimelineEntry> timeline(const Uuid& id);
  // The journal of a run as JSON text, for ReplayTester. Throws NotFound.
  [[nodiscard]] std::string export_journal(const Uuid& id);

  // ---- Activities: schedules and events -----------------------------------------------------------------------------
  // Creates the activity, or stores another definition as its next version. The same definition again changes nothing.
  // A new activity, and one whose `cron`, `time_zone` or `start` changed, counts its ticks from now on. Throws
  // InvalidArgument naming the member.
  AppliedActivity apply(const Activity& activity);
  AppliedActivity apply_activity_json(std::string_view definition);
  // activity() returns one activity, or none when the id is unknown; activities() returns all of the namespace.
  [[nodiscard]] std::optional<ActivityRecord> activity(std::string_view id);
  [[nodiscard]] std::vector<ActivityRecord> activities();  // by id
  // The calls below throw NotFound for an unknown activity. While an activity is paused, its ticks become missed ticks,
  // judged by the misfire policy at resume, and its events are dropped.
  void pause_activity(std::string_view id, std::string_view note = {});
  void resume_activity(std::string_view id);
  void remove_activity(std::string_view id);  // its runs stay in the store
  // Starts a run now, also while the activity is paused. The same key again returns the first run; without a key each
  // call starts a run.
  AnyHandle trigger_activity(std::string_view id, std::optional<std::string> key = {});
  // Runs the ticks of a past range, both ends included. A tick whose run exists already does not run again.
  BackfillReport backfill_activity(std::string_view id, Time from, Time to);
  // The runs of an activity, newest first. `options.parent` is ignored. A run's own tasks are the executions whose
  // parent is the run.
  [[nodiscard]] std::vector<ExecutionRecord> activity_runs(std::string_view id, const ListOptions& options = {});
  // The next `count` ticks; empty for an event trigger.
  [[nodiscard]] std::vector<Time> next_fires(std::string_view id, int count = 10);
  // Takes CloudEvents 1.0 envelopes as JSON text. Each event starts every activity it matches, once, however often it
  // is sent. Returns after the commit. Throws InvalidArgument naming the attribute, before anything is started.
  RoutedEvent send_event(std::string_view event);
  std::vector<RoutedEvent> send_events(std::span<const std::string> events);

  // ---- Executions --------------------------------------------------------------------------------------------------
  // The handle of an execution, by its id or by its task and task_id. Throws NotFound.
  template <class In, class Out>
  [[nodiscard]] Handle<Out> find(const Task<In, Out>& task, const Uuid& id) {
    (void)task;
    return Handle<Out>(find_any(id));
  }
  template <class In, class Out>
  [[nodiscard]] Handle<Out> find(const Task<In, Out>& task, std::string_view task_id) {
    return Handle<Out>(find_any(task.spec(), task_id));
  }
  [[nodiscard]] AnyHandle find_any(const Uuid& id);
  [[nodiscard]] AnyHandle find_any(const TaskSpec& task, std::string_view task_id);

  // get() returns one execution, or none when it is not in the store or belongs to another namespace; list() returns a
  // page of executions, attempts() the attempts of one execution.
  [[nodiscard]] std::optional<ExecutionRecord> get(const Uuid& id);
  [[nodiscard]] std::vector<ExecutionRecord> list(const ListOptions& options = {});
  [[nodiscard]] std::vector<AttemptRecord> attempts(const Uuid& id);
  // Cancels a pending execution at once and asks a running one to stop. Throws UsageError inside transaction().
  CancelAnswer cancel(const Uuid& id, std::string_view reason = "cancelled by an operator");
  // Starts a new run of a failed, cancelled or timed-out execution, under the same key and, unless `new_effect_key`,
  // the same effect key. Throws NotFound, WrongStatus, and TaskAlreadyExists when a newer run exists.
  AnyHandle retry(const Uuid& id, bool new_effect_key = false);
  // Why an execution is in its status and what would change that, the most important reason first; never empty. Throws
  // NotFound.
  [[nodiscard]] std::vector<Explanation> explain(const Uuid& id);

  // ---- Queues ------------------------------------------------------------------------------------------------------
  // All queues of the namespace, with settings and figures.
  [[nodiscard]] std::vector<QueueStats> queues();
  // Changes the settings that `change` sets; makes the queue if it does not exist. Throws InvalidArgument, and UsageError
  // inside transaction().
  void configure_queue(std::string_view queue, const QueueChange& change);
  void pause(std::string_view queue) { configure_queue(queue, {.paused = true}); }
  void resume(std::string_view queue) { configure_queue(queue, {.paused = false, .draining = false}); }
  // The queue then refuses new executions (QueueDraining) and finishes the ones it has.
  void drain(std::string_view queue) { configure_queue(queue, {.draining = true}); }

  // ---- Operators -------------------------------------------------------------------------------------------------
  // Acts on many executions and whole queues, the audit log and tokens (hapax/admin.hpp).
  [[nodiscard]] Admin admin() { return Admin(state_); }

  // The store's time, to make time-bucket keys of (hapax/time_bucket.hpp).
  [[nodiscard]] Time now();
  // The store's kind, version, location and schema in words, without passwords.
  [[nodiscard]] std::string describe_store();

  // Internal: for other parts of the library.
  [[nodiscard]] const std::shared_ptr<detail::AppState>& state() const { return state_; }

 private:
  template <class In>
  static std::string encode_input(const In& input) {
    return detail::encode_strict(input, "input");
  }

  template <class Made, class Begin>
  static std::future<Made> in_future(const Begin& begin) {
    auto promise = std::make_shared<std::promise<Made>>();
    auto future = promise->get_future();
    begin([promise](AnyHandle handle, std::exception_ptr error) {
      if (error) {
        promise->set_exception(std::move(error));
      } else {
        promise->set_value(Made(std::move(handle)));
      }
    });
    return future;
  }

  template <class In, class Item>
  static detail::RawItem encode_item(const Item& item) {
    if constexpr (std::is_same_v<std::remove_cvref_t<Item>, BulkItem<In>>) {
      return {encode_input<In>(item.input), item.options};
    } else {
      return {encode_input<In>(item), std::nullopt};
    }
  }

  template <class In, class Out, class Fn>
  static RawHandler typed_handler(Fn fn) {
    constexpr bool with_context = std::is_invocable_v<const Fn&, TaskContext&, const In&>;
    static_assert(with_context || std::is_invocable_v<const Fn&, const In&>,
                  "a handler is called as fn(TaskContext&, const In&) or fn(const In&), by several threads at once, so "
                  "it may not be a mutable lambda");
    return
        [fn = std::make_shared<const Fn>(std::move(fn))](TaskContext& context, const std::string& text) -> std::string {
          const In input = decode_input<In>(text);
          const auto call = [&]() -> decltype(auto) {
            if constexpr (with_context) {
              return (*fn)(context, input);
            } else {
              return (*fn)(input);
            }
          };
          if constexpr (std::is_void_v<Out>) {
            call();
            return "null";
          } else {
            check_result<Out, decltype(call())>();
            return detail::encode_lenient<Out>(call());
          }
        };
  }

  template <class In, class Out, class Fn>
  static RawWorkflow typed_workflow(Fn fn) {
    static_assert(
        std::is_invocable_v<const Fn&, WorkflowContext&, const In&>,
        "a workflow's function is called as fn(WorkflowContext&, const In&), again and again, so it may not be "
        "a mutable lambda");
    return [fn = std::make_shared<const Fn>(std::move(fn))](WorkflowContext& context, const std::string& text) {
      const In input = decode_input<In>(text);
      if constexpr (std::is_void_v<Out>) {
        (*fn)(context, input);
        return std::string("null");
      } else {
        check_result<Out, decltype((*fn)(context, input))>();
        return detail::encode_lenient<Out>((*fn)(context, input));
      }
    };
  }

  template <class Out, class Returned>
  static constexpr void check_result() {
    static_assert(!std::is_void_v<Returned>,
                  "the handler returns nothing, but its task or workflow was declared with a result type: return a "
                  "value, or declare hapax::Task<In> (hapax::Workflow<In>) without one");
    static_assert(std::is_convertible_v<Returned, Out>,
                  "the handler returns something that does not convert to the result type its task or workflow was "
                  "declared with");
    static_assert(!detail::narrows<std::remove_cvref_t<Returned>, Out>,
                  "the handler's number may lose its fraction, sign or upper digits as the declared result type (3.7 "
                  "would be recorded as 3): declare the task or workflow with the type that is returned, or write "
                  "static_cast<Result>(...) where the loss is meant");
  }

  // Input that does not convert to the task's type fails for good: another attempt would get the same input.
  template <class In>
  static In decode_input(const std::string& text) {
    try {
      return detail::decode<In>(text, "input");
    } catch (const InvalidArgument& error) { throw Permanent("InvalidInput", error.what()); }
  }

  void add_handler(const TaskSpec& task, RawHandler handler);
  void add_workflow(const TaskSpec& workflow, RawWorkflow function);
  BulkReport enqueue_bulk(const TaskSpec& task, const detail::RawSource& source, const BulkOptions& options);

  std::shared_ptr<detail::AppState> state_;
};

// Opens a store: "sqlite:orders.db", "postgresql://user@host/database" or "memory:" (for tests: nothing survives the
// process). Throws InvalidArgument for any other URL, StoreUnavailable, and SchemaMismatch when the schema needs `hapax
// migrate`.
[[nodiscard]] App open(const std::string& url, const OpenOptions& options = {});

}  // namespace hapax
