#include "guard/rule.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"

#include <algorithm>

namespace hapax::guard {

bool is_expired(const GuardRecord& record, Time now) { return record.expires_at && *record.expires_at <= now; }

Meeting meet(const GuardRecord& record, const std::optional<GuardFingerprint>& fingerprint, Time now,
             Duration heartbeat_age) {
  if (is_expired(record, now)) { return Meeting::nothing; }
  const bool runs = record.status == GuardStatus::in_progress;
  if (runs && record.takeover_after && heartbeat_age > *record.takeover_after) { return Meeting::abandoned; }
  if (record.fingerprint && fingerprint && *record.fingerprint != *fingerprint) { return Meeting::mismatch; }
  if (runs) { return Meeting::in_progress; }
  return record.status == GuardStatus::completed ? Meeting::completed : Meeting::failed;
}

GuardBegun begun(Meeting meeting) {
  switch (meeting) {
    case Meeting::nothing:
    case Meeting::abandoned: return GuardBegun::started;
    case Meeting::in_progress: return GuardBegun::in_progress;
    case Meeting::completed: return GuardBegun::completed;
    case Meeting::failed: return GuardBegun::failed;
    case Meeting::mismatch: return GuardBegun::mismatch;
  }
  return GuardBegun::mismatch;
}

std::optional<Time> expiry(Time now, const std::optional<Duration>& after) {
  if (!after) { return std::nullopt; }
  return *after >= Time::max() - now ? Time::max() : now + *after;
}

std::optional<Duration> takeover_in(const GuardRecord& record, Duration heartbeat_age) {
  if (!record.takeover_after) { return std::nullopt; }
  return std::max(Duration::zero(), *record.takeover_after - heartbeat_age);
}

bool matches(const GuardQuery& query, const GuardKey& key, GuardStatus status) {
  return key.namespace_name == query.namespace_name && (!query.name || key.name == *query.name) &&
         key.key.starts_with(query.key_prefix) && (!query.status || status == *query.status);
}

void check_query(const GuardQuery& query) {
  if (query.limit < 1 || query.limit > limits::list_page) {
    throw InvalidArgument("limit",
                          std::to_string(query.limit) + "; expected 1 to " + std::to_string(limits::list_page));
  }
}

}  // namespace hapax::guard
