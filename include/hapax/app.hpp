// App: a store and everything a program does with it.
//
//   auto app = hapax::open("sqlite:orders.db");
//   app.handle(charge_card, [](hapax::TaskContext& ctx, const Order& order) { … return payment; });
//   auto worker = app.work({.queues = {"payments"}, .threads = 8});
//   auto handle = app.enqueue(charge_card, {"456", 99.99}, {.task_id = "charge-order-456"});
//   Payment payment = handle.result();
//
// A handle on shared state: copies speak of the same app, any thread may use them, and the store is closed when the last
// copy, handle and worker is gone. Every failure is an exception derived from hapax::Error.
#pragma once

#include <hapax/activity.hpp>
#include <hapax/bulk.hpp>
#include <hapax/context.hpp>
#include <hapax/handle.hpp>
#include <hapax/inspect.hpp>
#include <hapax/json.hpp>
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

// A handler without types: input JSON in, result JSON out. Called on a worker's threads, several at once.
using RawHandler = std::function<std::string(TaskContext&, const std::string& input)>;

// A workflow's function without types.
using RawWorkflow = std::function<std::string(WorkflowContext&, const std::string& input)>;

// Runs around every handler; calls next() at most once and lets through what it throws. The first one added is outermost.
using Middleware = std::function<void(TaskContext&, const std::function<void()>& next)>;

class App {
 public:
  explicit App(std::shared_ptr<detail::AppState> state) : state_(std::move(state)) {}

  // ---- Enqueue ---------------------------------------------------------------------------------------------------
  // Returns when the execution is durably admitted, or met under its task_id. Throws InvalidArgument and its kin for what
  // cannot be taken, TaskAlreadyExists, TaskAlreadyCompleted, TaskAlreadyFinished and IdempotencyMismatch for a key that
  // is held, QueueDraining, and StoreUnavailable. CommitUnknown says that it may have happened: ask again with the
  // same task_id.
  template <class In, class Out>
  Handle<Out> enqueue(const Task<In, Out>& task, const std::type_identity_t<In>& input,
                      const EnqueueOptions& options = {}) {
    return Handle<Out>(enqueue_json(task.spec(), encode_input(input), options));
  }
  AnyHandle enqueue_json(const TaskSpec& task, std::string input_json, const EnqueueOptions& options = {});

  // Without waiting: the future gets what enqueue() would have returned or thrown.
  template <class In, class Out>
  [[nodiscard]] std::future<Handle<Out>> enqueue_async(const Task<In, Out>& task, const std::type_identity_t<In>& input,
                                                       const EnqueueOptions& options = {}) {
    return in_future<Handle<Out>>(
        [&](const Admitted& admitted) { enqueue_json_async(task.spec(), encode_input(input), options, admitted); });
  }
  // Called once, on a thread of the library's or this one: (handle, nullptr) or ({}, error).
  using Admitted = std::function<void(AnyHandle, std::exception_ptr)>;
  void enqueue_json_async(const TaskSpec& task, std::string input_json, const EnqueueOptions& options,
                          const Admitted& callback);

  // Many, from a range of inputs or of BulkItem<In>, read as it goes. Each batch is one transaction; an item that cannot
  // be taken throws, naming its index, before anything of its batch is written; batches before it stay admitted, as the
  // progress callback said. Refusals by key are answers (BulkAdmission::error), not exceptions.
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
  // The same from a generator: a callable that returns std::optional of an input or of BulkItem<In>, none at the end.
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
  // SQLite and PostgreSQL: begins, calls fn(Transaction&), commits; rolls back if fn throws. On SQLite everybody else's
  // writes wait meanwhile. A plain enqueue inside fn throws UsageError, as it might wait for itself. Throws Unsupported
  // on the memory store.
  void transaction(const std::function<void(Transaction&)>& fn);
  // PostgreSQL: the transaction that is open on the caller's PGconn*. Throws Unsupported on other stores.
  [[nodiscard]] Transaction attach(void* connection);
  // An enqueue that exists only if the transaction commits. Until then its handle's status is unknown to the store.
  template <class In, class Out>
  Handle<Out> enqueue_in(Transaction& tx, const Task<In, Out>& task, const std::type_identity_t<In>& input,
                         const EnqueueOptions& options = {}) {
    return Handle<Out>(enqueue_json_in(tx, task.spec(), encode_input(input), options));
  }
  AnyHandle enqueue_json_in(Transaction& tx, const TaskSpec& task, std::string input_json,
                            const EnqueueOptions& options = {});

