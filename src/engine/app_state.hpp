// AppState: what all copies of an App share.
#pragma once

#include <hapax/app.hpp>

#include "base/clock.hpp"
#include "engine/door.hpp"
#include "engine/engine.hpp"
#include "engine/run.hpp"
#include "engine/worker.hpp"
#include "engine/workflow_pool.hpp"
#include "model/turn.hpp"

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

// Whether a transaction in which a handler completed its execution came through.
enum class CommitFate : std::uint8_t { unknown, committed, rolled_back };

struct Completion {
  std::atomic<CommitFate> fate{CommitFate::unknown};
  std::string result;
};

struct TransactionState {
  std::shared_ptr<AppState> app;
  store::Transaction* transaction = nullptr;
  std::unique_ptr<store::Transaction> owned;  // attached ones
  std::vector<model::QueueRef> queues;        // that got something
  std::vector<std::shared_ptr<Completion>> completions;
};

// One call of a handler.
class ContextState {
 public:
  ContextState(std::shared_ptr<AppState> app, engine::Run& run) : app_(std::move(app)), run_(run) {}

  [[nodiscard]] const std::shared_ptr<AppState>& app() const { return app_; }
  [[nodiscard]] engine::Run& run() { return run_; }
  [[nodiscard]] const std::string& effect_key();

  [[nodiscard]] std::optional<std::string> recorded(std::string_view name);
  void record(std::string_view name, std::string json);

  std::shared_ptr<Completion> completion;  // the handler completed in a transaction

 private:
  void load();

  std::shared_ptr<AppState> app_;
  engine::Run& run_;
  std::once_flag effect_key_made_;
  std::string effect_key_;
  bool loaded_ = false;
  std::vector<model::JournalEntry> entries_;
};

class AppState : public std::enable_shared_from_this<AppState> {
 public:
  // `actor`: who acts through it (SPEC X8); empty: nobody in particular.
  AppState(std::shared_ptr<engine::Engine> engine, std::string ns, std::string actor = {})
      : engine_(std::move(engine)), ns_(std::move(ns)), actor_(std::move(actor)), catalogue_(engine_->store(), ns_) {}

  [[nodiscard]] engine::Engine& engine() { return *engine_; }
  [[nodiscard]] const std::shared_ptr<engine::Engine>& shared_engine() const { return engine_; }
  [[nodiscard]] store::Store& store() { return engine_->store(); }
  [[nodiscard]] const std::string& ns() const { return ns_; }
  // Who stands in the audit.
  [[nodiscard]] model::Actor actor() const { return {.name = actor_.empty() ? "code" : actor_}; }
  // The same, and nobody for a program that named none: for what is done too often to be told each time.
  [[nodiscard]] model::Actor named_actor() const { return {.name = actor_}; }
  [[nodiscard]] model::QueueRef queue(std::string_view name) const { return {ns_, std::string(name)}; }

  // ---- Requests --------------------------------------------------------------------------------------------------
  using Declare = engine::CatalogueCache::Declare;
  [[nodiscard]] model::NewExecution request(const TaskSpec& task, std::string input, const EnqueueOptions& options,
                                            Declare declare = Declare::yes);
  // Through the group commit; `task` names it in errors. Waits for the holder when options.on_conflict says so.
  [[nodiscard]] AnyHandle admit(model::NewExecution request, const std::string& task, const EnqueueOptions& options);
  // The same without waiting, with the request made here: again, when the catalogue has changed meanwhile. What the request
  // or its checks throw is told to the callback.
  struct AsyncRequest {
    TaskSpec task;
    std::string input;
    EnqueueOptions options;
    model::Kind kind = model::Kind::task;
    App::Admitted callback;
    int round = 1;
  };
  void admit_async(AsyncRequest asked);
  [[nodiscard]] engine::CatalogueCache& catalogue() { return catalogue_; }
  [[nodiscard]] AnyHandle handle(const model::Admission& admission);
  [[nodiscard]] AnyHandle handle(const Uuid& id);
  // Executions of other namespaces are as good as not there.
  [[nodiscard]] bool is_own(const Uuid& id);
  [[nodiscard]] std::vector<Uuid> own(std::span<const Uuid> ids);
  // Throws UsageError on a thread that is inside App::transaction of this app.
  void forbid_in_transaction(std::string_view what) const;

