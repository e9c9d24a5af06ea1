// AppState: the state that all copies of an App share. Any thread may call it.
#pragma once

#include <hapax/app.hpp>

#include "app/operations.hpp"
#include "base/clock.hpp"
#include "engine/build_request.hpp"
#include "engine/engine.hpp"
#include "engine/run.hpp"
#include "engine/worker.hpp"
#include "engine/workflow_pool.hpp"
#include "model/refusal.hpp"
#include "model/turn.hpp"
#include "workflow/host.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace hapax::config {
struct Config;
}
namespace hapax::schedule {
class EventRouter;
}

namespace hapax::detail {

// Whether the transaction in which a handler completed its execution has committed.
enum class CommitFate : std::uint8_t { unknown, committed, rolled_back };

struct Completion {
  std::atomic<CommitFate> fate{CommitFate::unknown};
  std::string result;
};

struct TransactionState {
  std::shared_ptr<AppState> app;
  store::Transaction* transaction = nullptr;
  std::unique_ptr<store::Transaction> owned;  // of attach() only
  std::vector<model::QueueRef> queues;        // in which something was enqueued
  std::vector<std::shared_ptr<Completion>> completions;
  // For the observer, after the commit; empty without one.
  std::vector<model::NewExecution> requests;  // without their inputs
  std::vector<model::Admission> admissions;
};

// The state of one call of a handler.
class ContextState {
 public:
  ContextState(std::shared_ptr<AppState> app, engine::Run& run) : app_(std::move(app)), run_(run) {}

  [[nodiscard]] const std::shared_ptr<AppState>& app() const { return app_; }
  [[nodiscard]] engine::Run& run() { return run_; }
  [[nodiscard]] const std::string& effect_key();

  [[nodiscard]] std::optional<std::string> recorded(std::string_view name);
  void record(std::string_view name, std::string json);

  std::shared_ptr<Completion> completion;  // set when the handler completed its execution in a transaction

 private:
  void load();

  std::shared_ptr<AppState> app_;
  engine::Run& run_;
  std::once_flag effect_key_made_;
  std::string effect_key_;
  bool loaded_ = false;
  std::vector<model::JournalEntry> entries_;
};

class AppState final : public workflow::Host, public std::enable_shared_from_this<AppState> {
 public:
  // `actor`: the name recorded in the audit log; empty: "code".
  AppState(std::shared_ptr<engine::Engine> engine, std::string namespace_name, std::string actor = {})
      : engine_(std::move(engine)),
        namespace_name_(std::move(namespace_name)),
        actor_(std::move(actor)),
        catalogue_(engine_->catalogue(namespace_name_)) {}

  [[nodiscard]] engine::Engine& engine() override { return *engine_; }
  [[nodiscard]] const std::shared_ptr<engine::Engine>& shared_engine() const { return engine_; }
  [[nodiscard]] store::Store& store() override { return engine_->store(); }
  [[nodiscard]] const std::string& namespace_name() const override { return namespace_name_; }
  // The actor for the audit log.
  [[nodiscard]] model::Actor actor() const { return {.name = actor_.empty() ? "code" : actor_}; }
  // As actor(), or an empty name if the program gave none: for acts that are too frequent to audit for unnamed
  // programs.
  [[nodiscard]] model::Actor named_actor() const { return {.name = actor_}; }
  // The operator's acts of this app. change() is for acts that write: it throws UsageError on a thread that is inside
  // App::transaction of this app.
  [[nodiscard]] app::Operations operations() const { return {*engine_, namespace_name_, actor()}; }
  [[nodiscard]] app::Operations change(std::string_view what) const {
    forbid_in_transaction(what);
    return operations();
  }
  [[nodiscard]] model::QueueRef queue(std::string_view name) const { return {namespace_name_, std::string(name)}; }

  // ---- Requests --------------------------------------------------------------------------------------------------
  using Declare = engine::CatalogueCache::Declare;
  [[nodiscard]] model::NewExecution request(const TaskSpec& task, std::string input, const EnqueueOptions& options,
                                            model::Kind kind = model::Kind::task, Declare declare = Declare::yes);
  [[nodiscard]] model::NewExecution request_of_run(const TaskSpec& task, std::string input,
                                                   const EnqueueOptions& options, model::Kind kind) override {
    return request(task, std::move(input), options, kind, Declare::not_now);
  }
  // Makes a request, again when the catalogue has changed meanwhile, and admits it through the group commit. Waits for
  // the holder when options.on_conflict says so.
  [[nodiscard]] AnyHandle admit(const TaskSpec& task, const std::string& input, const EnqueueOptions& options,
                                model::Kind kind);
  // As admit(), without blocking. The request is made here, and made again when the catalogue has changed meanwhile.
  // Exceptions of the request or its checks go to the callback.
  struct AsyncRequest {
    TaskSpec task;
    std::string input;
    EnqueueOptions options;
    model::Kind kind = model::Kind::task;
    App::Admitted callback;
    int round = 1;
  };
  void admit_async(AsyncRequest asked);
  [[nodiscard]] engine::CatalogueCache& catalogue() { return *catalogue_; }
  [[nodiscard]] AnyHandle handle(const model::Admission& admission);
  [[nodiscard]] AnyHandle handle(const Uuid& id);
  // Whether the execution exists in this app's namespace.
  [[nodiscard]] bool is_own(const Uuid& id);
  [[nodiscard]] std::vector<Uuid> own(std::span<const Uuid> ids);
  // Throws UsageError on a thread that is inside App::transaction of this app.
  void forbid_in_transaction(std::string_view what) const;

