// App's calls for workflows.
#include <hapax/app.hpp>
#include <hapax/replay_tester.hpp>

#include "app/app_state.hpp"
#include "app/find.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "engine/waiters.hpp"
#include "model/question.hpp"
#include "model/unreadable.hpp"
#include "model/validate.hpp"
#include "workflow/question.hpp"
#include "workflow/support.hpp"
#include "workflow/timeline.hpp"

#include <exception>
#include <map>
#include <set>

namespace hapax {

namespace {

EnqueueOptions enqueue_options(const StartOptions& options) {
  EnqueueOptions enqueue;
  if (!options.workflow_id.empty()) { enqueue.task_id = options.workflow_id; }
  enqueue.queue = options.queue;
  enqueue.delay = options.delay;
  enqueue.run_at = options.run_at;
  enqueue.priority = options.priority;
  enqueue.on_conflict = options.on_conflict;
  enqueue.reuse = options.reuse;
  enqueue.wait_timeout = options.wait_timeout;
  enqueue.tags = options.tags;
  enqueue.metadata = options.metadata;
  enqueue.deadline = options.deadline;
  enqueue.traceparent = options.traceparent;
  enqueue.tracestate = options.tracestate;
  return enqueue;
}

}  // namespace

std::shared_ptr<workflow::Support> detail::AppState::support() {
  return std::static_pointer_cast<workflow::Support>(
      add_workflows(std::make_shared<workflow::Support>(std::weak_ptr<workflow::Host>(weak_from_this()))));
}

void detail::AppState::transaction(const std::function<model::Advance(Transaction&)>& body) {
  App(shared_from_this()).transaction([&](Transaction& tx) { tx.state_->transaction->advance(body(tx)); });
}

void App::add_workflow(const TaskSpec& workflow, RawWorkflow function) {
  model::check_name(workflow.name, "workflow");
  if (!function) { throw InvalidArgument("function", "is empty"); }
  model::refuse_question(workflow.name, "workflow");
  state_->check_takes_workflows();
  state_->support()->add(workflow.name, std::move(function));
  state_->tasks_changed();
}

void App::handle_workflow_json(const TaskSpec& workflow, RawWorkflow function) {
  if (!function) { throw InvalidArgument("function", "is empty"); }
  add_workflow(workflow, [function = std::move(function)](WorkflowContext& context, const std::string& input) {
    std::string result = function(context, input);
    try {
      base::check_json(result, "result");
    } catch (const InvalidArgument& error) { throw Permanent("InvalidResult", error.what()); }
    return result;
  });
}

AnyHandle App::start_json(const TaskSpec& workflow, std::string input_json, const StartOptions& options) {
  state_->forbid_in_transaction("starting a workflow");
  return state_->admit(workflow, input_json, enqueue_options(options), model::Kind::workflow);
}

void App::start_json_async(const TaskSpec& workflow, std::string input_json, const StartOptions& options,
                           const Admitted& callback) {
  state_->forbid_in_transaction("starting a workflow");
  state_->admit_async({.task = workflow,
                       .input = std::move(input_json),
                       .options = enqueue_options(options),
                       .kind = model::Kind::workflow,
                       .callback = callback});
}

void AnyHandle::signal_json(std::string_view name, std::string payload_json, std::optional<std::string> once) const {
  if (!state_) { throw UsageError("this handle is empty: it refers to no execution"); }
  state_->forbid_in_transaction("sending a signal");
  const app::Operations operations(state_->engine(), state_->namespace_name(), state_->named_actor());
  const app::Signalled signalled = operations.signal(
      {.execution = id_, .name = std::string(name), .data = std::move(payload_json), .once = std::move(once)});
  if (state_->runs_inline && signalled.woken) { state_->run_inline(*signalled.woken); }
}

std::string AnyHandle::query_json(std::string_view name, const std::string& question_json) const {
  if (!state_) { throw UsageError("this handle is empty: it refers to no execution"); }
  try {
    return workflow::ask_run(*state_, id_, name, question_json);
  } catch (const workflow::QueryThrew& threw) { std::rethrow_exception(threw.error); }
}

namespace {

workflow::Exported read_run(detail::AppState& app, const Uuid& id) {
  model::Execution execution = app::find_execution(app.store(), app.namespace_name(), id);
  model::check_readable(execution);
  const model::HistoryRequest request{.execution = id};
  auto histories = app.store().histories({&request, 1});
  model::check_readable(histories.front());
  if (execution.kind == model::Kind::workflow) { workflow::restore_begin(execution, histories.front().entries); }
  return {.execution = std::move(execution), .history = std::move(histories.front())};
}

// Returns the first `steps` entries and their known outcomes, for a run that begins behind these entries.
model::Seed seed_of(const model::History& history, int steps) {
  model::Seed seed;
  std::set<std::int32_t> open;
  std::map<std::string, int> signals;
  for (const model::JournalEntry& entry : history.entries) {
    if (entry.position >= steps) { break; }
    const workflow::Entry kind = workflow::entry_of(entry);
    if (kind == workflow::Entry::task || kind == workflow::Entry::child) { open.insert(entry.position); }
    seed.entries.push_back(entry);
  }
  for (std::size_t place = 0; place < seed.entries.size(); ++place) {
    const model::JournalEntry& entry = seed.entries[place];
    const bool takes =
        workflow::entry_of(entry) == workflow::Entry::signal && !workflow::timed_out(seed.entries, place);
    if (takes) { ++signals[entry.name]; }
  }
  for (const model::Event& event : history.events) {
    const bool outcome = event.kind == model::EventKind::ended || event.kind == model::EventKind::refused;
    if (outcome && open.erase(event.position) > 0) { seed.events.push_back(event); }
    if (event.kind == model::EventKind::signal && signals[event.name]-- > 0) { seed.events.push_back(event); }
  }
  if (!open.empty()) {
    const model::JournalEntry& entry = history.entries.at(static_cast<std::size_t>(*open.begin()));
    throw WrongStatus("entry " + std::to_string(entry.position) + ", " +
                          workflow::describe(workflow::entry_of(entry), entry.name) +
                          ", had been started and had not ended; a fork begins where everything before it has ended",
                      Status::running);
  }
  return seed;
}

}  // namespace

AnyHandle App::fork(const Uuid& run, int steps, const StartOptions& options) {
  state_->forbid_in_transaction("a fork");
  const workflow::Exported from = read_run(*state_, run);
  if (from.execution.kind != model::Kind::workflow) {
    throw InvalidArgument("run", run.to_string() + " is a task; only workflows are forked");
  }
  if (steps < 0 || steps > static_cast<int>(from.history.entries.size())) {
    throw InvalidArgument("steps", std::to_string(steps) + ", expected 0 to " +
                                       std::to_string(from.history.entries.size()) + ", the entries of its journal");
  }
  TaskSpec spec;
  spec.name = from.execution.task;
  spec.options.queue = from.execution.queue.name;
  spec.options.priority = from.execution.priority;
  spec.options.max_lost = from.execution.max_lost;
  spec.options.max_attempts = 1;
  const auto seed = std::make_shared<const model::Seed>(seed_of(from.history, steps));
  const model::Admission admission = engine::with_current_catalogue(state_->catalogue(), [&] {
    model::NewExecution request =
        state_->request(spec, from.execution.input, enqueue_options(options), model::Kind::workflow);
    request.seed = seed;
    request.labels.forked_from = run;
    return state_->engine().admit(std::move(request));
  });
  model::throw_if_refused(admission, {.task = spec.name, .key = options.workflow_id, .kind = model::Kind::workflow});
  return state_->handle(admission);
}

std::vector<TimelineEntry> App::timeline(const Uuid& id) {
  const workflow::Exported run = read_run(*state_, id);
  std::vector<model::Execution> children;
  for (const model::JournalEntry& entry : run.history.entries) {
    if (!entry.child || children.size() >= limits::list_page) { continue; }
    if (auto child = state_->store().get(*entry.child)) { children.push_back(std::move(*child)); }
  }
  return run.execution.kind == model::Kind::workflow ? workflow::timeline(run.history, children)
                                                     : std::vector<TimelineEntry>{};
}

std::string App::export_journal(const Uuid& id) { return workflow::export_json(read_run(*state_, id)); }

testing::ReplayReport testing::ReplayTester::replay(const std::string& journal_json) {
  workflow::Exported run = workflow::import_json(journal_json);
  ReplayReport report{.workflow = run.execution.task, .entries = static_cast<int>(run.history.entries.size())};
  const bool ended = run.execution.status == Status::completed;
  const Time last = run.history.entries.empty() ? run.execution.created_at : run.history.entries.back().at;
  const auto replayed =
      app_.state()->support()->replay_to_end(workflow::claim_like(run.execution, last), std::move(run.history), {});
  report.reason = replayed.stuck;
  if (report.reason.empty() && ended && replayed.need != hapax::detail::WorkflowRun::Need::ended) {
    report.reason = "the journal ends where its run had completed, the code goes on";
  }
  report.fits = report.reason.empty();
  return report;
}

}  // namespace hapax
