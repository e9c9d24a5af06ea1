#include "model/holder.hpp"

#include <algorithm>

namespace hapax::model {

namespace {

// When the identity of an ended execution becomes free. An identity without the execution's record is a tombstone or
// free.
Time free_at(const IdentityRow& identity, const std::optional<EndedHolder>& ended) {
  if (!ended) { return identity.hold_until.value_or(Time{}); }
  const Time by_record = ended->stub ? ended->finished_at : ended->expires_at;
  const Time by_window = ended->finished_at + identity.hold_for.value_or(Duration{0});
  return std::max(by_record, by_window);
}

}  // namespace

std::optional<Holding> holding_of(const IdentityRow& identity, const std::optional<LiveHolder>& live,
                                  const std::optional<EndedHolder>& ended, Time now) {
  std::optional<Holder> holder = holder_of(identity, live, ended, now);
  if (!holder) { return std::nullopt; }
  return Holding{.holder = *std::move(holder), .until = live ? std::nullopt : std::optional(free_at(identity, ended))};
}

std::optional<Holder> holder_of(const IdentityRow& identity, const std::optional<LiveHolder>& live,
                                const std::optional<EndedHolder>& ended, Time now) {
  Holder holder;
  holder.id = identity.execution;
  holder.fingerprint = identity.fingerprint;
  if (live) {
    holder.status = live->status;
    holder.fence = live->fence;
    holder.run = live->run;
    holder.created_at = live->created_at;
    holder.abandoned = live->abandoned;
    return holder;
  }
  if (free_at(identity, ended) <= now) { return std::nullopt; }
  if (ended) {
    const bool recorded = ended->expires_at > now;
    holder.status = ended->status;
    holder.run = ended->run;
    holder.created_at = ended->created_at;
    holder.finished_at = ended->finished_at;
    holder.expired = !recorded;
    if (recorded) { holder.result = ended->result; }
    return holder;
  }
  holder.status = identity.ended_as.value_or(Status::completed);
  holder.run = identity.run;
  holder.created_at = identity.created_at;
  holder.finished_at = identity.ended_at;
  holder.expired = true;
  return holder;
}

bool is_abandoned(Kind kind, const std::optional<Duration>& takeover_after, const std::optional<Time>& lease_until,
                  Time now) {
  return kind == Kind::guard && takeover_after && (!lease_until || *lease_until <= now);
}

std::optional<Time> tombstone_until(const std::optional<Duration>& hold_for, Time finished_at, Time now) {
  if (!hold_for || finished_at + *hold_for <= now) { return std::nullopt; }
  return finished_at + *hold_for;
}

std::optional<Duration> hold_for(const IdentityClaim& claim, const QueueSettings& settings) {
  std::optional<Duration> period = claim.dedup_window ? claim.dedup_window : settings.dedup_window;
  // The period counts from the execution's end. A throttle window begins at admission, so it ends no later than this.
  if (claim.mode == IdentityMode::throttle) { period = std::max(period.value_or(Duration{0}), claim.throttle); }
  return period;
}

}  // namespace hapax::model
