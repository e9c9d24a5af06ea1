#include "app/app_state.hpp"

#include <hapax/error.hpp>
#include <hapax/observer.hpp>

#include "base/limits.hpp"
#include "engine/follow_continuations.hpp"
#include "engine/outcome.hpp"
#include "engine/step_thread.hpp"
#include "engine/wakeups.hpp"
#include "model/question.hpp"
#include "model/validate.hpp"
#include "store/brief.hpp"

#include <algorithm>
#include <iterator>
#include <thread>

namespace hapax::detail {

namespace {
thread_local const AppState* lending = nullptr;
}  // namespace

std::shared_ptr<AppState> make_app_state(std::unique_ptr<store::Store> store, std::string namespace_name,
                                         std::string actor) {
  auto engine = std::make_shared<engine::Engine>(std::move(store));
  std::shared_ptr<AppState> state(new AppState(std::move(engine), std::move(namespace_name), std::move(actor)),
                                  [](AppState* last) {
                                    if (engine::on_engine_thread()) {
                                      std::thread([last] { delete last; }).detach();
                                    } else {
                                      delete last;
                                    }
                                  });
  // The references of the program: App, its copies and its workers. The log ends with them, although running handlers
  // and handles refer to the state by shared_from_this().
  AppState* const pointer = state.get();
  return {pointer, [state = std::move(state)](AppState*) mutable {
            state->engine().observations().stop_log();
            state.reset();
          }};
}

void AppState::observe(const OpenOptions& options) {
  engine::Observations& observations = engine_->observations();
  observations.log_to(options.on_log);
  observations.observe(options.observer);
  if (!options.on_log && !options.observer) { return; }
  engine_->wakeups().sweeps().log_to([&observations](std::string_view text) {
    observations.log(LogLevel::warning, text, {{"component", "sweep"}});
  });
  observations.opened({.namespace_name = namespace_name_, .queues = [weak = weak_from_this()] {
                         // This reference may be the last one, and the observer's thread must not destroy the observer.
                         const engine::EngineThreadScope scope;
                         const std::shared_ptr<AppState> state = weak.lock();
                         if (!state) { throw StoreUnavailable("the app is closed"); }
                         return App(state).queues();
                       }});
}

TransactionGuard::TransactionGuard(const AppState* app) : before_(lending) { lending = app; }
TransactionGuard::~TransactionGuard() { lending = before_; }

void AppState::forbid_in_transaction(std::string_view what) const {
  if (lending == this) {
    throw UsageError(std::string(what) + " inside app.transaction would wait for itself; use enqueue_in(tx, …)");
  }
}

model::NewExecution AppState::request(const TaskSpec& task, std::string input, const EnqueueOptions& options,
                                      model::Kind kind, Declare declare) {
  return engine::make_request({.namespace_name = namespace_name_,
                               .task = task,
                               .entry = catalogue_->find(task, declare),
                               .input = std::move(input),
                               .options = options,
                               .kind = kind,
                               .actor = actor_});
}

AnyHandle AppState::admit(const TaskSpec& task, const std::string& input, const EnqueueOptions& options,
                          model::Kind kind) {
  return engine::with_current_catalogue(*catalogue_,
                                        [&] { return admit(request(task, input, options, kind), task.name, options); });
}

AnyHandle AppState::admit(model::NewExecution request, const std::string& task, const EnqueueOptions& options) {
  const model::QueueRef queue = runs_inline ? request.queue : model::QueueRef{};
  const model::Asking asking = model::asking_of(task, options, request);
  const model::Admission admission = engine_->admit(std::move(request));
  model::throw_if_refused(admission, asking);
  if (runs_inline) { run_inline(queue); }
  if (options.on_conflict == OnConflict::wait && !admission.created() && !is_terminal(admission.status)) {
    (void)engine::wait_for_last_run(engine_->waiters(), admission.id, options.wait_timeout, false);
  }
  return handle(admission);
}

void AppState::admit_async(AsyncRequest asked) { submit(std::make_shared<AsyncRequest>(std::move(asked))); }

void AppState::submit(const std::shared_ptr<AsyncRequest>& asked) {
  try {
    if (runs_inline) {
      AnyHandle made = admit(asked->task, asked->input, asked->options, asked->kind);
      asked->callback(std::move(made), nullptr);
      return;
    }
    model::NewExecution request = this->request(asked->task, asked->input, asked->options, asked->kind);
    const model::Asking asking = model::asking_of(asked->task.name, asked->options, request);
    engine_->admit_async(std::move(request), [state = shared_from_this(), asked, asking](
                                                 const model::Admission& admission, std::exception_ptr error) {
      state->answer(asked, admission, asking, std::move(error));
    });
  } catch (...) { asked->callback({}, std::current_exception()); }
}

void AppState::answer(const std::shared_ptr<AsyncRequest>& asked, const model::Admission& admission,
                      const model::Asking& asking, std::exception_ptr error) {
  const EnqueueOptions& options = asked->options;
  AnyHandle made;
  try {
    if (error) { std::rethrow_exception(error); }
    model::throw_if_refused(admission, asking);
    made = handle(admission);
  } catch (const store::CatalogueChanged& changed) {
    if (asked->round++ < limits::catalogue_rounds) {
      catalogue_->forget();
      submit(asked);
      return;
    }
    error = std::make_exception_ptr(StoreBusy(changed.what()));
  } catch (...) { error = std::current_exception(); }
  if (!error && options.on_conflict == OnConflict::wait && !made.created() && !is_terminal(admission.status)) {
    try {
      engine::watch_last_run(
          engine_->waiters(), admission.id,
          [asked, made](const model::Outcome*, const std::exception_ptr&) { asked->callback(made, nullptr); }, false,
          options.wait_timeout);
      return;
    } catch (...) { error = std::current_exception(); }
  }
  asked->callback(std::move(made), std::move(error));
}

AnyHandle AppState::handle(const model::Admission& admission) {
  AnyHandle handle;
  handle.state_ = shared_from_this();
  handle.id_ = admission.id;
  handle.created_ = admission.created();
  handle.local_ = admission.fence.has_value();
  handle.run_ = admission.run;
  handle.deduplicated_from_ = admission.deduplicated_from;
  return handle;
}

AnyHandle AppState::handle(const Uuid& id) {
  AnyHandle handle;
  handle.state_ = shared_from_this();
  handle.id_ = id;
  return handle;
}

bool AppState::is_own(const Uuid& id) {
  const auto execution = store().get(id);
  return execution && execution->queue.namespace_name == namespace_name_;
}

std::vector<Uuid> AppState::own(std::span<const Uuid> ids) { return store::own_ids(store(), namespace_name_, ids); }

void AppState::add_handler(const std::string& task, RawHandler handler) {
  model::check_name(task, "task");
  model::refuse_question(task, "task");
  if (!handler) { throw InvalidArgument("handler", "is empty"); }
  std::vector<std::shared_ptr<engine::Worker>> workers;
  {
    const std::unique_lock lock(handlers_mutex_);
    if (handlers_.size() >= limits::tasks_per_claim) {
      throw UsageError("an app has at most " + std::to_string(limits::tasks_per_claim) + " handlers");
    }
    if (!handlers_.emplace(task, std::make_shared<const RawHandler>(std::move(handler))).second) {
      throw UsageError("task '" + task + "' has a handler already");
    }
    for (const auto& weak : workers_) {
      if (auto worker = weak.lock()) { workers.push_back(std::move(worker)); }
    }
  }
  for (const auto& worker : workers) { worker->set_tasks(tasks()); }
}

void AppState::add_middleware(Middleware middleware) {
  const std::unique_lock lock(handlers_mutex_);
  auto longer = std::make_shared<Chain>(*chain_);
  longer->push_back(std::move(middleware));
  chain_ = std::move(longer);
}

std::vector<std::string> AppState::tasks() const {
  const std::shared_lock lock(handlers_mutex_);
  std::vector<std::string> names;
  names.reserve(handlers_.size());
  for (const auto& [name, handler] : handlers_) { names.push_back(name); }
  if (workflows_) { std::ranges::move(workflows_->names(), std::back_inserter(names)); }
  return names;
}

std::shared_ptr<engine::WorkflowSupport> AppState::workflows() const {
  const std::shared_lock lock(handlers_mutex_);
  return workflows_;
}

std::shared_ptr<engine::WorkflowSupport> AppState::add_workflows(std::shared_ptr<engine::WorkflowSupport> fresh) {
  const std::unique_lock lock(handlers_mutex_);
  if (!workflows_) { workflows_ = std::move(fresh); }
  return workflows_;
}

void AppState::tasks_changed() {
  std::vector<std::shared_ptr<engine::Worker>> workers;
  {
    const std::shared_lock lock(handlers_mutex_);
    for (const auto& weak : workers_) {
      if (auto worker = weak.lock()) { workers.push_back(std::move(worker)); }
    }
  }
  for (const auto& worker : workers) { worker->set_tasks(tasks()); }
}

void AppState::check_takes_workflows() const {
  const std::shared_lock lock(handlers_mutex_);
  for (const auto& weak : workers_) {
    const auto worker = weak.lock();
    if (worker && !worker->options().workflows) {
      throw UsageError(
          "a worker of this app was started when it had no workflow yet, and cannot run one; call app.handle(workflow, "
          "fn) before app.work()");
    }
  }
}

model::Finish AppState::turn(const engine::RunPtr& run) {
  if (const auto support = workflows()) { return support->run_here(run); }
  return engine::release_finish(*run);
}

void AppState::add_worker(const std::shared_ptr<engine::Worker>& worker) {
  const std::unique_lock lock(handlers_mutex_);
  std::erase_if(workers_, [](const auto& weak) { return weak.expired(); });
  workers_.push_back(worker);
}

void AppState::call(TaskContext& context, ContextState& state, std::string& result) {
  const model::Claim& claim = state.run().claim();
  std::shared_ptr<const RawHandler> handler;
  std::shared_ptr<const Chain> chain;
  {
    const std::shared_lock lock(handlers_mutex_);
    const auto found = handlers_.find(claim.task);
    if (found == handlers_.end()) { throw NotFound("this worker has no handler for task '" + claim.task + "'"); }
    handler = found->second;
    chain = chain_;
  }
  if (chain->empty()) {
    result = (*handler)(context, claim.input);
    return;
  }
  // Each middleware's next() runs the rest of the chain.
  std::function<void(std::size_t)> from = [&](std::size_t link) {
    if (link == chain->size()) {
      result = (*handler)(context, claim.input);
    } else {
      (*chain)[link](context, [&from, link] { from(link + 1); });
    }
  };
  from(0);
}

engine::Ending AppState::execute(engine::Run& run) {
  ContextState state(shared_from_this(), run);
  TaskContext context(state);
  std::string result = "null";
  try {
    call(context, state, result);
  } catch (...) {
    if (!state.completion) { throw; }
    engine::Ending ending = settle_completion(state, true);
    if (ending.kind != engine::Ending::Kind::settled) { throw; }
    return ending;
  }
  return state.completion ? settle_completion(state, false) : engine::Ending::completed(std::move(result));
}

// Ends a handler that completed its execution inside a transaction, where only the commit counts. An unknown commit is
// read back from the store; if the transaction has committed after all, the fence refuses the failure that is recorded
// here.
engine::Ending AppState::settle_completion(ContextState& state, bool threw) {
  CommitFate fate = state.completion->fate.load();
  if (fate == CommitFate::unknown) {
    try {
      const Uuid id = state.run().claim().id;
      const auto outcomes = store().outcomes(std::span<const Uuid>(&id, 1));
      const bool committed = outcomes.front() && outcomes.front()->status == Status::completed;
      fate = committed ? CommitFate::committed : CommitFate::rolled_back;
    } catch (const StoreUnavailable&) { fate = CommitFate::rolled_back; }
  }
  if (fate == CommitFate::committed) {
    engine::Ending ending = engine::Ending::settled();
    ending.result = state.completion->result;
    return ending;
  }
  return engine::Ending::failed("TransactionNotCommitted",
                                threw ? "the handler threw and its transaction did not commit"
                                      : "the handler completed in a transaction that did not commit");
}

}  // namespace hapax::detail
