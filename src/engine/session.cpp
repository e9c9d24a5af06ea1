#include "engine/session.hpp"

#include <algorithm>

namespace hapax::engine {

void Session::opened(const Uuid& id) {
  const std::lock_guard lock(mutex_);
  if (!id_.is_nil()) { earlier_.push_back(id_); }
  id_ = id;
  open_ = true;
  last_claim_ = 0;
  open_claims_.clear();
}

bool Session::is_open() const {
  const std::lock_guard lock(mutex_);
  return open_;
}

Uuid Session::id() const {
  const std::lock_guard lock(mutex_);
  return id_;
}

bool Session::has_been(const Uuid& id) const {
  const std::lock_guard lock(mutex_);
  return id == id_ || std::ranges::find(earlier_, id) != earlier_.end();
}

std::optional<ClaimTicket> Session::begin_claim() {
  const std::lock_guard lock(mutex_);
  if (!open_) { return std::nullopt; }
  open_claims_.push_back(++last_claim_);
  return ClaimTicket{id_, last_claim_};
}

bool Session::settle(const ClaimTicket& ticket, std::span<const RunPtr> runs) {
  const std::lock_guard lock(mutex_);
  if (!open_ || ticket.session != id_) { return false; }
  std::erase(open_claims_, ticket.number);
  for (const RunPtr& run : runs) {
    run->slot = runs_.size();
    runs_.push_back(run);
  }
  return true;
}

void Session::remove(std::span<const RunPtr> runs) {
  const std::lock_guard lock(mutex_);
  for (const RunPtr& run : runs) {
    const std::size_t slot = run->slot;
    if (slot >= runs_.size() || runs_[slot] != run) {
      continue;  // the run was lost with its session
    }
    runs_[slot] = std::move(runs_.back());
    runs_.pop_back();
    if (slot < runs_.size()) { runs_[slot]->slot = slot; }
  }
}

void Session::count(const model::QueueRef& queue, const model::QueueCount& more) {
  const std::lock_guard lock(mutex_);
  model::QueueCount& count = counts_[queue];
  count.queue = queue;
  count.completed += more.completed;
  count.failed += more.failed;
  count.retried += more.retried;
}

int Session::held() const {
  const std::lock_guard lock(mutex_);
  return static_cast<int>(runs_.size());
}

std::vector<RunPtr> Session::runs() const {
  const std::lock_guard lock(mutex_);
  return runs_;
}

RunPtr Session::find(const Uuid& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = std::ranges::find_if(runs_, [&](const RunPtr& run) { return run->claim().id == id; });
  return found == runs_.end() ? nullptr : *found;
}

bool Session::has_progress() const {
  const std::lock_guard lock(mutex_);
  return std::ranges::any_of(runs_, [](const RunPtr& run) { return run->has_progress(); });
}

model::Beat Session::beat(Duration lease) {
  const std::lock_guard lock(mutex_);
  model::Beat beat;
  beat.session = id_;
  beat.lease = lease;
  beat.settled_claim_number = open_claims_.empty() ? last_claim_ : *std::ranges::min_element(open_claims_) - 1;
  beat.held.reserve(runs_.size());
  for (const RunPtr& run : runs_) {
    beat.held.push_back({run->claim().id, run->claim().fence});
    if (auto progress = run->take_progress()) { beat.progress.push_back(std::move(*progress)); }
  }
  for (auto& [queue, count] : counts_) { beat.counts.push_back(count); }
  counts_.clear();
  return beat;
}

void Session::put_back(const std::vector<model::QueueCount>& counts) {
  for (const model::QueueCount& more : counts) { count(more.queue, more); }
}

std::vector<RunPtr> Session::lose(const Uuid& id) {
  std::vector<RunPtr> lost;
  {
    const std::lock_guard lock(mutex_);
    if (!open_ || id_ != id) { return lost; }
    open_ = false;
    open_claims_.clear();
    lost.swap(runs_);
  }
  for (const RunPtr& run : lost) {
    run->request_stop(StopReason::lease_lost);
    (void)run->settle();
  }
  return lost;
}

}  // namespace hapax::engine