  // ---- Handlers --------------------------------------------------------------------------------------------------
  void add_handler(const std::string& task, RawHandler handler);
  void add_middleware(Middleware middleware);
  [[nodiscard]] std::vector<std::string> tasks() const;
  // Adds a worker, which gets the names of tasks that are added later.
  void add_worker(const std::shared_ptr<engine::Worker>& worker);
  [[nodiscard]] engine::Ending execute(engine::Run& run);

  // ---- Workflows ---------------------------------------------------------------------------------------------------
  [[nodiscard]] std::shared_ptr<workflow::Support> support() override;
  void transaction(const std::function<model::Advance(Transaction&)>& body) override;
  // Null until the first workflow is handled.
  [[nodiscard]] std::shared_ptr<engine::WorkflowSupport> workflows() const;
  // Sets the app's workflows unless they are set already; returns the workflows that are set.
  [[nodiscard]] std::shared_ptr<engine::WorkflowSupport> add_workflows(std::shared_ptr<engine::WorkflowSupport> fresh);
  // Updates the workers' task names after a workflow was added.
  void tasks_changed();
  // Throws UsageError when a worker was started before the app had a workflow: such a worker cannot run one.
  void check_takes_workflows() const;
  // Runs one turn of a workflow on this thread.
  [[nodiscard]] model::Finish turn(const engine::RunPtr& run);

  // ---- Events ------------------------------------------------------------------------------------------------------
  [[nodiscard]] schedule::EventRouter& router();

  // ---- Observation -------------------------------------------------------------------------------------------------
  // Sets the log and the observer of the options. Call it once, before the app is used.
  void observe(const OpenOptions& options);

  // ---- For the testing kit -----------------------------------------------------------------------------------------
  std::shared_ptr<base::ManualClock> manual_clock;
  std::atomic<bool> runs_inline{false};
  // Runs the due executions of the queue on this thread.
  void run_inline(const model::QueueRef& queue);

 private:
  using Chain = std::vector<Middleware>;

  void submit(const std::shared_ptr<AsyncRequest>& asked);
  [[nodiscard]] AnyHandle admit(model::NewExecution request, const std::string& task, const EnqueueOptions& options);
  void answer(const std::shared_ptr<AsyncRequest>& asked, const model::Admission& admission,
              const model::Asking& asking, std::exception_ptr error);

  void call(TaskContext& context, ContextState& state, std::string& result);
  [[nodiscard]] engine::Ending settle_completion(ContextState& state, bool threw);

  const std::shared_ptr<engine::Engine> engine_;
  const std::string namespace_name_;
  const std::string actor_;
  const std::shared_ptr<engine::CatalogueCache> catalogue_;
  mutable std::shared_mutex handlers_mutex_;  // guards the members below
  std::unordered_map<std::string, std::shared_ptr<const RawHandler>> handlers_;
  std::shared_ptr<const Chain> chain_ = std::make_shared<const Chain>();
  std::vector<std::weak_ptr<engine::Worker>> workers_;
  std::shared_ptr<engine::WorkflowSupport> workflows_;
  std::mutex router_mutex_;
  std::shared_ptr<schedule::EventRouter> router_;  // guarded by router_mutex_; uses the engine
};

// Makes the state. The pointer is the program's reference (an App, its copies, a Worker): the log ends with the last of
// them. Handlers and handles refer to the state by shared_from_this(), which does not keep the log. The last reference
// may be a callback's on one of the engine's own threads; then another thread destroys the state.
[[nodiscard]] std::shared_ptr<AppState> make_app_state(std::unique_ptr<store::Store> store, std::string namespace_name,
                                                       std::string actor = {});

// start_ticker() starts this process's ticker unless it runs already; tick_now() fires the schedules that are due by
// the store's clock on the calling thread.
void start_ticker(engine::Engine& engine);
void tick_now(engine::Engine& engine);
// load_configuration() reads hapax.toml with its activities; apply_configuration_at_start() writes the settings to the
// store if they differ from the ones applied last.
[[nodiscard]] config::Config load_configuration(const std::string& path);
void apply_configuration_at_start(engine::Engine& engine, const std::string& namespace_name,
                                  const config::Config& config);

// While a guard lives, its thread is inside App::transaction of this app.
class TransactionGuard {
 public:
  explicit TransactionGuard(const AppState* app);
  TransactionGuard(const TransactionGuard&) = delete;
  TransactionGuard& operator=(const TransactionGuard&) = delete;
  ~TransactionGuard();

 private:
  const AppState* before_;
};

}  // namespace hapax::detail
