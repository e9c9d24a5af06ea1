#include <hapax/detail/guard_call.hpp>

#include "base/fault.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "guard/core.hpp"
#include "guard/describe_exception.hpp"

#include <algorithm>
#include <chrono>
#include <thread>

namespace hapax::detail {

namespace {

constexpr Duration return_waits = std::chrono::minutes(1);
// A waiting call asks the store at least this often: change notifications may be lost.
constexpr Duration longest_wait = std::chrono::seconds(1);
constexpr Duration shortest_wait = std::chrono::milliseconds(1);
// How long a call retries to record its result while the store is unavailable. The heartbeat goes on meanwhile.
constexpr Duration finish_patience = std::chrono::seconds(10);
constexpr Duration first_pause = std::chrono::milliseconds(10);
constexpr Duration longest_pause = std::chrono::seconds(1);
constexpr std::int64_t no_end = INT64_MAX;

// The guarded calls that the current thread is inside of, to tell a recursion from a wait for another caller. A list
// rather than a stack, as fibers of one thread may end their calls in any order.
thread_local GuardFrame* top_frame = nullptr;

void link_frame(GuardFrame& frame) {
  frame.above = nullptr;
  frame.below = top_frame;
  if (top_frame != nullptr) { top_frame->above = &frame; }
  top_frame = &frame;
}

void unlink_frame(GuardFrame& frame) noexcept {
  if (frame.below != nullptr) { frame.below->above = frame.above; }
  (frame.above != nullptr ? frame.above->below : top_frame) = frame.below;
}

bool is_inside(const GuardStore& store, const GuardKey& key) {
  for (const GuardFrame* frame = top_frame; frame != nullptr; frame = frame->below) {
    if (frame->store == &store && *frame->key == key) { return true; }
  }
  return false;
}

std::int64_t steady_us() {
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

}  // namespace

GuardCall::GuardCall(std::shared_ptr<GuardCore> core, GuardCallName name)
    : core_(std::move(core)),
      request_{std::move(name.key), name.fingerprint, core_->options().ttl, core_->options().takeover_after, {}} {}

GuardCall::~GuardCall() {
  if (runs_ && !ended_) { fail(nullptr); }
}

std::string GuardCall::described() const { return request_.key.name + " " + request_.key.key; }

void GuardCall::enter() {
  while (!look(true)) {}
}

bool GuardCall::try_enter() { return look(false); }

// Sets unguarded_ when the store is unavailable and on_store_error is run.
GuardAnswer GuardCall::begin() {
  try {
    generation_ = guard::process_generation();
    request_.owner = core_->owner();
    return core_->store().begin(request_);
  } catch (const StoreUnavailable& error) {
    // A call that has seen the first call in progress must not run beside it.
    if (core_->options().on_store_error != OnStoreError::run || seen_in_progress_) { throw; }
    core_->warn(request_.key.key,
                std::string("the call runs unguarded, as the store is not available: ") + error.what());
    runs_ = true;
    unguarded_ = true;
  }
  return {};
}

bool GuardCall::look(bool may_wait) {
  if (core_->cache() != nullptr) {
    if (auto kept = core_->cache()->find(request_.key.key, request_.fingerprint, std::chrono::steady_clock::now())) {
      settle(*kept);
      return true;
    }
  }
  GuardAnswer answer = begin();
  if (unguarded_) { return true; }
  switch (answer.begun) {
    case GuardBegun::started:
      hold_ = std::move(answer.hold);
      runs_ = true;
      core_->heartbeat().link(node_, hold_);
      base::fault_point("guard.begun");
      if (answer.taken_over) {
        core_->warn(request_.key.key, "the call is taken over from a caller whose heartbeat stopped: it runs again");
      }
      return true;
    case GuardBegun::completed:
      if (core_->cache() != nullptr) {
        const std::optional<Time> expires = answer.record.expires_at;
        core_->cache()->keep(request_.key.key, answer.record,
                             expires ? std::optional<Duration>(*expires - answer.now) : std::nullopt,
                             std::chrono::steady_clock::now());
      }
      settle(answer.record);
      return true;
    case GuardBegun::failed: {
      const GuardError error = answer.record.error.value_or(GuardError{});
      throw RecordedFailure(error.message, error.type, answer.record.completed_at.value_or(answer.now));
    }
    case GuardBegun::mismatch:
      throw IdempotencyMismatch("the call " + described() + " was made before with other arguments", Uuid{});
    case GuardBegun::in_progress: break;
  }
  if (is_inside(core_->store(), request_.key)) {
    throw GuardRecursion("the call " + described() + " is made from inside itself: it would wait for itself for ever");
  }
  if (core_->options().on_duplicate == OnDuplicate::raise) {
    throw DuplicateExecution("the call " + described() + " is in progress already", answer.record.started_at, {}, {});
  }
  seen_in_progress_ = true;
  if (may_wait) { wait(answer); }
  return false;
}

void GuardCall::settle(GuardRecord& record) {
  if (core_->options().on_duplicate == OnDuplicate::raise) {
    throw DuplicateExecution("the call " + described() + " was made before", record.started_at, record.completed_at,
                             record.result);
  }
  result_ = std::move(record.result);
}

void GuardCall::wait(const GuardAnswer& answer) {
  const GuardOptions& options = core_->options();
  const std::int64_t now = steady_us();
  if (waits_until_us_ == 0) {
    std::optional<Duration> timeout = options.wait_timeout;
    if (!timeout && options.on_duplicate == OnDuplicate::return_result) { timeout = return_waits; }
    waits_until_us_ = timeout ? now + timeout->count() : no_end;
  }
  if (now >= waits_until_us_) {
    throw WaitTimeout("the call " + described() + " is still in progress elsewhere (" + answer.record.owner +
                      ", since " + format_time(answer.record.started_at) + ")");
  }
  Duration at_most = std::min(longest_wait, Duration(waits_until_us_ - now));
  // The call asks the store again right when the record may be taken over.
  if (answer.takeover_in) { at_most = std::min(at_most, *answer.takeover_in + shortest_wait); }
  try {
    core_->store().wait_changed(request_.key, answer.record.fence, std::max(at_most, Duration(1)));
  } catch (const StoreUnavailable&) {
    // The next begin throws if the store is still unavailable.
    std::this_thread::sleep_for(std::min(at_most, first_pause));
  }
}

void GuardCall::push_frame() {
  frame_.store = &core_->store();
  frame_.key = &request_.key;
  link_frame(frame_);
  framed_ = true;
}

void GuardCall::pop_frame() noexcept {
  if (framed_) { unlink_frame(frame_); }
  framed_ = false;
}

void GuardCall::let_go() noexcept {
  ended_ = true;
  core_->heartbeat().unlink(node_);
}

void GuardCall::finish(const GuardFinish& finish) {
  if (unguarded_) {
    ended_ = true;
    return;
  }
  if (generation_ != guard::process_generation()) {
    let_go();
    throw StaleLease("the call " + described() +
                     " was begun before a fork and belongs to the parent process: its end in the child "
                     "process does not count");
  }
  base::fault_point("guard.finish");
  const std::int64_t until = steady_us() + finish_patience.count();
  GuardVerdict verdict = GuardVerdict::stale;
  for (Duration pause = first_pause;; pause = std::min(pause * 2, longest_pause)) {
    try {
      verdict = core_->store().finish(hold_, finish);
      break;
    } catch (const StoreUnavailable&) {
      if (steady_us() + pause.count() >= until) {
        let_go();
        throw;
      }
    } catch (...) {
      let_go();
      throw;
    }
    std::this_thread::sleep_for(pause);
  }
  let_go();
  base::fault_point("guard.finished");
  if (verdict == GuardVerdict::stale) {
    throw StaleLease("the call " + described() + " was taken over or forgotten while it ran, so its result is refused");
  }
}

void GuardCall::complete(std::string result_json) {
  if (result_json.size() > base::payload_limit()) {
    complete_without_result("it has " + std::to_string(result_json.size()) + " bytes, the limit is " +
                            std::to_string(base::payload_limit()));
    return;
  }
  GuardFinish end;
  end.end = GuardEnd::completed;
  end.result = std::move(result_json);
  end.ttl = core_->options().ttl;
  try {
    finish(end);
  } catch (const StoreUnavailable& error) {
    if (core_->options().on_store_error != OnStoreError::run) {
      throw StoreUnavailable("the call " + described() +
                             " has run, but that could not be recorded; it may be made again: " + error.what());
    }
    core_->warn(request_.key.key, std::string("the call has run, but that could not be recorded: ") + error.what());
  }
}

void GuardCall::complete_without_result(const std::string& reason) {
  complete("null");
  const std::string message =
      "the call " + described() + " has run, but its result cannot be kept, so its record says null: " + reason;
  if (core_->options().on_duplicate == OnDuplicate::return_result) { throw ResultNotStorable(message); }
  core_->warn(request_.key.key, message);
}

void GuardCall::fail(const std::exception_ptr& error) noexcept {
  try {
    GuardFinish end;
    end.error = guard::describe(error);
    end.ttl = core_->options().ttl;
    // A function that never returned or threw (error is null) has no outcome to lock.
    const bool locks = core_->options().on_failure == OnFailure::lock && error != nullptr;
    end.end = locks ? GuardEnd::failed : GuardEnd::unlocked;
    finish(end);
  } catch (const std::exception& trouble) {
    core_->warn(request_.key.key, std::string("the call failed, and that could not be recorded: ") + trouble.what());
  } catch (...) { core_->warn(request_.key.key, "the call failed, and that could not be recorded"); }
}

void throw_unreadable(const GuardCall& call, const std::string& reason) {
  if (call.result() == "null") {
    throw ResultNotStorable("the call " + call.described() +
                            " was made before, but its result could not be kept: its record says null");
  }
  throw InvalidArgument(
      "result", "the record of " + call.described() + " does not have the shape that the function returns: " + reason);
}

}  // namespace hapax::detail
