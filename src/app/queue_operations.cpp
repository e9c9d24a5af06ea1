// Operations: queues.
#include <hapax/error.hpp>

#include "app/find.hpp"
#include "app/operations.hpp"
#include "base/limits.hpp"
#include "model/validate.hpp"

#include <algorithm>

namespace hapax::app {

void check_move(const model::QueueRef& from, const Moving& moving) {
  if (from == moving.to) { throw InvalidArgument("to", "is the queue to move from; expected another"); }
  if (moving.limit < 1) {
    throw InvalidArgument("limit", std::to_string(moving.limit) + " is out of range; expected 1 or more");
  }
}

model::QueueInfo Operations::queue(const model::QueueRef& queue) const { return find_queue(store(), queue); }

model::QueueInfo Operations::configure(const model::QueueRef& queue, model::QueuePatch patch, Absent absent) const {
  model::check_name(queue.name, "queue");
  model::check_queue_patch(patch);
  if (absent == Absent::refuse) { (void)find_queue(store(), queue); }
  patch.actor = by_.name;
  store().configure_queue(queue, patch);
  engine_.wake_workers({&queue, 1});
  return find_queue(store(), queue);
}

Purged Operations::purge(const model::QueueRef& queue) const {
  PurgeSteps steps(*this, queue);
  while (steps.step()) {}
  return steps.purged();
}

std::int64_t Operations::move(const model::QueueRef& from, const Moving& moving) const {
  MoveSteps steps(*this, from, moving);
  while (steps.step()) {}
  return steps.moved();
}

PurgeSteps::PurgeSteps(const Operations& operations, model::QueueRef queue)
    : operations_(operations), queue_(std::move(queue)) {
  model::check_name(queue_.name, "queue");
  (void)operations_.queue(queue_);
  begun_.namespace_name = queue_.namespace_name;
  begun_.queue = queue_.name;
  begun_.kind = model::Kind::workflow;
  begun_.statuses = {Status::pending};
  begun_.payloads = false;
  begun_.limit = limits::list_page;
}

bool PurgeSteps::step() {
  if (!pending_is_done_) {
    const int some = operations_.store().purge(queue_, limits::sweep_batch, operations_.by_);
    purged_.cancelled += some;
    pending_is_done_ = some == 0;
    return true;
  }
  // Store::purge() skips workflows that have begun. Here these are cancelled like any other workflow, so that all
  // unwind alike. Workflows whose end was requested before are not counted again.
  Page page = operations_.store().list(begun_);
  const bool is_last = std::ssize(page) < begun_.limit;
  if (!is_last) { begun_.after = page.back().id; }
  std::erase_if(page,
                [](const model::Execution& workflow) { return workflow.fence == 0 || workflow.cancel_requested; });
  for (const model::CancelResult& result : operations_.cancel(page, "purged")) {
    purged_.requested += result.verdict == model::CancelVerdict::requested ? 1 : 0;
  }
  return !is_last;
}

MoveSteps::MoveSteps(const Operations& operations, model::QueueRef from, Moving moving)
    : operations_(operations), from_(std::move(from)), moving_(std::move(moving)) {
  check_move(from_, moving_);
  (void)operations_.queue(from_);
  if (moving_.target == Absent::refuse) { (void)operations_.queue(moving_.to); }
}

bool MoveSteps::step() {
  const int batch = static_cast<int>(std::min<std::int64_t>(limits::sweep_batch, moving_.limit - moved_));
  const int some = operations_.store().move(from_, moving_.to, batch, operations_.by_);
  moved_ += some;
  if (some > 0) { operations_.engine_.wake_workers({&moving_.to, 1}); }
  return some > 0 && moved_ < moving_.limit;
}

}  // namespace hapax::app
