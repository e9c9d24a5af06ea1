// Finds the execution that holds an identity, from the rows a store found. All stores use these pure functions.
#pragma once

#include "model/admission.hpp"

namespace hapax::model {

// A row of `identities`.
struct IdentityRow {
  Uuid execution;
  int run = 1;
  std::optional<base::Digest> fingerprint;
  Time created_at{};                 // the execution's creation
  std::optional<Duration> hold_for;  // held at least this long after the end
  // Set when the execution's record was deleted and the identity outlives it: a tombstone.
  std::optional<Time> hold_until;
  std::optional<Status> ended_as;
  std::optional<Time> ended_at;
  std::optional<base::Digest> name{};  // IdentityClaim::name
};

// The holder's row in `live`.
struct LiveHolder {
  Status status = Status::pending;
  std::int64_t fence = 0;
  int run = 1;
  Time created_at{};
  bool abandoned = false;  // see Holder
};

// Whether a running guard has lost its caller. `lease_until` is the end of its session's lease; none: the session is
// gone.
[[nodiscard]] bool is_abandoned(Kind kind, const std::optional<Duration>& takeover_after,
                                const std::optional<Time>& lease_until, Time now);

// The holder's row in `history`, expired or not.
struct EndedHolder {
  Status status = Status::completed;
  int run = 1;
  Time created_at{};
  Time finished_at{};
  Time expires_at{};
  bool stub = false;
  std::optional<std::string> result;
};

// The holder of an identity; none: the identity is free. At most one of `live` and `ended` is given.
[[nodiscard]] std::optional<Holder> holder_of(const IdentityRow& identity, const std::optional<LiveHolder>& live,
                                              const std::optional<EndedHolder>& ended, Time now);

// The holder with the end of its hold, for queries that admit nothing.
struct Holding {
  Holder holder;
  std::optional<Time> until;  // when an ended holder frees the identity; none: the holder is live
};
[[nodiscard]] std::optional<Holding> holding_of(const IdentityRow& identity, const std::optional<LiveHolder>& live,
                                                const std::optional<EndedHolder>& ended, Time now);

// How long an identity outlives its execution's deleted record; none: it is deleted with the record.
[[nodiscard]] std::optional<Time> tombstone_until(const std::optional<Duration>& hold_for, Time finished_at, Time now);

// How long a request holds its identity after the execution's end: for its own window, else its queue's, and at least
// for its throttle window.
[[nodiscard]] std::optional<Duration> hold_for(const IdentityClaim& claim, const QueueSettings& settings);

}  // namespace hapax::model
