// A record store as a user might write it with the header alone: one map, one lock, and the required overrides.
#pragma once

#include <hapax/guard_store.hpp>

#include "base/clock.hpp"

#include <map>
#include <mutex>
#include <tuple>

namespace hapax::guard_tests {

class CustomStore final : public GuardStore {
 public:
  explicit CustomStore(const base::Clock& clock) : clock_(clock) {}

  GuardAnswer begin(const GuardBegin& request) override {
    const std::lock_guard lock(mutex_);
    const Time now = clock_.now();
    GuardAnswer answer;
    answer.now = now;
    std::int64_t fence = ++fences_;
    if (GuardRecord* record = present(request.key, now)) {
      const bool runs = record->status == GuardStatus::in_progress;
      const Duration age = now - record->heartbeat;
      answer.taken_over = runs && record->takeover_after && age > *record->takeover_after;
      if (!answer.taken_over) {
        const bool other = request.fingerprint && record->fingerprint && *request.fingerprint != *record->fingerprint;
        answer.begun = other                                      ? GuardBegun::mismatch
                       : runs                                     ? GuardBegun::in_progress
                       : record->status == GuardStatus::completed ? GuardBegun::completed
                                                                  : GuardBegun::failed;
        answer.record = *record;
        if (runs && record->takeover_after) { answer.takeover_in = *record->takeover_after - age; }
        return answer;
      }
    }
    GuardRecord& record = records_[place(request.key)];
    record = {};
    record.key = request.key;
    record.started_at = record.heartbeat = now;
    record.fence = fence;
    record.takeover_after = request.takeover_after;
    record.fingerprint = request.fingerprint;
    record.owner = request.owner;
    answer.hold = {request.key, fence, "token", request.takeover_after};
    return answer;
  }

  std::vector<std::size_t> beat(std::span<const GuardHold> held) override {
    const std::lock_guard lock(mutex_);
    std::vector<std::size_t> lost;
    for (std::size_t index = 0; index < held.size(); ++index) {
      GuardRecord* record = present(held[index].key, clock_.now());
      if (record != nullptr && record->fence == held[index].fence && record->status == GuardStatus::in_progress) {
        record->heartbeat = clock_.now();
      } else {
        lost.push_back(index);
      }
    }
    return lost;
  }

  GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) override {
    const std::lock_guard lock(mutex_);
    GuardRecord* record = present(hold.key, clock_.now());
    if (record == nullptr || record->fence != hold.fence) { return GuardVerdict::stale; }
    const GuardStatus status = finish.end == GuardEnd::failed ? GuardStatus::failed : GuardStatus::completed;
    if (record->status != GuardStatus::in_progress) {
      return finish.end != GuardEnd::unlocked && record->status == status ? GuardVerdict::accepted
                                                                          : GuardVerdict::stale;
    }
    if (finish.end == GuardEnd::unlocked) {
      records_.erase(place(hold.key));
      return GuardVerdict::accepted;
    }
    record->status = status;
    record->result = status == GuardStatus::completed ? finish.result : "";
    record->error = finish.error;
    record->completed_at = clock_.now();
    if (finish.ttl) { record->expires_at = clock_.now() + *finish.ttl; }
    return GuardVerdict::accepted;
  }

  std::optional<GuardRecord> read(const GuardKey& key) override {
    const std::lock_guard lock(mutex_);
    const GuardRecord* record = present(key, clock_.now());
    return record != nullptr ? std::optional(*record) : std::nullopt;
  }

  GuardPage list(const GuardQuery& query) override {
    const std::lock_guard lock(mutex_);
    GuardPage page;
    for (const auto& [at, record] : records_) {
      const std::string cursor = std::get<1>(at) + '\n' + std::get<2>(at);
      const bool matches = record.key.namespace_name == query.namespace_name &&
                           (!query.name || *query.name == record.key.name) &&
                           record.key.key.starts_with(query.key_prefix) &&
                           (!query.status || *query.status == record.status) && cursor > query.after;
      if (!matches || expired(record, clock_.now())) { continue; }
      if (page.records.size() == static_cast<std::size_t>(query.limit)) {
        page.next = page.records.back().key.name + '\n' + page.records.back().key.key;
        break;
      }
      page.records.push_back(record);
    }
    return page;
  }

  GuardForgotten forget(const GuardKey& key, bool even_in_progress) override {
    const std::lock_guard lock(mutex_);
    const GuardRecord* record = present(key, clock_.now());
    if (record == nullptr) { return GuardForgotten::absent; }
    if (record->status == GuardStatus::in_progress && !even_in_progress) { return GuardForgotten::in_progress; }
    records_.erase(place(key));
    return GuardForgotten::forgotten;
  }

  GuardStoreInfo info() const override { return {.backend = "custom", .location = "a map"}; }

 private:
  using Place = std::tuple<std::string, std::string, std::string>;
  static Place place(const GuardKey& key) { return {key.namespace_name, key.name, key.key}; }
  static bool expired(const GuardRecord& record, Time now) { return record.expires_at && *record.expires_at <= now; }
  GuardRecord* present(const GuardKey& key, Time now) {
    const auto found = records_.find(place(key));
    return found != records_.end() && !expired(found->second, now) ? &found->second : nullptr;
  }

  const base::Clock& clock_;
  std::mutex mutex_;
  std::map<Place, GuardRecord> records_;
  std::int64_t fences_ = 0;
};

}  // namespace hapax::guard_tests
