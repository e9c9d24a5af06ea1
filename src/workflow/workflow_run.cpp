#include "workflow/workflow_run.hpp"
#include "store/store.hpp"

#include <hapax/error.hpp>
#include <hapax/saga.hpp>

#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "engine/engine.hpp"
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

// The stack that a context call and the functions it calls need. A step's body runs on the lane's stack.
constexpr std::size_t stack_reserve = 24 << 10;
// A function that catches its unwinding this often in a row counts as one that does not stop.
constexpr int caught_unwinds_max = 1000;
// The run whose function runs on this thread now; null while a step's body runs.
thread_local WorkflowRun* current = nullptr;

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
      stacks_(std::move(options.stacks)),
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
    fiber_ = std::make_unique<base::Fiber>(*stacks_, [this] { body(); });
  }
  current = this;
  fiber_->resume(name_.c_str());
  current = nullptr;
  if (fiber_->done()) {
    has_ended_.store(true);
    if (!stuck_.empty()) { return Need::stuck; }
    return unwinding_ ? Need::unwound : Need::ended;
  }
  return need_;
}

// The fiber runs body().
void WorkflowRun::body() {
  ending_ = engine::run_handler(
      [this](engine::Run& run) {
        WorkflowContext context(shared_from_this());
        try {
          replay_.begin(build_);
          std::string result = (*function_)(context, run.claim().input);
          if (!unwinding_) { replay_.expect_end("ends"); }
          return engine::Ending::completed(std::move(result));
        } catch (const Unwind&) { return engine::Ending::released(); } catch (const Divergence& divergence) {
          stuck_ = divergence.reason;
          return engine::Ending::released();
        } catch (...) {
          if (unwinding_) { return engine::Ending::released(); }
          if (!replay_.replaying()) { throw; }
          stuck_ = stuck_reason_of_exception();
          return engine::Ending::released();
        }
      },
      *run_);
}

// Returns the stuck reason for an exception that the function throws where the journal goes on. Call this in a catch
// block.
std::string WorkflowRun::stuck_reason_of_exception() const {
  std::string doing = "throws";
  try {
    throw;
  } catch (const std::exception& error) { doing += std::string(": ") + error.what(); } catch (...) {
    doing += " something that is not a std::exception";
  }
  try {
    replay_.expect_end(doing);
  } catch (const Divergence& divergence) { return divergence.reason; }
  return doing;
}

void WorkflowRun::inherit_step(WorkflowRun& other) {
  if (!other.step_ran_) { return; }
  step_ending_ = std::move(other.step_ending_);
  step_ran_for_ = other.step_ran_for_;
  step_ran_ = true;
  replay_.inherit(other.step_name_);
}

void WorkflowRun::run_step_or_transaction() {
  if (step_ran_) { return; }
  need_ == Need::transaction ? run_transaction() : run_step();
}

void WorkflowRun::run_step() {
  const Time start = engine::engine_now();
  in_step_.store(true);
  step_ending_ =
      engine::run_handler([this](engine::Run&) { return engine::Ending::completed((*step_body_)()); }, *run_);
  in_step_.store(false);
  step_ran_for_ = engine::engine_now() - start;
  app_->engine().observations().step_ended(*run_, step_name_, step_ending_, step_ran_for_);
  step_ran_ = true;
}

