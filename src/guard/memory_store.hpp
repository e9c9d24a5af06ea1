// MemoryGuardStore: guard records of one process. Sharded, bounded, with expiry.
//
// Any thread may call any verb. Each shard has one lock, held for one look-up. Fences come from a counter per shard
// that never goes back, so a fence is unique and a hold needs no token. After a fork the child has its own copy.
#pragma once

#include <hapax/guard_store.hpp>

#include "base/clock.hpp"
#include "base/futex.hpp"
#include "guard/fork.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace hapax::guard {

class MemoryGuardStore final : public GuardStore, private ForkAware {
 public:
  // The clock must outlive the store; null: the system clock.
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
  // A key with its hash: every verb needs the hash several times and computes it once.
  struct Key {
    GuardKey key;
    std::size_t hash = 0;
  };
  struct KeyView {
    const GuardKey& key;
    std::size_t hash = 0;
  };
  struct HashOf {
    using is_transparent = void;
    std::size_t operator()(const Key& key) const noexcept { return key.hash; }
    std::size_t operator()(const KeyView& key) const noexcept { return key.hash; }
  };
  struct Same {
    using is_transparent = void;
    template <class One, class Other>
    bool operator()(const One& one, const Other& other) const {
      return one.hash == other.hash && one.key == other.key;
    }
  };
  struct Entry;
  using Entries = std::unordered_map<Key, Entry, HashOf, Same>;
  using Node = std::pair<const Key, Entry>;  // its address is stable when the map grows
  struct Entry {
    GuardRecord record;  // without key and owner, which are kept beside it
    std::shared_ptr<const std::string> owner;
    // Links among the ended records, in the order in which they ended.
    Node* before = nullptr;
    Node* after = nullptr;
    bool linked = false;
  };
  struct alignas(64) Shard {
    mutable std::mutex mutex;
    Entries entries;
    Node* first_ended = nullptr;
    Node* last_ended = nullptr;
    std::set<std::pair<Time, Node*>> mortal;  // ended records that expire, by expiry
    // The owner of the last begin. Records share it: most processes have one owner name, of which each record would
    // have a copy.
    std::shared_ptr<const std::string> owner;
    std::int64_t fence = 0;
    std::atomic<std::uint32_t> waiters{0};
    base::FutexWord changes{0};  // raised when a record ends while a caller waits
  };

  void before_fork() override;
  void after_fork(bool in_child) override;

  [[nodiscard]] static KeyView view(const GuardKey& key);
  [[nodiscard]] Shard& shard_of(const KeyView& key);
  [[nodiscard]] Time now() const;
  void start(Shard& shard, const GuardBegin& request, const KeyView& key, GuardAnswer& answer);
  void make_room(Shard& shard, Time now);
  static void link(Shard& shard, Node& node);
  static void unlink(Shard& shard, Node& node);
  static void drop(Shard& shard, Node& node);
  static std::size_t drop_expired(Shard& shard, Time now, std::size_t most);
  static void tell(Shard& shard);

  const base::SystemClock system_clock_;
  const base::Clock* const clock_;
  const std::size_t shard_count_;  // a power of two
  const std::size_t shard_limit_;
  const std::unique_ptr<Shard[]> shards_;
};

}  // namespace hapax::guard
