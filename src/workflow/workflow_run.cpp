#include "workflow/workflow_run.hpp"

#include <hapax/error.hpp>
#include <hapax/saga.hpp>

#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "engine/outcome.hpp"
#include "engine/step_thread.hpp"
#include "model/retry.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <utility>

namespace hapax::detail {

namespace {

using workflow::Divergence;
using workflow::Entry;
using workflow::Unwind;

// What a context call and the functions it calls need; and a step's own frames are on another stack.
constexpr std::size_t stack_reserve = 24 << 10;
// A function that catches its unwinding this often in a row will not stop.
constexpr int swallowed_max = 1000;
// A parked run is looked at again after this, and as much again at random, so that many do not come at once.
constexpr Duration stuck_wait = std::chrono::seconds(10);
constexpr Duration leave_wait = std::chrono::milliseconds(250);

// Whose function runs on this thread now; none while a step's body does.
thread_local WorkflowRun* current = nullptr;

double jitter_draw() {
  thread_local base::SystemRandom random;
  return random.fraction();
}

}  // namespace

bool is_unwinding() {
  try {
    throw;
  } catch (const Unwind&) { return true; } catch (...) {
    return false;
  }
}

WorkflowRun::WorkflowRun(Options options)
    : app_(std::move(options.app)),
      run_(std::move(options.run)),
      function_(std::move(options.function)),
      stacks_(*options.stacks),
      build_(std::move(options.build)),
      read_only_(options.read_only),
      id_(run_->claim().id),
      name_(run_->claim().task) {
  replay_.set_now(run_->claim().claimed_at);
}

WorkflowRun::~WorkflowRun() = default;

// ---- The lane's side -----------------------------------------------------------------------------------------------

WorkflowRun::Need WorkflowRun::resume() {
  if (!fiber_) {
    thread_ = std::this_thread::get_id();
    fiber_ = std::make_unique<workflow::Fiber>(stacks_, [this] { body(); });
  }
  current = this;
  fiber_->resume(name_.c_str());
  current = nullptr;
  if (fiber_->done()) {
    over_.store(true);
    if (!stuck_.empty()) { return Need::stuck; }
    return unwinding_ ? Need::unwound : Need::ended;
  }
  return need_;
}

// On the fiber.
void WorkflowRun::body() {
  ending_ = engine::run_handler(
      [this](engine::Run& run) {
        WorkflowContext context(shared_from_this());
        try {
          const auto* started = replay_.next(Entry::started, "");
          if (started == nullptr) {
            replay_.add(Entry::started, "",
                        R"({"build":)" +
                            nlohmann::json(build_).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace) +
                            "}");
          }
          std::string result = (*function_)(context, run.claim().input);
          if (!unwinding_) { replay_.expect_end("ends"); }
          return engine::Ending::completed(std::move(result));
        } catch (const Unwind&) { return engine::Ending::released(); } catch (const Divergence& divergence) {
          stuck_ = divergence.reason;
          return engine::Ending::released();
        } catch (...) {
          if (unwinding_) { return engine::Ending::released(); }
          if (!replay_.replaying()) { throw; }
          stuck_ = thrown_where_the_journal_goes_on();
          return engine::Ending::released();
        }
      },
      *run_);
}

// Both sides, for an exception that is being handled.
std::string WorkflowRun::thrown_where_the_journal_goes_on() const {
  std::string doing = "throws";
  try {
    throw;
  } catch (const std::exception& error) { doing += std::string(": ") + error.what(); } catch (...) {
    doing += " what is no std::exception";
  }
  try {
    replay_.expect_end(doing);
  } catch (const Divergence& divergence) { return divergence.reason; }
  return doing;
}

void WorkflowRun::run_step() {
  const Time start = engine::engine_now();
  in_step_.store(true);
  step_ending_ =
      engine::run_handler([this](engine::Run&) { return engine::Ending::completed((*step_body_)()); }, *run_);
  in_step_.store(false);
  step_ran_for_ = engine::engine_now() - start;
}

