// The decision of begin() about the record that it finds: one pure rule for every store that decides in C++.
#pragma once

#include <hapax/guard_store.hpp>

#include <optional>
#include <string_view>

namespace hapax::guard {

enum class Meeting : std::uint8_t {
  nothing,    // no record, or an expired one: the caller starts
  abandoned,  // in progress, and its heartbeat is too old: the caller takes over
  in_progress,
  completed,
  failed,
  mismatch,
};

// `heartbeat_age` is by the clock with which the store measures heartbeats; only a record in progress needs it.
[[nodiscard]] Meeting meet(const GuardRecord& record, const std::optional<GuardFingerprint>& fingerprint, Time now,
                           Duration heartbeat_age);

[[nodiscard]] GuardBegun begun(Meeting meeting);

[[nodiscard]] bool is_expired(const GuardRecord& record, Time now);

// now + after, at most Time::max().
[[nodiscard]] std::optional<Time> expiry(Time now, const std::optional<Duration>& after);

// For a record in progress: how long until a caller may take it over, if no heartbeat comes. None: never.
[[nodiscard]] std::optional<Duration> takeover_in(const GuardRecord& record, Duration heartbeat_age);

[[nodiscard]] bool matches(const GuardQuery& query, const GuardKey& key, GuardStatus status);

// Throws InvalidArgument for a limit out of range.
void check_query(const GuardQuery& query);

}  // namespace hapax::guard