void WorkflowRun::run_transaction() {
  const Time start = engine::engine_now();
  // The step's own entry comes behind the `started` entry, if that is not stored yet.
  std::vector<model::JournalEntry> entries = replay_.fresh();
  model::JournalEntry& entry = entries.emplace_back();
  entry.position = replay_.recorded() + static_cast<std::int32_t>(entries.size()) - 1;
  entry.kind = static_cast<std::uint8_t>(Entry::step);
  entry.name = step_name_;
  bool committed = false;
  in_step_.store(true);
  step_ending_ = engine::run_handler(
      [&](engine::Run& run) {
        std::string result;
        // A failure of the store is no outcome of the step: the journal shows later whether the step took effect.
        bool in_body = false;
        try {
          app_->transaction([&](Transaction& tx) {
            in_body = true;
            result = (*transaction_body_)(tx);
            in_body = false;
            entry.data = workflow::encode_step({.ran_for = engine::engine_now() - start, .result = result});
            return model::Advance{
                .execution = id_, .fence = run.claim().fence, .entries = entries, .clears_lost = run.claim().lost > 0};
          });
        } catch (const StoreUnavailable& error) {
          if (!in_body) { store_trouble_ = error.what(); }
          throw;
        } catch (const StaleLease& error) {
          if (!in_body) { store_trouble_ = error.what(); }
          throw;
        }
        committed = true;
        return engine::Ending::completed(std::move(result));
      },
      *run_);
  in_step_.store(false);
  step_ran_for_ = engine::engine_now() - start;
  app_->engine().observations().step_ended(*run_, step_name_, step_ending_, step_ran_for_);
  step_ran_ = !committed;  // the journal has a committed step's outcome
  if (committed) {
    (void)replay_.add(Entry::step, entry.name, entry.data);
    replay_.kept(replay_.now());
  }
}

bool WorkflowRun::unwind() {
  if (!fiber_ || fiber_->done()) { return true; }
  unwinding_ = true;
  while (!fiber_->done() && caught_unwinds_ < caught_unwinds_max) { (void)resume(); }
  if (fiber_->done()) { return true; }
  fiber_->abandon();
  has_ended_.store(true);
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
    if (has_ended_.load()) { throw UsageError(call + " was called after its run had ended"); }
    if (std::this_thread::get_id() == thread_ && in_step_.load()) {
      throw UsageError(call + " was called from inside a step; a step's body may not use the context");
    }
    throw UsageError(call + " was called on another thread than its function's");
  }
  if (unwinding_) { suspend_for(Need::unwound); }
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

// A destructor that runs while an exception is in flight must not throw. The fiber then stays suspended, and the lane
// abandons it.
void WorkflowRun::suspend_for(Need what) {
  if (!unwinding_) {
    need_ = what;
    fiber_->suspend();
  }
  while (unwinding_) {
    if (std::uncaught_exceptions() == 0 && ++caught_unwinds_ < caught_unwinds_max) { throw Unwind{}; }
    caught_unwinds_ = caught_unwinds_max;
    need_ = Need::unwound;
    fiber_->suspend();
  }
}

void WorkflowRun::diverge(std::string reason) {
  if (stuck_.empty()) { stuck_ = std::move(reason); }
  unwinding_ = true;
  suspend_for(Need::unwound);
  std::abort();  // not reached: suspend_for() throws while unwinding
}

void WorkflowRun::throw_cancelled() {
  cancel_delivered_ = true;
  const auto& asked = replay_.cancel();
  throw Cancelled(asked && asked->error ? asked->error->message : "the workflow was cancelled");
}

// A recorded cancellation is thrown again at its recorded call, a new one at the first call behind the journal's end.
void WorkflowRun::throw_if_cancelled() {
  if (cancel_delivered_) { return; }
  if (const model::JournalEntry* const entry = replay_.peek()) {
    if (workflow::entry_of(*entry) == Entry::cancelled && workflow::decode_number(*entry, "call") == call_) {
      replay_.take();
      throw_cancelled();
    }
    return;
  }
  // The outcome of a step that has run is recorded first.
  if (replay_.cancel() && !replay_.replaying()) {
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
    // A recorded cancellation of this call comes before any later event.
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
    suspend_for(Need::wait);
  }
}

const std::string& WorkflowRun::workflow_id() {
  if (!workflow_id_) {
    const auto execution = app_->store().get(id_);
    workflow_id_ = execution ? execution->identity_key : "";
  }
  return *workflow_id_;
}

}  // namespace hapax::detail