  // ---- Work ------------------------------------------------------------------------------------------------------
  // fn(TaskContext&, const In&) or fn(const In&), returning something that converts to Out. Called by several threads at
  // once. What it throws is a failed attempt; hapax/control.hpp has what else it may say. One handler a task.
  template <class In, class Out, class Fn>
  void handle(const Task<In, Out>& task, Fn fn) {
    add_handler(task.spec(), typed_handler<In, Out>(std::move(fn)));
  }
  // A handler of JSON text. A result that is not JSON is a permanent failure of type "InvalidResult".
  void handle_json(const TaskSpec& task, RawHandler handler);
  void use(Middleware middleware);

  // Starts running the handlers registered so far and later. Throws UsageError when there is none.
  [[nodiscard]] Worker work(const WorkerOptions& options = {});

  // ---- Workflows ---------------------------------------------------------------------------------------------------
  // fn(WorkflowContext&, const In&), returning something that converts to Out. Called again from its beginning whenever a
  // run goes on elsewhere, so it must be deterministic (hapax/workflow.hpp). The first workflow is handled before work().
  template <class In, class Out, class Fn>
  void handle(const Workflow<In, Out>& workflow, Fn fn) {
    add_workflow(workflow.spec(), typed_workflow<In, Out>(std::move(fn)));
  }
  void handle_workflow_json(const TaskSpec& workflow, RawWorkflow function);

  // Starts a run, or meets the one that has the workflow_id, as enqueue does with a task_id. Throws InvalidArgument without
  // a workflow_id.
  template <class In, class Out>
  WorkflowHandle<Out> start(const Workflow<In, Out>& workflow, const std::type_identity_t<In>& input,
                            const StartOptions& options) {
    return WorkflowHandle<Out>(start_json(workflow.spec(), encode_input(input), options));
  }
  AnyHandle start_json(const TaskSpec& workflow, std::string input_json, const StartOptions& options);
  // Without waiting, as enqueue_async.
  template <class In, class Out>
  [[nodiscard]] std::future<WorkflowHandle<Out>> start_async(const Workflow<In, Out>& workflow,
                                                             const std::type_identity_t<In>& input,
                                                             const StartOptions& options) {
    return in_future<WorkflowHandle<Out>>(
        [&](const Admitted& admitted) { start_json_async(workflow.spec(), encode_input(input), options, admitted); });
  }
  void start_json_async(const TaskSpec& workflow, std::string input_json, const StartOptions& options,
                        const Admitted& callback);
  // A run known by its id, or by its workflow and workflow_id. Throws NotFound.
  template <class In, class Out>
  [[nodiscard]] WorkflowHandle<Out> find(const Workflow<In, Out>& workflow, std::string_view workflow_id) {
    return WorkflowHandle<Out>(find_any(workflow.spec(), workflow_id));
  }
  template <class In, class Out>
  [[nodiscard]] WorkflowHandle<Out> find(const Workflow<In, Out>& workflow, const Uuid& id) {
    (void)workflow;
    return WorkflowHandle<Out>(find_any(id));
  }
  // A new run, under a workflow_id of its own, that has the first `steps` journal entries of another run behind it and goes
  // on from there. Throws WrongStatus when one of them was started and had not ended.
  AnyHandle fork(const Uuid& run, int steps, const StartOptions& options);
  // What a run did, in order. Empty for what is no workflow. Throws NotFound.
  [[nodiscard]] std::vector<TimelineEntry> timeline(const Uuid& id);
  // The journal as JSON text, for ReplayTester and for people. Throws NotFound.
  [[nodiscard]] std::string export_journal(const Uuid& id);