void WorkflowRun::run_transaction() {
  const Time start = engine::engine_now();
  model::JournalEntry entry;
  entry.position = replay_.recorded();
  entry.kind = static_cast<std::uint8_t>(Entry::step);
  entry.name = transaction_name_;
  bool committed = false;
  in_step_.store(true);
  step_ending_ = engine::run_handler(
      [&](engine::Run& run) {
        std::string result;
        App(app_).transaction([&](Transaction& tx) {
          result = (*transaction_body_)(tx);
          entry.data = workflow::encode_step({.ran_for = engine::engine_now() - start, .result = result});
          tx.state_->transaction->advance(
              {.execution = id_, .fence = run.claim().fence, .entries = {entry}, .clears_lost = false});
        });
        committed = true;
        return engine::Ending::completed(std::move(result));
      },
      *run_);
  in_step_.store(false);
  step_ran_for_ = engine::engine_now() - start;
  if (committed) {
    (void)replay_.add(Entry::step, entry.name, entry.data);
    replay_.kept(replay_.now());
  }
}

model::Finish WorkflowRun::finish() {
  model::Finish finish;
  finish.id = id_;
  finish.fence = claim().fence;
  finish.ran_for = engine::engine_now() - run_->started();
  model::Turn turn;
  turn.entries = replay_.fresh();
  turn.seen = replay_.seen();
  if (continued_) {
    finish.kind = model::FinishKind::continued;
    turn.next = continued_;
    turn.carried = replay_.untaken();
  } else if (ending_.kind == engine::Ending::Kind::completed) {
    finish.kind = model::FinishKind::completed;
    finish.result = std::move(ending_.result);
  } else {
    const bool cancelled = cancel_delivered_ && ending_.failure.error.type == "Cancelled";
    finish.kind = cancelled ? model::FinishKind::cancelled : model::FinishKind::failed;
    if (ending_.kind == engine::Ending::Kind::snoozed) {
      ending_.failure.error = {"Snooze", "a workflow cannot be snoozed; it sleeps with ctx.sleep", {}};
    }
    finish.error = model::ErrorInfo{
        base::keep_head(base::escape_invalid(ending_.failure.error.type), limits::name_bytes),
        base::keep_head(base::escape_invalid(ending_.failure.error.message), limits::error_message_bytes),
        base::keep_tail(base::escape_invalid(ending_.failure.error.detail), limits::error_detail_bytes)};
  }
  finish.turn = std::make_shared<const model::Turn>(std::move(turn));
  return finish;
}

model::Finish WorkflowRun::wait_finish() {
  model::Finish finish;
  finish.id = id_;
  finish.fence = claim().fence;
  finish.kind = model::FinishKind::waiting;
  model::Turn turn;
  turn.seen = replay_.seen();
  if (stuck_.empty()) {
    turn.entries = replay_.fresh();
    turn.wake_in = instant_.in;
    turn.wake_at = instant_.at;
  } else {
    // Entries of code that does not fit are not kept. Tried again after a while, by whoever is there then.
    turn.stuck = stuck_;
    turn.wake_in =
        stuck_wait + Duration(static_cast<std::int64_t>(jitter_draw() * static_cast<double>(stuck_wait.count())));
  }
  finish.turn = std::make_shared<const model::Turn>(std::move(turn));
  return finish;
}

model::Finish WorkflowRun::leave_finish() const {
  model::Finish finish;
  finish.id = id_;
  finish.fence = claim().fence;
  finish.kind = model::FinishKind::waiting;
  model::Turn turn;
  turn.seen = replay_.seen();
  turn.wake_in = leave_wait;
  finish.turn = std::make_shared<const model::Turn>(std::move(turn));
  return finish;
}

std::vector<Uuid> WorkflowRun::children_to_cancel() const {
  std::vector<Uuid> children;
  const auto look = [&](const std::vector<model::JournalEntry>& entries) {
    for (const model::JournalEntry& entry : entries) {
      if (workflow::entry_of(entry) != Entry::child || replay_.outcome(entry.position) != nullptr) { continue; }
      const auto data = nlohmann::json::parse(entry.data, nullptr, false);
      if (data.value("close", "") == "abandon") { continue; }
      // By the id that was asked for: a workflow that was only joined is not this one's to end.
      if (const auto id = Uuid::parse(data.value("id", ""))) { children.push_back(*id); }
    }
  };
  look(replay_.entries());
  look(replay_.fresh());
  return children;
}

