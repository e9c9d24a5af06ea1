#include "guard/caller_session.hpp"

#include "base/uuid7.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <set>

namespace hapax::guard {

namespace {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? std::string(name.data()) : std::string();
}

}  // namespace

CallerSession::CallerSession(store::Store& store, Duration lease, std::string owner)
    : store_(store), lease_(lease), owner_(std::move(owner)), id_(base::new_uuid7()) {}

void CallerSession::open() {
  model::NewSession session;
  session.id = id_;
  session.worker = owner_;
  session.host = host_name();
  session.pid = getpid();
  session.lease = lease_;
  session.queues = {{"default", std::string(model::guard_queue)}};
  store_.open_session(session);
  const std::lock_guard lock(mutex_);
  opened_ = true;
}

std::optional<CallerSession::Ticket> CallerSession::begin() {
  const auto take = [this]() -> std::optional<Ticket> {
    open_claims_.push_back(++last_claim_);
    return Ticket{.session = id_, .claim_number = last_claim_};
  };
  {
    const std::lock_guard lock(mutex_);
    if (lapsed_) { return std::nullopt; }
    if (opened_) { return take(); }
  }
  const std::lock_guard opening(opening_);
  const bool is_open = [this] {
    const std::lock_guard lock(mutex_);
    return opened_;
  }();
  if (!is_open) { open(); }
  const std::lock_guard lock(mutex_);
  return lapsed_ ? std::nullopt : take();
}

void CallerSession::started(const Ticket& ticket, const model::Held& held) {
  const std::lock_guard lock(mutex_);
  std::erase(open_claims_, ticket.claim_number);
  held_[held] = {.since = std::chrono::steady_clock::now()};
}

void CallerSession::given_up(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  std::erase(open_claims_, ticket.claim_number);
}

void CallerSession::lapsed() {
  const std::lock_guard lock(mutex_);
  lapsed_ = true;
}

bool CallerSession::has_lapsed() const {
  const std::lock_guard lock(mutex_);
  return lapsed_;
}

bool CallerSession::is_over() const {
  const std::lock_guard lock(mutex_);
  return lapsed_ && open_claims_.empty() && held_.empty();
}

std::optional<Duration> CallerSession::ran_for(const model::Held& held) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(held);
  if (found == held_.end()) { return std::nullopt; }
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - found->second.since);
}

void CallerSession::ended(const model::Held& held) {
  const std::lock_guard lock(mutex_);
  held_.erase(held);
}

void CallerSession::in_doubt(const model::Held& held) {
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(held); found != held_.end()) { found->second.in_doubt = true; }
}

model::Beat CallerSession::next_beat(const std::vector<model::Held>& holds) {
  const std::set<model::Held, Order> of_callers(holds.begin(), holds.end());
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& one) { return one.second.in_doubt && !of_callers.contains(one.first); });
  model::Beat beat;
  beat.session = id_;
  beat.lease = lease_;
  beat.settled_claim_number = open_claims_.empty() ? last_claim_ : *std::ranges::min_element(open_claims_) - 1;
  for (const auto& [held, hold] : held_) { beat.held.push_back(held); }
  return beat;
}

std::vector<model::Held> CallerSession::beat(const std::vector<model::Held>& holds) {
  const model::Beat sent = next_beat(holds);
  if (sent.held.empty() && holds.empty()) { return {}; }
  model::BeatReply reply = store_.beat(sent);
  if (reply.session_lost) {
    const std::lock_guard opening(opening_);
    open();
    reply = store_.beat(sent);
  }
  // The reply names executions without fences. If an execution is held twice, the lower fence is lost; `sent.held` has
  // it first.
  std::map<Uuid, int> gone;
  for (const Uuid& id : reply.lost) { ++gone[id]; }
  std::set<model::Held, Order> kept;
  std::vector<model::Held> lost;
  for (const model::Held& held : sent.held) {
    const auto found = gone.find(held.id);
    if (found != gone.end() && found->second > 0) {
      --found->second;
      lost.push_back(held);
    } else {
      kept.insert(held);
    }
  }
  const std::lock_guard lock(mutex_);
  for (const model::Held& held : lost) { held_.erase(held); }
  std::vector<model::Held> of_callers;
  for (const model::Held& held : holds) {
    if (!kept.contains(held)) { of_callers.push_back(held); }
  }
  return of_callers;
}

}  // namespace hapax::guard
