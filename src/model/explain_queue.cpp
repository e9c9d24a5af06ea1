// Explainer: why a pending execution is not claimed: limit keys, limits of its queue, workers.
#include "base/limits.hpp"
#include "model/explainer.hpp"
#include "model/rate.hpp"

#include <algorithm>

namespace hapax::model {

namespace {

bool takes_queue(const SessionInfo& session, const QueueRef& queue) {
  return std::find(session.queues.begin(), session.queues.end(), queue) != session.queues.end();
}

// Whether the session may claim the execution. A session that names no tasks takes any task but no workflow; a worker
// that can run workflows names them.
bool takes(const SessionInfo& session, const Execution& execution) {
  if (session.tasks.empty()) { return execution.kind != Kind::workflow; }
  return std::find(session.tasks.begin(), session.tasks.end(), execution.task) != session.tasks.end();
}

}  // namespace

void Explainer::explain_limit_key() {
  if (!e_.limit_key) { return; }
  const std::string key = quoted(e_.limit_key->text);
  if (e_.limit_key->ordered && origin_ && e_.limit_key->text == "activity:" + origin_->activity) {
    add("earlier_run",
        "It waits for the earlier runs of activity " + quoted(origin_->activity) +
            ", whose runs may not overlap: they run one after the other.",
        "It starts when the earlier run ends or is cancelled: hapax activity runs " + origin_->activity +
            " --status pending,running");
    return;
  }
  if (only_key_rate_blocks()) {
    const char* const kind = e_.limit_key->ordered ? "ordering" : "concurrency";
    add("key_rate_limit",
        "In its queue " + quoted(e_.queue.name) + ", at most " +
            format_rate_limit(*facts_.queue->settings.limits.key_rate) + " start of one key, and those of " + kind +
            " key " + key + " that have started use that up.",
        "It starts by itself; hapax queue set " + e_.queue.name + " --key-rate-limit R allows more.");
    return;
  }
  if (e_.limit_key->ordered) {
    add("ordering_key",
        "It waits for those with ordering key " + key +
            " that were admitted before it: they run one after the other, and one that is delayed or retrying holds "
            "up "
            "the rest.",
        "The first of them ends, or is cancelled: hapax list --queue " + e_.queue.name + " --status pending");
    return;
  }
  std::string sentence = "It waits for others with concurrency key " + key;
  if (facts_.queue) {
    const QueueLimits& limits = facts_.queue->settings.limits;
    sentence += ": at most " + std::to_string(limits.key_concurrency.value_or(1)) + " of a key run at once";
    if (limits.key_rate) { sentence += ", at most " + format_rate_limit(*limits.key_rate) + " start"; }
  }
  const bool has_rate = facts_.queue && facts_.queue->settings.limits.key_rate && !facts_.others_of_key;
  add("concurrency_key", sentence + ".",
      "hapax queue set " + e_.queue.name + " --key-concurrency N" + (has_rate ? " or --key-rate-limit R" : ""));
}

bool Explainer::only_key_rate_blocks() const {
  if (!facts_.queue || !facts_.queue->settings.limits.key_rate || !facts_.others_of_key) { return false; }
  if (e_.limit_key->ordered) { return !facts_.others_of_key->earlier; }
  return facts_.others_of_key->running < facts_.queue->settings.limits.key_concurrency.value_or(1);
}

void Explainer::limits() {
  if (!facts_.queue) { return; }
  const QueueLimits& limits = facts_.queue->settings.limits;
  if (limits.concurrency && facts_.queue->running >= *limits.concurrency) {
    add("concurrency",
        "Its queue " + quoted(e_.queue.name) + " runs at most " + std::to_string(*limits.concurrency) +
            " at once, and " + std::to_string(facts_.queue->running) + " are running.",
        "hapax queue set " + e_.queue.name + " --concurrency N");
  }
  if (limits.worker_concurrency && workers_are_full(*limits.worker_concurrency)) {
    add("worker_concurrency",
        "One worker runs at most " + std::to_string(*limits.worker_concurrency) + " of queue " + quoted(e_.queue.name) +
            " at once, and every worker that could run it has that many.",
        "Start one more worker, or hapax queue set " + e_.queue.name + " --worker-concurrency N");
  }
  if (limits.rate) { rate(*limits.rate); }
}

bool Explainer::workers_are_full(int limit) const {
  return std::all_of(facts_.sessions.begin(), facts_.sessions.end(), [&](const SessionInfo& session) {
    if (!is_alive(session, facts_.now) || !takes_queue(session, e_.queue) || !takes(session, e_)) { return true; }
    const auto running = facts_.running_here.find(session.id);
    return running != facts_.running_here.end() && running->second >= limit;
  });
}

void Explainer::rate(const RateLimit& limit) {
  RateMeter meter(limit, facts_.queue->rate_arrival, facts_.now);
  const std::int64_t others = std::clamp<std::int64_t>(facts_.queue->ready - 1, 0, limits::rate);
  if (others > 0) { meter.start(static_cast<int>(others)); }
  if (meter.wait(e_.weight) <= Duration{0}) { return; }
  add("rate_limit",
      "Its queue " + quoted(e_.queue.name) + " starts at most " + format_rate_limit(limit) + "; " +
          std::to_string(facts_.queue->ready) + " are due in it, the last of them starts in " +
          about(meter.wait(e_.weight)) + " at the earliest.",
      "hapax queue set " + e_.queue.name + " --rate-limit R");
}

void Explainer::workers() {
  std::int64_t on_queue = 0;
  std::int64_t on_task = 0;
  std::int64_t idle = 0;
  for (const SessionInfo& session : facts_.sessions) {
    if (!is_alive(session, facts_.now) || !takes_queue(session, e_.queue)) { continue; }
    ++on_queue;
    if (takes(session, e_)) {
      ++on_task;
      idle += session.running == 0 ? 1 : 0;
    }
  }
  if (on_queue == 0) {
    // `hapax work --exec` runs tasks only, not workflows.
    add("no_worker", "No worker is running for queue " + quoted(e_.queue.name) + ".",
        e_.kind == Kind::workflow ? "Start a program whose worker has queue " + quoted(e_.queue.name) +
                                        " and a handler for workflow " + quoted(e_.task) + "."
                                  : "Start one: hapax work --queue " + e_.queue.name + " --exec PROGRAM");
  } else if (on_task == 0) {
    add("no_worker_for_task",
        "The " + counted(on_queue, "worker") + " on queue " + quoted(e_.queue.name) + " do not take " +
            (e_.kind == Kind::workflow ? "workflow " : "task ") + quoted(e_.task) + ".",
        "Start a worker that has a handler for " + quoted(e_.task) + ".");
  } else if (e_.lost > 0 && idle == 0 && e_.run_at <= facts_.now) {
    add("lost_before",
        "Its worker was lost " + counted(e_.lost, "time") +
            " while it ran, so it runs alone: it waits for "
            "a worker that holds nothing else.",
        "It runs by itself once a worker is idle; one more worker on the queue speeds that up.");
  }
}

void Explainer::explain_queue_position() {
  std::string sentence = "It is due and waits for its turn in queue " + quoted(e_.queue.name);
  if (facts_.queue) {
    sentence += ": " + std::to_string(facts_.queue->ready) + " ready, " + std::to_string(facts_.queue->running) +
                " running, priority " + std::to_string(e_.priority);
  }
  add("waiting_its_turn", sentence + ".", "More workers, or more threads per worker, shorten the wait.");
}

}  // namespace hapax::model