bool WorkflowRun::unwind() {
  if (!fiber_ || fiber_->done()) { return true; }
  unwinding_ = true;
  while (!fiber_->done() && swallowed_ < swallowed_max) { (void)resume(); }
  if (fiber_->done()) { return true; }
  fiber_->abandon();
  over_.store(true);
  return false;
}

void WorkflowRun::reclaimed(engine::RunPtr run) {
  run_ = std::move(run);
  replay_.set_now(run_->claim().claimed_at);
}

std::vector<std::string> WorkflowRun::queries() const {
  std::vector<std::string> names;
  for (const auto& [name, answer] : queries_) { names.push_back(name); }
  return names;
}

std::optional<std::string> WorkflowRun::answer(std::string_view query, const std::string& question) {
  const auto found = queries_.find(query);
  return found == queries_.end() ? std::nullopt : std::optional(found->second(question));
}

// ---- The function's side -------------------------------------------------------------------------------------------

void WorkflowRun::enter_uncounted(const char* what) {
  if (current != this) {
    const std::string call = std::string("ctx.") + what + " of workflow '" + name_ + "'";
    if (over_.load()) { throw UsageError(call + " was called after its run had ended"); }
    if (std::this_thread::get_id() == thread_ && in_step_.load()) {
      throw UsageError(call + " was called from inside a step; a step's body may not use the context");
    }
    throw UsageError(call + " was called from another thread than the one its function runs on");
  }
  if (unwinding_) { need(Need::unwound); }
  if (continued_) { throw Unwind{}; }
  if (fiber_->stack_left() < stack_reserve) {
    diverge("its stack is nearly used up (" + std::to_string(fiber_->stack_left()) +
            " bytes left); see WorkerOptions::workflow_stack");
  }
}

void WorkflowRun::enter(const char* what) {
  enter_uncounted(what);
  ++call_;
  throw_if_cancelled();
}

// An exception may not leave a destructor that runs while another is in flight: the fiber is left where it is instead, and
// the lane abandons it.
void WorkflowRun::need(Need what) {
  if (!unwinding_) {
    need_ = what;
    fiber_->suspend();
  }
  while (unwinding_) {
    if (std::uncaught_exceptions() == 0 && ++swallowed_ < swallowed_max) { throw Unwind{}; }
    swallowed_ = swallowed_max;
    need_ = Need::unwound;
    fiber_->suspend();
  }
}

void WorkflowRun::diverge(std::string reason) {
  if (stuck_.empty()) { stuck_ = std::move(reason); }
  unwinding_ = true;
  need(Need::unwound);
  std::abort();  // not reached: need() throws while unwinding
}

void WorkflowRun::misfit(std::string_view what, const std::string& why) {
  diverge("the recorded result of '" + std::string(what) + "' does not fit the code: " + why);
}

void WorkflowRun::throw_cancelled() {
  cancel_delivered_ = true;
  const auto& asked = replay_.cancel();
  throw Cancelled(asked && asked->error ? asked->error->message : "the workflow was cancelled");
}

// Where the journal has it, there it is thrown again; else at the first call behind the journal's end.
void WorkflowRun::throw_if_cancelled() {
  if (cancel_delivered_) { return; }
  if (const model::JournalEntry* const entry = replay_.peek()) {
    if (workflow::entry_of(*entry) == Entry::cancelled && workflow::decode_number(*entry, "call") == call_) {
      replay_.take();
      throw_cancelled();
    }
    return;
  }
  if (replay_.cancel()) {
    replay_.add(Entry::cancelled, "", workflow::encode_number("call", call_));
    throw_cancelled();
  }
}

bool WorkflowRun::cancel_asked() const { return replay_.cancel().has_value() && !replay_.replaying(); }

bool WorkflowRun::is_ready(std::int32_t position) const {
  const model::JournalEntry& entry = replay_.at(position);
  switch (workflow::entry_of(entry)) {
    case Entry::timer: return replay_.is_due(position, Duration(workflow::decode_number(entry, "us")));
    case Entry::step_retry: return replay_.is_due(position, workflow::decode_step(entry).delay);
    case Entry::signal: return replay_.signal(entry.name, signal_turns_.at(position)) != nullptr;
    default: return replay_.outcome(position) != nullptr;
  }
}

