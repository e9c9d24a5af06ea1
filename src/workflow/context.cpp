#include <hapax/workflow_context.hpp>

#include "workflow/workflow_run.hpp"

namespace hapax {

std::string AnyStarted::await_json() const {
  if (!run_) { throw UsageError("this handle is empty: nothing was started"); }
  return run_->await(position_);
}

void AnyStarted::invalid(const detail::Unfit& unfit) const { run_->invalid(position_, unfit); }

const Uuid& WorkflowContext::execution_id() const { return run_->id(); }
const std::string& WorkflowContext::workflow() const { return run_->name(); }
const std::string& WorkflowContext::workflow_id() const { return run_->workflow_id(); }
int WorkflowContext::run_number() const { return run_->claim().run; }
std::optional<Uuid> WorkflowContext::parent() const { return run_->claim().parent; }
std::string WorkflowContext::traceparent() const { return run_->run()->traceparent(); }
std::string WorkflowContext::tracestate() const { return run_->run()->tracestate(); }
bool WorkflowContext::replaying() const { return run_->replaying(); }

std::string WorkflowContext::step_json(std::string_view name, const StepOptions& options,
                                       const std::function<std::string()>& body) {
  return run_->step(name, options, body);
}
std::string WorkflowContext::transaction_json(std::string_view name,
                                              const std::function<std::string(Transaction&)>& body) {
  return run_->transaction(name, body);
}
std::int32_t WorkflowContext::start_task(const TaskSpec& task, std::string input, const RunOptions& options) {
  return run_->start_task(task, std::move(input), options);
}
std::int32_t WorkflowContext::start_child(const TaskSpec& workflow, std::string input, const ChildOptions& options) {
  return run_->start_child(workflow, std::move(input), options);
}
std::int32_t WorkflowContext::expect_signal(std::string_view name) { return run_->expect_signal(name); }
std::optional<std::int32_t> WorkflowContext::take_signal(std::string_view name, Duration timeout) {
  return run_->wait_signal(name, timeout);
}
void WorkflowContext::add_query(std::string_view name, std::function<std::string(const std::string&)> answer) {
  run_->add_query(name, std::move(answer));
}
void WorkflowContext::await_all(const std::vector<std::int32_t>& positions) { run_->await_all(positions); }
std::size_t WorkflowContext::await_any(const std::vector<std::int32_t>& positions) {
  return run_->await_any(positions);
}
std::size_t WorkflowContext::await_race(const std::vector<std::int32_t>& positions) { return run_->race(positions); }
void WorkflowContext::continue_json(std::string input) { run_->continue_as_new(std::move(input)); }
void WorkflowContext::invalid_step(const detail::Unfit& unfit) { run_->invalid_step(unfit); }

void WorkflowContext::sleep_until(Time until) {
  const Time now = this->now();
  sleep(until > now ? until - now : Duration::zero());
}
Started<void> WorkflowContext::timer(Duration duration) { return {run_, run_->timer(duration)}; }
Time WorkflowContext::now() { return run_->now(); }
double WorkflowContext::random() { return static_cast<double>(random_bits() >> 11) * 0x1.0p-53; }
std::uint64_t WorkflowContext::random_bits() { return run_->random_bits(); }
Uuid WorkflowContext::uuid() { return run_->uuid(); }
bool WorkflowContext::patched(std::string_view change_id) { return run_->patched(change_id); }
bool WorkflowContext::cancelled() const { return run_->cancel_asked(); }
void WorkflowContext::progress(double fraction, std::string_view message) { run_->progress(fraction, message); }
void WorkflowContext::set_attribute(std::string_view name, std::string_view value) { run_->set_attribute(name, value); }

}  // namespace hapax
