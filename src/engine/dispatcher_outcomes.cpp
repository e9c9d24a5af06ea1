// Dispatcher: handles outcomes that the store accepted, refused or could not record because of a lock.
#include "engine/dispatcher.hpp"

#include <hapax/error.hpp>

#include "engine/step_thread.hpp"

#include <algorithm>
#include <exception>
#include <iterator>
#include <optional>
#include <utility>

namespace hapax::engine {

namespace {

constexpr Duration held_up_wait = std::chrono::seconds(5);

// Returns how long until the execution is due again; none: the execution waits for an event. The store's time now is
// estimated as the claim's time plus the time since.
std::optional<Duration> due_in(const Settled& settled, Time now) {
  const model::Finish& finish = *settled.finish;
  if (finish.kind != model::FinishKind::waiting) { return finish.delay; }
  std::optional<Duration> in = finish.turn->wake_in;
  if (finish.turn->wake_at) {
    const Run& run = *settled.run;
    const Duration left = *finish.turn->wake_at - (run.claim().claimed_at + (now - run.received));
    in = in ? std::min(*in, left) : left;
  }
  return in ? std::optional(std::clamp(*in, Duration::zero(), longest_wait)) : std::nullopt;
}

}  // namespace

void Dispatcher::answered(std::span<const Settled> batch, std::span<const model::FinishVerdict> verdicts) {
  if (batch.empty()) { return; }
  std::vector<RunPtr> runs;
  runs.reserve(batch.size());
  WorkerStats more;
  const model::QueueRef* queue = nullptr;
  model::QueueCount count;
  const auto flush_count = [&] {
    if (queue != nullptr && count.completed + count.failed + count.retried > 0) { session_.count(*queue, count); }
    count = {};
  };
  bool again = false;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    runs.push_back(batch[i].run);
    if (verdicts[i] == model::FinishVerdict::stale) {
      ++more.stale;
      continue;
    }
    const model::QueueRef& its_queue = batch[i].run->claim().queue;
    if (queue == nullptr || *queue != its_queue) {
      flush_count();
      queue = &its_queue;
    }
    switch (batch[i].finish ? batch[i].finish->kind : model::FinishKind::completed) {
      case model::FinishKind::completed:
        ++more.completed;
        ++count.completed;
        break;
      case model::FinishKind::failed:
        ++more.failed;
        ++count.failed;
        break;
      case model::FinishKind::retry:
        ++more.retried;
        ++count.retried;
        again = true;
        break;
      case model::FinishKind::snoozed:
        ++more.snoozed;
        again = true;
        break;
      case model::FinishKind::released:
        ++more.released;
        again = true;
        break;
      case model::FinishKind::waiting: again = true; break;
      case model::FinishKind::continued:
        ++more.completed;
        ++count.completed;
        break;
      case model::FinishKind::cancelled: ++more.cancelled; break;
      case model::FinishKind::timed_out:
        ++more.timed_out;
        ++count.failed;
        break;
    }
    if (again && batch[i].finish) {
      // An execution that returns to its queue may be due before the next claim.
      const std::optional<Duration> in = due_in(batch[i], now_);
      if (in) { (void)hint(now_ + *in); }
    }
    again = false;
  }
  flush_count();
  session_.remove(runs);
  {
    const std::lock_guard lock(stats_mutex_);
    stats_.completed += more.completed;
    stats_.failed += more.failed;
    stats_.retried += more.retried;
    stats_.snoozed += more.snoozed;
    stats_.released += more.released;
    stats_.cancelled += more.cancelled;
    stats_.timed_out += more.timed_out;
    stats_.stale += more.stale;
  }
  note_unsent();
  if (options_.on_answered) { options_.on_answered(batch, verdicts); }
}

// Sends each outcome alone, after the store refused their batch. An outcome that is refused alone is replaced by a
// failure that says why. An outcome whose row is locked by an open transaction (complete_in, not yet committed) is kept
// and sent again later, because that transaction decides the outcome.
void Dispatcher::send_one_by_one(std::vector<Settled> batch) {
  for (std::size_t i = 0; i < batch.size(); ++i) {
    Settled& settled = batch[i];
    bool held_up = false;
    std::vector<model::FinishVerdict> verdict{model::FinishVerdict::accepted};
    for (int tries = 0; settled.finish; ++tries) {
      try {
        verdict = ask_store(std::span<const model::Finish>(&*settled.finish, 1), nullptr).verdicts;
        break;
      } catch (const store::Blocked& error) {
        trouble(error.what());
        held_up = true;
        break;
      } catch (const StoreUnavailable& error) {
        trouble(error.what());
        std::move(batch.begin() + static_cast<std::ptrdiff_t>(i), batch.end(), std::back_inserter(pending_));
        away_.store(true);
        (void)backoff_.next();
        return;
      } catch (const std::exception& error) {
        trouble(error.what());
        if (tries == 0) {
          settled.finish = unrecordable_finish(*settled.finish, error.what());
          continue;
        }
        verdict = {model::FinishVerdict::stale};
        break;
      }
    }
    if (held_up) {
      held_up_.push_back(std::move(settled));
      held_up_at_ = now_ + held_up_wait;
    } else {
      answered(std::span<const Settled>(&settled, 1), verdict);
    }
  }
  note_unsent();
}

void Dispatcher::release_unstarted() {
  std::vector<RunPtr> unstarted;
  pool_.withdraw(unstarted);
  if (options_.workflows != nullptr && draining_.load()) { options_.workflows->withdraw(unstarted); }
  for (RunPtr& run : unstarted) {
    if (run->settle()) {
      model::Finish finish = release_finish(*run);
      pending_.push_back({std::move(run), std::move(finish), {}});
    }
  }
  note_unsent();
}

void Dispatcher::note_unsent() { unsent_.store(static_cast<std::int64_t>(pending_.size() + held_up_.size())); }

}  // namespace hapax::engine