Time WorkflowRun::ended_at(std::int32_t position) const {
  const model::JournalEntry& entry = replay_.at(position);
  switch (workflow::entry_of(entry)) {
    case Entry::timer: return *replay_.due(position, Duration(workflow::decode_number(entry, "us")));
    case Entry::signal: return replay_.signal(entry.name, signal_turns_.at(position))->at;
    default: return replay_.outcome(position)->at;
  }
}

void WorkflowRun::add_instant(std::int32_t position, Duration after) {
  if (const auto due = replay_.due(position, after)) {
    instant_.at = instant_.at ? std::min(*instant_.at, *due) : *due;
  } else {
    instant_.in = instant_.in ? std::min(*instant_.in, after) : after;
  }
}

void WorkflowRun::wait_until(const std::function<bool()>& ready, const std::vector<std::int32_t>& positions) {
  while (true) {
    // A recorded cancellation of this very call counts before anything that came later.
    const model::JournalEntry* const entry = replay_.peek();
    if (entry != nullptr && workflow::entry_of(*entry) == Entry::cancelled) { throw_if_cancelled(); }
    if (ready()) { return; }
    replay_.expect_end("waits");
    throw_if_cancelled();
    instant_ = {};
    for (const std::int32_t position : positions) {
      const model::JournalEntry& waited = replay_.at(position);
      if (workflow::entry_of(waited) == Entry::timer) {
        add_instant(position, Duration(workflow::decode_number(waited, "us")));
      } else if (workflow::entry_of(waited) == Entry::step_retry) {
        add_instant(position, workflow::decode_step(waited).delay);
      }
    }
    need(Need::wait);
  }
}

const std::string& WorkflowRun::workflow_id() {
  if (!workflow_id_) {
    const auto execution = app_->store().get(id_);
    workflow_id_ = execution ? execution->identity_key : "";
  }
  return *workflow_id_;
}

