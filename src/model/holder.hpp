// Who holds an identity now (SPEC I13): the rule that all stores apply to the rows they find.
#pragma once

#include "model/admission.hpp"

namespace hapax::model {

// A row of `identities`.
struct IdentityRow {
  Uuid execution;
  int run = 1;
  std::optional<base::Digest> fingerprint;
  Time created_at{};                 // of the execution
  std::optional<Duration> hold_for;  // at least so long after the end
  // Set when the execution's record was deleted and the identity outlived it: a tombstone.
  std::optional<Time> hold_until;
  std::optional<Status> ended_as;
  std::optional<Time> ended_at;
  std::optional<base::Digest> name{};  // IdentityClaim::name
};

// The holder's row in live.
struct LiveHolder {
  Status status = Status::pending;
  std::int64_t fence = 0;
  int run = 1;
  Time created_at{};
  bool abandoned = false;  // see Holder
};

// Whether a running guard has lost its caller: `lease_until` is when its session's lease is over, none if it is gone.
[[nodiscard]] bool is_abandoned(Kind kind, const std::optional<Duration>& takeover_after,
                                const std::optional<Time>& lease_until, Time now);

// The holder's row in history, whether it has expired or not.
struct EndedHolder {
  Status status = Status::completed;
  int run = 1;
  Time created_at{};
  Time finished_at{};
  Time expires_at{};
  bool stub = false;
  std::optional<std::string> result;
};

// Nothing: the identity is free. At most one of `live` and `ended` is given.
[[nodiscard]] std::optional<Holder> holder_of(const IdentityRow& identity, const std::optional<LiveHolder>& live,
                                              const std::optional<EndedHolder>& ended, Time now);

// The same for those who ask about an identity and admit nothing.
struct Holding {
  Holder holder;
  std::optional<Time> until;  // of one that has ended: when the identity is free; none: for as long as it lives
};
[[nodiscard]] std::optional<Holding> holding_of(const IdentityRow& identity, const std::optional<LiveHolder>& live,
                                                const std::optional<EndedHolder>& ended, Time now);

// How long an identity is held beyond its execution's record, when that is deleted; nothing: it goes with the record.
[[nodiscard]] std::optional<Time> tombstone_until(const std::optional<Duration>& hold_for, Time finished_at, Time now);

// What a request holds its identity for, by its own window, its queue's and its mode.
[[nodiscard]] std::optional<Duration> hold_for(const IdentityClaim& claim, const QueueSettings& settings);

}  // namespace hapax::model
