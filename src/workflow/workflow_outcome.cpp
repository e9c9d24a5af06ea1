// WorkflowRun: the end of a turn: the run's outcome or its wait, and the children that end with the run.
#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/text.hpp"
#include "engine/step_thread.hpp"
#include "model/parent_close.hpp"
#include "store/store.hpp"
#include "workflow/workflow_run.hpp"

#include <algorithm>
#include <utility>

namespace hapax::workflow {

void cancel_children(store::Store& store, const model::Claim& parent, std::vector<Uuid> children) {
  model::ListQuery query;
  query.namespace_name = parent.queue.namespace_name;
  query.statuses = {Status::pending, Status::running};
  query.parent = parent.id;
  query.kind = model::Kind::workflow;
  query.payloads = false;
  query.limit = limits::list_page;
  const Time now = store.now();
  while (true) {
    const std::vector<model::Execution> page = store.list(query);
    for (const model::Execution& one : page) {
      const bool closes = model::closes_with_parent(one.labels, one.deadline, now);
      if (!closes) {
        std::erase(children, one.id);
      } else if (std::ranges::find(children, one.id) == children.end()) {
        children.push_back(one.id);
      }
    }
    if (std::ssize(page) < query.limit) { break; }
    query.after = page.back().id;
  }
  static_cast<void>(store.cancel(children, model::parent_ended));
}

}  // namespace hapax::workflow

namespace hapax::detail {

namespace {

// A parked run is tried again after stuck_wait to twice that, at random, so that many runs do not come at once.
constexpr Duration stuck_wait = std::chrono::seconds(10);
constexpr Duration leave_wait = std::chrono::milliseconds(250);

double workflow_run_jitter_draw() {
  thread_local base::SystemRandom random;
  return random.fraction();
}

}  // namespace

model::Finish WorkflowRun::finish() {
  model::Finish finish;
  finish.id = id_;
  finish.fence = claim().fence;
  finish.ran_for = engine::engine_now() - run_->started();
  model::Turn turn;
  turn.entries = replay_.take_fresh();
  turn.seen = replay_.seen();
  if (continued_) {
    finish.kind = model::FinishKind::continued;
    turn.next = continued_;
    turn.carried = replay_.unconsumed();
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
    // Entries of code that does not fit the journal are dropped. Any worker may try the run again later.
    turn.stuck = stuck_;
    turn.wake_in =
        stuck_wait +
        Duration(static_cast<std::int64_t>(workflow_run_jitter_draw() * static_cast<double>(stuck_wait.count())));
  }
  finish.turn = std::make_shared<const model::Turn>(std::move(turn));
  return finish;
}

model::Finish WorkflowRun::leave_finish(bool still_stuck) const {
  model::Finish finish;
  finish.id = id_;
  finish.fence = claim().fence;
  finish.kind = model::FinishKind::waiting;
  model::Turn turn;
  turn.seen = replay_.seen();
  turn.wake_in = leave_wait;
  if (still_stuck) { turn.stuck = stuck_; }
  finish.turn = std::make_shared<const model::Turn>(std::move(turn));
  return finish;
}

std::vector<Uuid> WorkflowRun::children_to_cancel() const {
  std::vector<Uuid> children;
  const auto look = [&](const std::vector<model::JournalEntry>& entries) {
    for (const model::JournalEntry& entry : entries) {
      if (workflow::entry_of(entry) != workflow::Entry::child || replay_.outcome(entry.position) != nullptr) {
        continue;
      }
      const auto data = nlohmann::json::parse(entry.data, nullptr, false);
      if (data.value("close", "") == "abandon") { continue; }
      // The id is the requested one, because this run must not cancel a workflow that existed before.
      if (const auto id = Uuid::parse(data.value("id", ""))) { children.push_back(*id); }
    }
  };
  look(replay_.entries());
  look(replay_.fresh());
  return children;
}

}  // namespace hapax::detail