  // ---- Handlers --------------------------------------------------------------------------------------------------
  void add_handler(const std::string& task, RawHandler handler);
  void add_middleware(Middleware middleware);
  [[nodiscard]] std::vector<std::string> tasks() const;
  // Told of tasks added later.
  void add_worker(const std::shared_ptr<engine::Worker>& worker);
  [[nodiscard]] engine::Ending execute(engine::Run& run);

  // ---- Workflows ---------------------------------------------------------------------------------------------------
  // None until the first workflow is handled.
  [[nodiscard]] std::shared_ptr<engine::WorkflowSupport> workflows() const;
  // Sets it, unless it is set already; gives back the one that counts.
  [[nodiscard]] std::shared_ptr<engine::WorkflowSupport> add_workflows(std::shared_ptr<engine::WorkflowSupport> fresh);
  // Workers are told of a workflow that was added.
  void tasks_changed();
  // Throws UsageError when a worker was started before there was any workflow: it has nowhere to run one.
  void check_takes_workflows() const;
  // A workflow's turn on this thread.
  [[nodiscard]] model::Finish turn(const engine::RunPtr& run);

  // ---- Events (defined by the room schedule) -------------------------------------------------------------------------
  [[nodiscard]] schedule::EventRouter& router();

  // ---- For the testing kit -----------------------------------------------------------------------------------------
  std::shared_ptr<base::ManualClock> manual_clock;
  std::atomic<bool> runs_inline{false};
  // Runs what is due in the queue on this thread.
  void run_inline(const model::QueueRef& queue);

 private:
  using Chain = std::vector<Middleware>;

  void submit(const std::shared_ptr<AsyncRequest>& asked);
  void answer(const std::shared_ptr<AsyncRequest>& asked, const model::Admission& admission, model::IdentityMode mode,
              std::exception_ptr error);

  void call(TaskContext& context, ContextState& state, std::string& result);
  [[nodiscard]] engine::Ending settle_completion(ContextState& state, bool threw);

  const std::shared_ptr<engine::Engine> engine_;
  const std::string ns_;
  const std::string actor_;
  engine::CatalogueCache catalogue_;
  mutable std::shared_mutex handlers_mutex_;  // guards what follows
  std::unordered_map<std::string, std::shared_ptr<const RawHandler>> handlers_;
  std::shared_ptr<const Chain> chain_ = std::make_shared<const Chain>();
  std::vector<std::weak_ptr<engine::Worker>> workers_;
  std::shared_ptr<engine::WorkflowSupport> workflows_;
  std::mutex router_mutex_;
  std::shared_ptr<schedule::EventRouter> router_;  // under router_mutex_; uses the engine
};

// The last owner may be a callback on a thread of the engine's own; the state is then destroyed by another.
[[nodiscard]] std::shared_ptr<AppState> make_app_state(std::unique_ptr<store::Store> store, std::string ns,
                                                       std::string actor = {});

// Defined by the room schedule: the ticker of this process, started if it does not run yet; and what is due by the store's
// clock, done here and now.
void start_ticker(engine::Engine& engine, std::function<void(std::string_view)> on_trouble);
void tick_now(engine::Engine& engine);
// Likewise: hapax.toml with its activities, and what it says brought into the store if it is another than the last one.
[[nodiscard]] config::Config load_configuration(const std::string& path);
void apply_configuration_at_start(engine::Engine& engine, const std::string& ns, const config::Config& config);

// On this thread, a transaction of this app is being lent.
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
