// WorkflowRun: steps, tasks, children, timers, signals, and waiting for them.
#include "workflow/workflow_run.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/random.hpp"
#include "engine/outcome.hpp"
#include "model/parent_close.hpp"
#include "model/retry.hpp"
#include "model/validate.hpp"
#include "store/store.hpp"

#include <algorithm>
#include <utility>

namespace hapax::detail {

namespace {

using workflow::Divergence;
using workflow::Entry;

double jitter_draw() {
  thread_local base::SystemRandom random;
  return random.fraction();
}

}  // namespace

std::string WorkflowRun::step(std::string_view name, const StepOptions& options,
                              const std::function<std::string()>& body) {
  enter("step");
  model::check_name(name, "step");
  int attempts = 0;
  try {
    while (true) {
      const model::JournalEntry* const entry = replay_.next(Entry::step, name);
      if (entry != nullptr && workflow::entry_of(*entry) != Entry::step_retry) { return take_result(*entry); }
      if (entry != nullptr) {
        attempts = workflow::decode_step(*entry).attempts;
        const std::int32_t position = entry->position;
        wait_until([&] { return replay_.replaying() || is_ready(position); }, {position});
        continue;
      }
      // If the run was cancelled while the step waited for its next attempt, that attempt does not run.
      if (attempts > 0 && !step_ran_) { throw_if_cancelled(); }
      step_body_ = &body;
      step_name_ = name;
      suspend_for(Need::step);
      step_ran_ = false;
      ++attempts;
      workflow::StepRecord record{.ran_for = step_ran_for_, .attempts = attempts};
      if (step_ending_.kind == engine::Ending::Kind::completed) {
        record.result = std::move(step_ending_.result);
        last_step_ = replay_.add(Entry::step, name, workflow::encode_step(record)).position;
        last_step_ran_here_ = true;
        return std::move(record.result);
      }
      model::Failure failure = step_ending_.failure;
      if (step_ending_.kind == engine::Ending::Kind::snoozed) {
        failure = {.error = {"Snooze", "the step asked to run later", {}}, .retry_after = step_ending_.delay};
        record.attempts = --attempts;
      }
      record.error = failure.error;
      if (failure.permanent || attempts >= options.max_attempts) {
        replay_.add(Entry::step_failed, name, workflow::encode_step(record));
        throw StepFailed(name, failure.error.type, failure.error.message);
      }
      record.delay = failure.retry_after.value_or(model::retry_delay(options.retry, attempts, jitter_draw()));
      const std::int32_t position = replay_.add(Entry::step_retry, name, workflow::encode_step(record)).position;
      wait_until([&] { return is_ready(position); }, {position});
    }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
}

// Returns or throws the recorded outcome of a step.
std::string WorkflowRun::take_result(const model::JournalEntry& entry) {
  workflow::StepRecord record = workflow::decode_step(entry);
  if (record.error) { throw StepFailed(entry.name, record.error->type, record.error->message); }
  last_step_ = entry.position;
  last_step_ran_here_ = false;
  throw_if_invalid(last_step_);
  return std::move(record.result);
}

std::string WorkflowRun::transaction(std::string_view name, const std::function<std::string(Transaction&)>& body) {
  enter("transaction");
  model::check_name(name, "step");
  try {
    if (const model::JournalEntry* const entry = replay_.next(Entry::step, name)) { return take_result(*entry); }
    transaction_body_ = &body;
    step_name_ = name;
    suspend_for(Need::transaction);
    step_ran_ = false;
    if (step_ending_.kind == engine::Ending::Kind::completed) {
      last_step_ = replay_.recorded() - 1;
      last_step_ran_here_ = true;
      return std::move(step_ending_.result);
    }
    const model::ErrorInfo& error = step_ending_.failure.error;
    replay_.add(Entry::step_failed, name, workflow::encode_step({.ran_for = step_ran_for_, .error = error}));
    throw StepFailed(name, error.type, error.message);
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
}

std::string WorkflowRun::next_key(std::string_view prefix, const std::string& name) {
  std::string stem = std::string(prefix) + "-" + id_.to_string() + ":" + name;
  const int index = indexes_[stem]++;
  return stem + ":" + std::to_string(index);
}

std::optional<std::int32_t> WorkflowRun::replayed(Entry kind, std::string_view name) {
  try {
    const auto* const entry = replay_.next(kind, name);
    return entry != nullptr ? std::optional(entry->position) : std::nullopt;
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
}

std::int32_t WorkflowRun::start(Entry kind, const TaskSpec& spec, std::string input, EnqueueOptions options,
                                std::optional<ParentClose> close) {
  options.traceparent = run_->traceparent();
  options.tracestate = run_->tracestate();
  const model::Kind of = kind == Entry::child ? model::Kind::workflow : model::Kind::task;
  model::NewExecution request = app_->request_of_run(spec, std::move(input), options, of);
  request.parent = id_;
  // A child has a key of its own, so no change of the catalogue need refuse the turn.
  request.catalogue_version = model::NewExecution::no_catalogue;
  nlohmann::json data = {{"key", *options.task_id}, {"id", request.id.to_string()}};
  if (close) { data["close"] = close == ParentClose::abandon ? "abandon" : "cancel"; }
  if (close == ParentClose::abandon) { request.labels.metadata = model::outliving_metadata; }
  model::JournalEntry& entry = replay_.add(kind, request.task, data.dump());
  entry.start = std::make_shared<const model::NewExecution>(std::move(request));
  return entry.position;
}

std::int32_t WorkflowRun::start_task(const TaskSpec& task, std::string input, const RunOptions& options) {
  enter("run");
  const std::string key = options.task_id ? *options.task_id : next_key("task", task.name);
  if (const auto position = replayed(Entry::task, task.name)) { return *position; }
  return start(Entry::task, task, std::move(input),
               {.task_id = key,
                .queue = options.queue,
                .delay = options.delay,
                .priority = options.priority,
                .max_attempts = options.max_attempts,
                .reuse = options.reuse,
                .tags = options.tags,
                .timeout = options.timeout,
                .deadline = options.deadline,
                .retry = options.retry,
                .concurrency_key = options.concurrency_key,
                .ordering_key = options.ordering_key});
}

std::int32_t WorkflowRun::start_child(const TaskSpec& spec, std::string input, const ChildOptions& options) {
  enter("start");
  const std::string key = options.workflow_id ? *options.workflow_id : next_key("workflow", spec.name);
  if (const auto position = replayed(Entry::child, spec.name)) { return *position; }
  return start(Entry::child, spec, std::move(input),
               {.task_id = key,
                .queue = options.queue,
                .delay = options.delay,
                .reuse = options.reuse,
                .tags = options.tags,
                .deadline = options.deadline},
               options.parent_close);
}

std::int32_t WorkflowRun::timer(Duration duration) {
  enter("timer");
  if (duration < Duration::zero() || duration > limits::delay_max) {
    throw InvalidArgument("duration", format_duration(std::max(duration, Duration::zero())) + ", expected 0 to " +
                                          format_duration(limits::delay_max));
  }
  if (const auto position = replayed(Entry::timer, "")) { return *position; }
  return replay_.add(Entry::timer, "", workflow::encode_number("us", duration.count())).position;
}

std::int32_t WorkflowRun::expect_signal(std::string_view name, const std::string& data) {
  enter("signal");
  model::check_name(name, "signal");
  const std::optional<std::int32_t> known = replayed(Entry::signal, name);
  const std::int32_t position = known ? *known : replay_.add(Entry::signal, name, data).position;
  signal_turns_[position] = replay_.take_signal(std::string(name));
  return position;
}

std::optional<std::int32_t> WorkflowRun::wait_signal(std::string_view name, Duration timeout) {
  const std::int32_t signal = expect_signal(name, workflow::encode_number("timeout_us", timeout.count()));
  const std::int32_t limit = timer(timeout);
  if (await_any({signal, limit}) == 0) { return signal; }
  replay_.put_back_signal(std::string(name), signal_turns_.at(signal));
  return std::nullopt;
}

void WorkflowRun::throw_failed(const model::JournalEntry& entry, const model::Event& event) const {
  const model::ErrorInfo error = event.error.value_or(model::ErrorInfo{});
  const std::string whose = std::string(workflow::to_string(workflow::entry_of(entry))) + " '" + entry.name + "': ";
  const Uuid child = event.child.value_or(Uuid{});
  if (event.kind == model::EventKind::refused) {
    if (error.type == "TaskAlreadyExists") { throw TaskAlreadyExists(whose + error.message, child, event.status); }
    if (error.type == "TaskAlreadyFinished") { throw TaskAlreadyFinished(whose + error.message, child, event.status); }
    if (error.type == "TaskAlreadyCompleted") {
      throw TaskAlreadyCompleted(whose + error.message, child, event.at, "");
    }
    if (error.type == "IdempotencyMismatch") { throw IdempotencyMismatch(whose + error.message, child); }
    if (error.type == "ResultExpired") { throw ResultExpired(whose + error.message); }
    throw QueueDraining(whose + error.message);
  }
  const char* const as = event.status == Status::cancelled   ? "ExecutionCancelled"
                         : event.status == Status::timed_out ? "ExecutionTimedOut"
                                                             : "ExecutionFailed";
  throw ExecutionFailed(as, error.message, child, event.status);
}

std::string WorkflowRun::await(std::int32_t position) {
  enter("get");
  try {
    const Entry kind = workflow::entry_of(replay_.at(position));
    const bool by_time = kind == Entry::timer;
    wait_until([&] { return (by_time && replay_.replaying()) || is_ready(position); }, {position});
    const model::JournalEntry& entry = replay_.at(position);
    if (by_time) { return "null"; }
    if (kind == Entry::signal) {
      const std::size_t turn = signal_turns_.at(position);
      replay_.consume_signal(entry.name, turn);
      throw_if_invalid(position);
      return replay_.signal(entry.name, turn)->data.value_or("null");
    }
    const model::Event& event = *replay_.outcome(position);
    if (event.kind == model::EventKind::ended && event.status == Status::completed) {
      throw_if_invalid(position);
      return event.data.value_or("null");
    }
    throw_failed(entry, event);
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
}

void WorkflowRun::await_all(const std::vector<std::int32_t>& positions) {
  enter("all");
  try {
    const auto ready = [&](std::int32_t position) {
      const bool by_time = workflow::entry_of(replay_.at(position)) == Entry::timer;
      return (by_time && replay_.replaying()) || is_ready(position);
    };
    std::vector<std::int32_t> open = positions;
    const auto all_ready = [&] {
      std::erase_if(open, ready);
      return open.empty();
    };
    // With several timers the run also wakes for the earlier timers, which does no harm.
    wait_until(all_ready, open);
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
}

std::size_t WorkflowRun::await_any(const std::vector<std::int32_t>& positions) {
  enter("any");
  if (positions.empty()) { throw UsageError("ctx.any without arguments would wait for ever"); }
  try {
    if (const auto* const entry = replay_.peek(); entry != nullptr && workflow::entry_of(*entry) != Entry::cancelled) {
      const auto index =
          static_cast<std::size_t>(workflow::decode_number(*replay_.next(Entry::choice, "any"), "index"));
      if (index >= positions.size()) {
        throw Divergence{"the journal chose number " + std::to_string(index) + " of the awaited ones, the code has " +
                         std::to_string(positions.size())};
      }
      return index;
    }
    wait_until([&] { return std::ranges::any_of(positions, [&](std::int32_t one) { return is_ready(one); }); },
               positions);
    std::size_t first = positions.size();
    for (std::size_t i = 0; i < positions.size(); ++i) {
      if (is_ready(positions[i]) &&
          (first == positions.size() || ended_at(positions[i]) < ended_at(positions[first]))) {
        first = i;
      }
    }
    replay_.add(Entry::choice, "any", workflow::encode_number("index", static_cast<std::int64_t>(first)));
    return first;
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
}

std::size_t WorkflowRun::race(const std::vector<std::int32_t>& positions) {
  const std::size_t winner = await_any(positions);
  std::vector<Uuid> losers;
  for (std::size_t i = 0; i < positions.size(); ++i) {
    if (i == winner) { continue; }
    const model::JournalEntry& entry = replay_.at(positions[i]);
    const Entry kind = workflow::entry_of(entry);
    if (kind == Entry::signal) {
      replay_.put_back_signal(entry.name, signal_turns_.at(positions[i]));
    } else if (kind == Entry::task || kind == Entry::child) {
      if (const auto id = Uuid::parse(nlohmann::json::parse(entry.data, nullptr, false).value("id", ""))) {
        losers.push_back(*id);
      }
    }
  }
  if (!losers.empty()) {
    (void)step("cancel the others", {}, [&]() -> std::string {
      (void)app_->store().cancel(losers, "another one was faster");
      return "null";
    });
  }
  return winner;
}

}  // namespace hapax::detail