std::string WorkflowRun::step(std::string_view name, const StepOptions& options,
                              const std::function<std::string()>& body) {
  enter("step");
  model::check_name(name, "step");
  int attempts = 0;
  try {
    while (true) {
      const model::JournalEntry* const entry = replay_.next(Entry::step, name);
      if (entry != nullptr && workflow::entry_of(*entry) != Entry::step_retry) {
        workflow::StepRecord record = workflow::decode_step(*entry);
        if (!record.error) { return std::move(record.result); }
        throw StepFailed(name, record.error->type, record.error->message);
      }
      if (entry != nullptr) {
        attempts = workflow::decode_step(*entry).attempts;
        const std::int32_t position = entry->position;
        wait_until([&] { return replay_.replaying() || is_ready(position); }, {position});
        continue;
      }
      // Asked to end while it waited for its next attempt: there is none.
      if (attempts > 0) { throw_if_cancelled(); }
      step_body_ = &body;
      need(Need::step);
      ++attempts;
      workflow::StepRecord record{.ran_for = step_ran_for_, .attempts = attempts};
      if (step_ending_.kind == engine::Ending::Kind::completed) {
        record.result = std::move(step_ending_.result);
        const auto& kept = replay_.add(Entry::step, name, workflow::encode_step(record));
        (void)kept;
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

std::string WorkflowRun::transaction(std::string_view name, const std::function<std::string(Transaction&)>& body) {
  enter("transaction");
  model::check_name(name, "step");
  try {
    if (const model::JournalEntry* const entry = replay_.next(Entry::step, name)) {
      workflow::StepRecord record = workflow::decode_step(*entry);
      if (!record.error) { return std::move(record.result); }
      throw StepFailed(name, record.error->type, record.error->message);
    }
    transaction_body_ = &body;
    transaction_name_ = name;
    need(Need::transaction);
    if (step_ending_.kind == engine::Ending::Kind::completed) { return std::move(step_ending_.result); }
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

std::int32_t WorkflowRun::start(Entry kind, model::NewExecution request, std::string data) {
  request.parent = id_;
  model::check_new_execution(request);
  model::JournalEntry& entry = replay_.add(kind, request.task, std::move(data));
  entry.start = std::make_shared<const model::NewExecution>(std::move(request));
  return entry.position;
}

std::int32_t WorkflowRun::start_task(const TaskSpec& task, std::string input, const RunOptions& options) {
  enter("run");
  const std::string key = options.task_id ? *options.task_id : next_key("task", task.name);
  try {
    if (const auto* const entry = replay_.next(Entry::task, task.name)) { return entry->position; }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  EnqueueOptions enqueue{.task_id = key,
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
                         .ordering_key = options.ordering_key,
                         .traceparent = claim().labels.traceparent};
  model::NewExecution request = app_->request(task, std::move(input), enqueue, AppState::Declare::not_now);
  nlohmann::json data = {{"key", key}, {"id", request.id.to_string()}};
  return start(Entry::task, std::move(request), data.dump());
}

std::int32_t WorkflowRun::start_child(const TaskSpec& spec, std::string input, const ChildOptions& options) {
  enter("start");
  const std::string key = options.workflow_id ? *options.workflow_id : next_key("workflow", spec.name);
  try {
    if (const auto* const entry = replay_.next(Entry::child, spec.name)) { return entry->position; }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  EnqueueOptions enqueue{.task_id = key,
                         .queue = options.queue,
                         .delay = options.delay,
                         .reuse = options.reuse,
                         .tags = options.tags,
                         .deadline = options.deadline,
                         .traceparent = claim().labels.traceparent};
  model::NewExecution request = app_->request(spec, std::move(input), enqueue, AppState::Declare::not_now);
  request.kind = model::Kind::workflow;
  const bool abandon = options.parent_close == ParentClose::abandon;
  nlohmann::json data = {{"key", key}, {"id", request.id.to_string()}, {"close", abandon ? "abandon" : "cancel"}};
  return start(Entry::child, std::move(request), data.dump());
}

std::int32_t WorkflowRun::timer(Duration duration) {
  enter("timer");
  if (duration < Duration::zero() || duration > limits::delay_max) {
    throw InvalidArgument("duration", format_duration(std::max(duration, Duration::zero())) + ", expected 0 to " +
                                          format_duration(limits::delay_max));
  }
  try {
    if (const auto* const entry = replay_.next(Entry::timer, "")) { return entry->position; }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  return replay_.add(Entry::timer, "", workflow::encode_number("us", duration.count())).position;
}

std::int32_t WorkflowRun::expect_signal(std::string_view name) {
  enter("signal");
  model::check_name(name, "signal");
  std::int32_t position = 0;
  try {
    const auto* const entry = replay_.next(Entry::signal, name);
    position = entry != nullptr ? entry->position : replay_.add(Entry::signal, name, "{}").position;
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  signal_turns_[position] = replay_.take_signal(std::string(name));
  return position;
}

std::optional<std::string> WorkflowRun::wait_signal(std::string_view name, Duration timeout) {
  const std::int32_t signal = expect_signal(name);
  const std::int32_t limit = timer(timeout);
  if (await_any({signal, limit}) == 0) { return await(signal); }
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
    if (kind == Entry::signal) { return replay_.signal(entry.name, signal_turns_.at(position))->data.value_or("null"); }
    const model::Event& event = *replay_.outcome(position);
    if (event.kind == model::EventKind::ended && event.status == Status::completed) {
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
    // What timers are among them: the last one's time is as good as any, so the first is only woken for in vain.
    wait_until(all_ready, open);
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
}

std::size_t WorkflowRun::await_any(const std::vector<std::int32_t>& positions) {
  enter("any");
  if (positions.empty()) { throw UsageError("ctx.any of nothing would wait for ever"); }
  try {
    if (const auto* const entry = replay_.peek(); entry != nullptr && workflow::entry_of(*entry) != Entry::cancelled) {
      const auto index =
          static_cast<std::size_t>(workflow::decode_number(*replay_.next(Entry::choice, "any"), "index"));
      if (index >= positions.size()) {
        throw Divergence{"the journal chose number " + std::to_string(index) + " of those waited for, the code has " +
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

Time WorkflowRun::now() {
  enter("now");
  try {
    if (const auto* const entry = replay_.next(Entry::now, "")) {
      return Time(Duration(workflow::decode_number(*entry, "us")));
    }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  // The claim's instant by the store's clock, and what has passed since by ours.
  const Time now = claim().claimed_at + (engine::engine_now() - run_->received);
  replay_.add(Entry::now, "", workflow::encode_number("us", now.time_since_epoch().count()));
  return now;
}

std::uint64_t WorkflowRun::random_bits() {
  enter("random");
  try {
    if (const auto* const entry = replay_.next(Entry::random, "")) {
      return static_cast<std::uint64_t>(workflow::decode_number(*entry, "bits"));
    }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  thread_local base::SystemRandom random;
  const std::uint64_t bits = random.next();
  replay_.add(Entry::random, "", workflow::encode_number("bits", static_cast<std::int64_t>(bits)));
  return bits;
}

Uuid WorkflowRun::uuid() {
  enter("uuid");
  try {
    if (const auto* const entry = replay_.next(Entry::uuid, "")) {
      if (const auto id = Uuid::parse(nlohmann::json::parse(entry->data, nullptr, false).value("uuid", ""))) {
        return *id;
      }
      throw Divergence{"at place " + std::to_string(entry->position) + " the journal has no readable uuid"};
    }
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  const Uuid id = base::new_uuid7();
  replay_.add(Entry::uuid, "", R"({"uuid":")" + id.to_string() + "\"}");
  return id;
}

bool WorkflowRun::patched(std::string_view change_id) {
  enter("patched");
  model::check_name(change_id, "change_id");
  if (const auto known = patches_.find(change_id); known != patches_.end()) { return known->second; }
  bool patched = true;
  if (const model::JournalEntry* const entry = replay_.peek()) {
    patched = workflow::entry_of(*entry) == Entry::patch && entry->name == change_id;
    if (patched) {
      replay_.take();
    } else {
      --call_;  // the code that wrote this journal did not ask
    }
  } else {
    replay_.add(Entry::patch, change_id, "{}");
  }
  patches_.emplace(change_id, patched);
  return patched;
}

void WorkflowRun::continue_as_new(std::string input) {
  enter("continue_as_new");
  try {
    replay_.expect_end("continues as new");
  } catch (const Divergence& divergence) { diverge(divergence.reason); }
  auto next = std::make_shared<model::NewExecution>();
  const model::Claim& before = claim();
  next->id = base::new_uuid7();
  next->queue = before.queue;
  next->task = before.task;
  next->kind = model::Kind::workflow;
  next->input = std::move(input);
  next->priority = before.priority;
  next->max_attempts = before.max_attempts;
  next->max_lost = before.max_lost;
  next->limit_key = before.limit_key;
  if (before.deadline) { next->deadline = *before.deadline - before.created_at; }
  model::check_new_execution(*next);
  continued_ = std::move(next);
  throw Unwind{};
}

void WorkflowRun::progress(double fraction, std::string_view message) {
  enter_uncounted("progress");
  if (!replay_.replaying()) { run_->progress(fraction, message); }
}

void WorkflowRun::set_attribute(std::string_view name, std::string_view value) {
  const std::string stem = std::string(name) + "=";
  model::check_name(stem + std::string(value), "attribute");
  (void)step("set " + std::string(name), {}, [&]() -> std::string {
    const auto execution = app_->store().get(id_);
    model::Labels labels = execution ? execution->labels : claim().labels;
    std::erase_if(labels.tags, [&](const std::string& tag) { return tag.starts_with(stem); });
    labels.tags.push_back(stem + std::string(value));
    if (labels.tags.size() > limits::tags) {
      throw Permanent("InvalidArgument", "attribute: a workflow has at most " + std::to_string(limits::tags) + " tags");
    }
    (void)app_->store().relabel({id_, claim().fence}, labels);
    return "null";
  });
}

void WorkflowRun::add_query(std::string_view name, std::function<std::string(const std::string&)> answer) {
  enter_uncounted("on_query");
  model::check_name(name, "query");
  queries_.insert_or_assign(std::string(name), std::move(answer));
}

}  // namespace hapax::detail
