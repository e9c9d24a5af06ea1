#include "guard/cache.hpp"

#include <algorithm>

namespace hapax::guard {

Cache::Cache(const Options& options) : options_(options) { enlist(); }
Cache::~Cache() { retire(); }

void Cache::erase(std::unordered_map<std::string, Kept>::iterator kept) {
  order_.erase(kept->second.place);
  records_.erase(kept);
}

std::optional<GuardRecord> Cache::find(const std::string& key, const std::optional<GuardFingerprint>& fingerprint,
                                       Instant now) {
  const std::lock_guard lock(mutex_);
  const auto found = records_.find(key);
  if (found == records_.end()) { return std::nullopt; }
  if (found->second.until <= now) {
    erase(found);
    return std::nullopt;
  }
  const GuardRecord& record = found->second.record;
  if (record.fingerprint && fingerprint && *record.fingerprint != *fingerprint) { return std::nullopt; }
  return record;
}

void Cache::keep(const std::string& key, const GuardRecord& record, std::optional<Duration> expires_in, Instant now) {
  const Duration lasts = std::min(options_.at_most, expires_in.value_or(options_.at_most));
  if (lasts <= Duration::zero()) { return; }
  const std::lock_guard lock(mutex_);
  if (const auto found = records_.find(key); found != records_.end()) { erase(found); }
  if (records_.size() >= options_.records) { erase(records_.find(order_.front())); }
  const auto place = order_.insert(order_.end(), key);
  records_.emplace(key, Kept{record, now + lasts, place});
}

void Cache::drop(const std::string& key) {
  const std::lock_guard lock(mutex_);
  if (const auto found = records_.find(key); found != records_.end()) { erase(found); }
}

}  // namespace hapax::guard
