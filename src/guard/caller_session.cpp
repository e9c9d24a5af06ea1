#include "guard/caller_session.hpp"

#include "base/uuid7.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>

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
  ++opened_;
}

CallerSession::Ticket CallerSession::begin() {
  {
    const std::lock_guard lock(mutex_);
    if (opened_ > 0) {
      open_claims_.push_back(++last_claim_);
      return {.born = {.session = id_, .claim_number = last_claim_}, .opened = opened_};
    }
  }
  {
    const std::lock_guard opening(opening_);
    const bool is_open = [this] {
      const std::lock_guard lock(mutex_);
      return opened_ > 0;
    }();
    if (!is_open) { open(); }
  }
  return begin();
}

void CallerSession::started(const Ticket& ticket, const model::Held& held) {
  const std::lock_guard lock(mutex_);
  std::erase(open_claims_, ticket.born.claim_number);
  held_[held.id] = {.fence = held.fence, .since = std::chrono::steady_clock::now()};
}

void CallerSession::given_up(const Ticket& ticket) {
  const std::lock_guard lock(mutex_);
  std::erase(open_claims_, ticket.born.claim_number);
}

void CallerSession::reopen(const Ticket& ticket) {
  const std::lock_guard opening(opening_);
  {
    const std::lock_guard lock(mutex_);
    if (opened_ != ticket.opened) { return; }
  }
  open();
}

Duration CallerSession::ran_for(const Uuid& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = held_.find(id);
  if (found == held_.end()) { return Duration{0}; }
  return std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - found->second.since);
}

void CallerSession::ended(const Uuid& id) {
  const std::lock_guard lock(mutex_);
  held_.erase(id);
}

void CallerSession::in_doubt(const Uuid& id) {
  const std::lock_guard lock(mutex_);
  if (const auto found = held_.find(id); found != held_.end()) { found->second.in_doubt = true; }
}

model::Beat CallerSession::next_beat(const std::vector<Uuid>& ids) {
  const std::lock_guard lock(mutex_);
  std::erase_if(held_, [&](const auto& one) {
    return one.second.in_doubt && std::ranges::find(ids, one.first) == ids.end();
  });
  model::Beat beat;
  beat.session = id_;
  beat.lease = lease_;
  beat.settled_claim_number = open_claims_.empty() ? last_claim_ : *std::ranges::min_element(open_claims_) - 1;
  for (const auto& [id, hold] : held_) { beat.held.push_back({id, hold.fence}); }
  return beat;
}

std::vector<Uuid> CallerSession::beat(const std::vector<Uuid>& ids) {
  const model::Beat sent = next_beat(ids);
  if (sent.held.empty() && ids.empty()) { return {}; }
  model::BeatReply reply = store_.beat(sent);
  if (reply.session_lost) {
    const std::lock_guard opening(opening_);
    open();
    reply = store_.beat(sent);
  }
  std::vector<Uuid> lost = std::move(reply.lost);
  const std::lock_guard lock(mutex_);
  for (const Uuid& id : ids) {
    const bool sent_it = std::ranges::find(sent.held, id, &model::Held::id) != sent.held.end();
    if (!sent_it && std::ranges::find(lost, id) == lost.end()) { lost.push_back(id); }
  }
  for (const Uuid& id : lost) { held_.erase(id); }
  return lost;
}

}  // namespace hapax::guard
