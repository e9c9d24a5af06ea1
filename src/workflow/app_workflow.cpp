// The app's calls that have to do with workflows.
#include <hapax/app.hpp>

#include "base/json.hpp"
#include "engine/app_state.hpp"
#include "engine/waiters.hpp"
#include "model/validate.hpp"
#include "workflow/support.hpp"

namespace hapax {

namespace {

EnqueueOptions enqueue_options(const StartOptions& options) {
  if (options.workflow_id.empty()) {
    throw InvalidArgument("workflow_id", "is missing; each start says what it is, such as \"order-456\"");
  }
  EnqueueOptions enqueue;
  enqueue.task_id = options.workflow_id;
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
  return enqueue;
}

model::Claim claim_like(const model::Execution& execution, Time now) {
  model::Claim claim;
  claim.id = execution.id;
  claim.queue = execution.queue;
  claim.task = execution.task;
  claim.kind = execution.kind;
  claim.input = execution.input;
  claim.fence = execution.fence;
  claim.run = execution.run;
  claim.created_at = execution.created_at;
  claim.claimed_at = now;
  claim.parent = execution.parent;
  claim.labels = execution.labels;
  return claim;
}

}  // namespace

void App::add_workflow(const TaskSpec& workflow, RawWorkflow function) {
  model::check_name(workflow.name, "workflow");
  if (!function) { throw InvalidArgument("function", "is empty"); }
  workflow::support_of(state_)->add(workflow.name, std::move(function));
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
  const EnqueueOptions enqueue = enqueue_options(options);
  model::NewExecution request = state_->request(workflow, std::move(input_json), enqueue);
  request.kind = model::Kind::workflow;
  const model::QueueRef queue = request.queue;
  const model::Admission admission = state_->engine().admit(std::move(request));
  engine::throw_if_refused(admission, workflow.name, options.workflow_id);
  if (state_->runs_inline) { state_->run_inline(queue); }
  if (options.on_conflict == OnConflict::wait && !admission.created() && !is_terminal(admission.status)) {
    (void)state_->engine().waiters().wait(admission.id, options.wait_timeout, false);
  }
  return state_->handle(admission);
}

void AnyHandle::signal_json(std::string_view name, std::string payload_json, std::optional<std::string> once) const {
  if (!state_) { throw UsageError("this handle is of no execution"); }
  state_->forbid_in_transaction("sending a signal");
  model::check_name(name, "signal");
  base::check_json(payload_json, "payload");
  if (!state_->is_own(id_)) { throw NotFound("there is no execution " + id_.to_string()); }
  const model::Signal signal{
      .execution = id_, .name = std::string(name), .data = std::move(payload_json), .once = std::move(once)};
  const model::SignalResult result = state_->store().signal({&signal, 1}).front();
  switch (result.verdict) {
    case model::SignalVerdict::accepted: break;
    case model::SignalVerdict::not_found: throw NotFound("there is no execution " + id_.to_string());
    case model::SignalVerdict::not_a_workflow:
      throw InvalidArgument("execution", id_.to_string() + " is a task; only workflows get signals");
    case model::SignalVerdict::finished:
      throw WrongStatus("workflow " + result.execution.to_string() + " has ended as " +
                            std::string(to_string(result.status)) + " and takes no signals",
                        result.status);
  }
  if (result.woken) { state_->engine().wake_workers({&*result.woken, 1}); }
  if (state_->runs_inline && result.woken) { state_->run_inline(*result.woken); }
}

std::string AnyHandle::query_json(std::string_view name, const std::string& question_json) const {
  if (!state_) { throw UsageError("this handle is of no execution"); }
  base::check_json(question_json, "question");
  auto execution = state_->store().get(id_);
  while (execution && execution->continued_as) { execution = state_->store().get(*execution->continued_as); }
  if (!execution || execution->queue.ns != state_->ns()) { throw NotFound("there is no execution " + id_.to_string()); }
  if (execution->kind != model::Kind::workflow) {
    throw InvalidArgument("execution", id_.to_string() + " is a task; only workflows answer queries");
  }
  if (is_terminal(execution->status)) {
    throw WrongStatus("workflow " + execution->id.to_string() + " has ended as " +
                          std::string(to_string(execution->status)) + "; what it knew is gone, its result is kept",
                      execution->status);
  }
  const model::HistoryRequest request{.execution = execution->id};
  auto histories = state_->store().histories({&request, 1});
  std::optional<std::string> answer;
  std::vector<std::string> known;
  const auto played = workflow::support_of(state_)->play(claim_like(*execution, state_->store().now()),
                                                         std::move(histories.front()), [&](detail::WorkflowRun& run) {
                                                           if (!run.suspended()) { return; }
                                                           answer = run.answer(name, question_json);
                                                           known = run.queries();
                                                         });
  if (!played.stuck.empty()) {
    throw WrongStatus("workflow " + execution->id.to_string() + " cannot be played with the code here: " + played.stuck,
                      execution->status);
  }
  if (!answer) {
    std::string text =
        "workflow '" + execution->task + "' has no query '" + std::string(name) + "' at this point; it has ";
    if (known.empty()) { text += "none"; }
    for (std::size_t i = 0; i < known.size(); ++i) { text += (i == 0 ? "" : ", ") + known[i]; }
    throw NotFound(text);
  }
  return *answer;
}

}  // namespace hapax
