// WorkerCore: threads reserved for executions that are about to be admitted, so that an idle worker runs them at once.
#include "engine/worker_core.hpp"

#include <exception>
#include <utility>

namespace hapax::engine {

std::optional<model::BornRunning> WorkerCore::reserve(const model::QueueRef& queue, std::string_view task,
                                                      model::Kind kind) {
  const int idle =
      kind == model::Kind::workflow ? (options_.workflows ? options_.workflows->room() : 0) : pool_->idle();
  if (idle <= reserved_.load(std::memory_order_relaxed) || draining_.load() || !serves(queue) ||
      dispatcher_->exclusive()) {
    return std::nullopt;
  }
  {
    const std::lock_guard lock(tasks_mutex_);
    if (!tasks_.empty() && !tasks_.contains(std::string(task))) { return std::nullopt; }
  }
  // The reservation is counted before draining_ is read again, because stop() waits for the counted ones only.
  reserved_.fetch_add(1);
  const auto ticket = draining_.load() ? std::nullopt : session_.begin_claim();
  if (!ticket) {
    reserved_.fetch_sub(1);
    return std::nullopt;
  }
  return model::BornRunning{ticket->session, ticket->number};
}

RunPtr WorkerCore::take_up(const Reservation& reservation) {
  const auto& [place, request, admission] = reservation;
  if (place.session != session_.id()) {
    return nullptr;  // the session was lost meanwhile, and the execution with it
  }
  const ClaimTicket ticket{place.session, place.claim_number};
  if (admission == nullptr || !admission->fence) {
    session_.abandon(ticket);
    if (admission == nullptr) {
      // The answer may have been lost after the commit; the next beat makes the store release the execution.
      heartbeat_->request_beat();
      heartbeat_thread_->wake();
    }
    return nullptr;
  }
  model::Claim claim;
  claim.id = admission->id;
  claim.queue = std::move(request->queue);
  claim.task = std::move(request->task);
  claim.kind = request->kind;
  claim.input = std::move(request->input);
  claim.max_attempts = request->max_attempts;
  claim.max_lost = request->max_lost;
  claim.fence = *admission->fence;
  claim.priority = request->priority;
  claim.run = admission->run;
  claim.created_at = admission->created_at;
  claim.due_at = admission->created_at;
  claim.claimed_at = admission->created_at;
  if (request->deadline) {
    claim.deadline = admission->created_at + *request->deadline;
    claim.deadline_in = request->deadline;
  }
  claim.attempt_timeout = request->attempt_timeout;
  claim.retry = request->retry;
  if (request->identity) { claim.identity = request->identity->hash; }
  claim.effect_key = std::move(request->effect_key);
  claim.parent = request->parent;
  claim.labels = std::move(request->labels);
  auto run = std::make_shared<Run>(std::move(claim));
  engine_->observations().trace(*run);
  run->received = engine_now();
  run->born_running = true;
  const RunPtr shared = run;
  return session_.settle(ticket, std::span<const RunPtr>(&shared, 1)) ? shared : nullptr;
}

void WorkerCore::reserved(std::span<const Reservation> reservations) {
  std::vector<RunPtr> tasks;
  std::vector<RunPtr> workflows;
  tasks.reserve(reservations.size());
  workflows.reserve(reservations.size());
  int mine = 0;
  for (const Reservation& reservation : reservations) {
    if (!session_.has_been(reservation.place.session)) { continue; }
    ++mine;
    try {
      if (RunPtr run = take_up(reservation)) {
        const bool is_workflow = run->claim().kind == model::Kind::workflow && options_.workflows;
        (is_workflow ? workflows : tasks).push_back(std::move(run));
      }
    } catch (const std::exception& error) {
      // Out of memory for this run: the next beat does not list it, so the store releases it. The other runs go on.
      trouble(error.what());
      session_.abandon({reservation.place.session, reservation.place.claim_number});
    }
  }
  const bool any = !tasks.empty() || !workflows.empty();
  if (!workflows.empty()) { options_.workflows->submit(std::move(workflows)); }
  // Submitted one by one, as each call wakes a thread: no task should wait behind a long one.
  for (RunPtr& run : tasks) { pool_->submit({std::move(run)}); }
  reserved_.fetch_sub(mine);
  // The pool starts no more handlers, so the dispatcher releases these runs.
  if (any && draining_.load()) { something_changed(); }
}

}  // namespace hapax::engine
