// MemoryGuardStore: records of one process. Sharded, bounded, expiring.
//
// Any thread may call any verb; a shard has one lock, held for the length of a look-up. Fences come from a counter of the
// shard that never goes back, so that they are unique by themselves and holds need no token. After a fork the child has a
// copy of its own.
#pragma once

#include <hapax/guard_store.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "guard/fork.hpp"

#include <atomic>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <unordered_map>
#include <vector>

namespace hapax::guard {

class MemoryGuardStore final : public GuardStore, private ForkAware {
 public:
  // The clock must outlive the store; none: the system's.
  explicit MemoryGuardStore(const MemoryGuardOptions& options, const base::Clock* clock = nullptr);
  ~MemoryGuardStore() override;

  [[nodiscard]] GuardAnswer begin(const GuardBegin& request) override;
  [[nodiscard]] std::vector<std::size_t> beat(std::span<const GuardHold> held) override;
  [[nodiscard]] GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) override;
  [[nodiscard]] std::optional<GuardRecord> read(const GuardKey& key) override;
  [[nodiscard]] GuardPage list(const GuardQuery& query) override;
  GuardForgotten forget(const GuardKey& key, bool even_in_progress) override;
  void wait_changed(const GuardKey& key, std::int64_t fence, Duration at_most) override;
  std::size_t sweep(std::size_t limit) override;
  [[nodiscard]] GuardStoreInfo info() const override;

  [[nodiscard]] std::size_t size() const;

 private:
  struct Entry;
  struct HashKey {
    std::size_t operator()(const GuardKey& key) const;
  };
  using Entries = std::unordered_map<GuardKey, Entry, HashKey>;
  using Ended = std::list<std::pair<const GuardKey, Entry>*>;  // addresses, which a growing map keeps
  struct Entry {
    GuardRecord record;  // its key is left empty: the map has it
    Ended::iterator place;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    Entries entries;
    Ended ended;  // in the order in which they ended
    std::int64_t fence = 0;
    std::atomic<std::uint32_t> waiters{0};
    base::FutexWord changes{0};  // raised when something ends while anybody waits
  };

  void before_fork() override;
  void after_fork(bool in_child) override;

  [[nodiscard]] Shard& shard_of(const GuardKey& key);
  [[nodiscard]] Time now() const;
  [[nodiscard]] GuardAnswer start(Shard& shard, const GuardBegin& request, Entries::iterator found, Time now);
  void make_room(Shard& shard, Time now);
  static void drop(Shard& shard, Entries::iterator entry);
  static std::size_t drop_expired(Shard& shard, Time now, std::size_t looks);
  static void tell(Shard& shard);

  const base::SystemClock system_clock_;
  const base::Clock* const clock_;
  const std::size_t shard_count_;  // a power of two
  const std::size_t shard_limit_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace hapax::guard