  // ---- Activities: schedules and events -------------------------------------------------------------------------------
  // Makes it, or gives it another definition: a new version. The same definition again changes nothing. New ones, and those
  // whose timetable changes, count their ticks from now. Throws InvalidArgument naming the member.
  AppliedActivity apply(const Activity& activity);
  AppliedActivity apply_activity_json(std::string_view definition);
  [[nodiscard]] std::optional<ActivityRecord> activity(std::string_view id);
  [[nodiscard]] std::vector<ActivityRecord> activities();  // by id
  // The following throw NotFound. Ticks of a pause are missed ones when it is over; events of a pause are dropped.
  void pause_activity(std::string_view id, std::string_view note = {});
  void resume_activity(std::string_view id);
  void remove_activity(std::string_view id);  // its runs stay
  // Runs it now, paused or not. The same key again meets the first run; without a key every call is one.
  AnyHandle trigger_activity(std::string_view id, std::optional<std::string> key = {});
  // Runs the ticks of a time gone by, both ends inside; those that ran already do not run again.
  BackfillReport backfill_activity(std::string_view id, Time from, Time to);
  // Its runs, newest first; of the options, `parent` is its own. The task instances of a run are those whose parent it is.
  [[nodiscard]] std::vector<ExecutionRecord> activity_runs(std::string_view id, const ListOptions& options = {});
  // Its next ticks; none of one that waits for events.
  [[nodiscard]] std::vector<Time> next_fires(std::string_view id, int count = 10);
  // CloudEvents 1.0 envelopes as JSON text. Each starts every activity it matches once, however often it is sent; returns
  // after commit. Throws InvalidArgument naming the attribute, before anything is started.
  RoutedEvent send_event(std::string_view event);
  std::vector<RoutedEvent> send_events(std::span<const std::string> events);

  // ---- Executions --------------------------------------------------------------------------------------------------
  // A handle on an execution known by its id, or by its task and key. Throws NotFound.
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

  [[nodiscard]] std::optional<ExecutionRecord> get(const Uuid& id);
  [[nodiscard]] std::vector<ExecutionRecord> list(const ListOptions& options = {});
  [[nodiscard]] std::vector<AttemptRecord> attempts(const Uuid& id);
  CancelAnswer cancel(const Uuid& id, std::string_view reason = "cancelled by an operator");
  // A new run of a failed, cancelled or timed-out execution, under the same key and effect key. Throws NotFound,
  // WrongStatus, and TaskAlreadyExists when a newer run holds the key.
  AnyHandle retry(const Uuid& id, bool new_effect_key = false);
  // Everything the filter meets (its limit and cursor are not looked at), in bounded steps; returns how many. Without
  // statuses: cancel_all those that are pending or running, retry_all those that failed.
  std::size_t cancel_all(ListOptions filter, std::string_view reason = "cancelled by an operator");
  std::size_t retry_all(ListOptions filter);
  // Dead letters: off their list (their history stays), and a note for the next reader. Return how many there were.
  int discard(std::span<const Uuid> ids);
  int annotate(std::span<const Uuid> ids, std::string_view note);
  // Why it is where it is, the most telling reason first; never empty. Throws NotFound.
  [[nodiscard]] std::vector<Explanation> explain(const Uuid& id);

  // ---- Queues ------------------------------------------------------------------------------------------------------
  [[nodiscard]] std::vector<QueueStats> queues();
  void configure_queue(std::string_view queue, const QueueChange& change);
  void pause(std::string_view queue) { configure_queue(queue, {.paused = true}); }
  void resume(std::string_view queue) { configure_queue(queue, {.paused = false, .draining = false}); }
  // Takes nothing new, finishes what it has.
  void drain(std::string_view queue) { configure_queue(queue, {.draining = true}); }
  // Cancels all that is pending.
  PurgeAnswer purge(std::string_view queue);
  // Moves all that is pending; returns how many. Refuses, with InvalidArgument, what holds a key of scope queue.
  std::size_t move(std::string_view from, std::string_view to);

  // The store's clock: what time-bucket keys are made of (hapax/time_bucket.hpp).
  [[nodiscard]] Time now();
  // Store, version and place, for people. No secrets.
  [[nodiscard]] std::string describe_store();

  // For the other parts of the library.
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

  // Input that does not have the task's shape will not have it the next time.
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

// "sqlite:orders.db", "postgresql://user@host/database" or "memory:" (for tests: nothing survives the process). Throws
// InvalidArgument for a URL that is none of these, StoreUnavailable, and SchemaMismatch when the schema needs `hapax
// migrate`.
[[nodiscard]] App open(const std::string& url, const OpenOptions& options = {});

}  // namespace hapax
