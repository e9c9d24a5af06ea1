#include "guard/guard_heartbeat.hpp"

#include <algorithm>
#include <exception>
#include <unordered_map>
#include <vector>

namespace hapax::guard {

namespace {

constexpr Duration never_interval = std::chrono::seconds(10);
constexpr Duration sweep_interval = std::chrono::minutes(1);
constexpr std::size_t sweep_records = 1000;

unsigned own_shard(unsigned count) {
  static std::atomic<unsigned> next{0};
  thread_local const unsigned mine = next.fetch_add(1, std::memory_order_relaxed);
  return mine % count;
}

// All heartbeats, by store. Never destroyed.
struct Registry {
  std::mutex mutex;
  std::unordered_map<const GuardStore*, std::weak_ptr<GuardHeartbeat>> heartbeats;
};

class Registered final : private ForkAware {
 public:
  static Registered& instance() {
    static auto* const registered = new Registered;
    return *registered;
  }
  Registry registry;

 private:
  Registered() { enlist(); }
  void before_fork() override { registry.mutex.lock(); }
  void after_fork(bool /*in_child*/) override { registry.mutex.unlock(); }
};

}  // namespace

Duration beat_interval(const std::optional<Duration>& takeover_after) {
  return takeover_after ? *takeover_after / 3 : never_interval;
}

std::shared_ptr<GuardHeartbeat> GuardHeartbeat::of(const GuardStorePtr& store) {
  Registry& registry = Registered::instance().registry;
  // Constructed and destroyed outside the lock: a heartbeat enlists itself for forks, and a fork takes the registry's
  // lock after the list of ForkAware objects.
  const auto made = std::make_shared<GuardHeartbeat>(store);
  std::shared_ptr<GuardHeartbeat> chosen = made;
  {
    const std::lock_guard lock(registry.mutex);
    std::erase_if(registry.heartbeats, [](const auto& each) { return each.second.expired(); });
    std::weak_ptr<GuardHeartbeat>& known = registry.heartbeats[store.get()];
    if (std::shared_ptr<GuardHeartbeat> present = known.lock()) {
      chosen = std::move(present);
    } else {
      known = made;
    }
  }
  return chosen;
}

GuardHeartbeat::GuardHeartbeat(GuardStorePtr store) : store_(std::move(store)) { enlist(); }

GuardHeartbeat::~GuardHeartbeat() {
  Runner* runner = nullptr;
  {
    const std::lock_guard lock(mutex_);
    runner = std::exchange(runner_, nullptr);
    if (runner != nullptr) {
      runner->stop = true;
      runner->wake.notify_all();
    }
  }
  if (runner != nullptr) {
    runner->thread.join();
    delete runner;
  }
  retire();
}

void GuardHeartbeat::before_fork() {
  mutex_.lock();
  for (Shard& shard : shards_) { shard.mutex.lock(); }
}

void GuardHeartbeat::after_fork(bool in_child) {
  if (in_child) {
    // The parent's holds stay the parent's. Their nodes have another generation, so unlink() does nothing here.
    for (Shard& shard : shards_) { shard.first = nullptr; }
    runner_ = nullptr;
    started_.store(false);
  }
  for (Shard& shard : shards_) { shard.mutex.unlock(); }
  mutex_.unlock();
}

void GuardHeartbeat::join(const void* guard, Duration interval, OnTrouble trouble) {
  const std::lock_guard lock(mutex_);
  members_.push_back({guard, interval, std::move(trouble)});
  if (runner_ != nullptr) { runner_->wake.notify_all(); }
}

void GuardHeartbeat::leave(const void* guard) {
  const std::lock_guard lock(mutex_);
  std::erase_if(members_, [&](const Member& each) { return each.guard == guard; });
}

Duration GuardHeartbeat::interval() const {
  Duration shortest = never_interval;
  for (const Member& each : members_) { shortest = std::min(shortest, each.interval); }
  return shortest;
}

void GuardHeartbeat::link(detail::GuardBeatNode& node, const GuardHold& hold) {
  if (!started_.load(std::memory_order_acquire)) { start(); }
  node.hold = &hold;
  node.shard = own_shard(shard_count);
  Shard& shard = shards_[node.shard];
  const std::lock_guard lock(shard.mutex);
  node.generation = process_generation();
  node.serial = ++shard.serial;
  node.previous = nullptr;
  node.next = shard.first;
  if (shard.first != nullptr) { shard.first->previous = &node; }
  shard.first = &node;
}

void GuardHeartbeat::unlink(detail::GuardBeatNode& node) noexcept {
  if (node.generation == 0) { return; }
  Shard& shard = shards_[node.shard];
  const std::lock_guard lock(shard.mutex);
  if (node.generation == process_generation()) {
    if (node.next != nullptr) { node.next->previous = node.previous; }
    (node.previous != nullptr ? node.previous->next : shard.first) = node.next;
  }
  node.generation = 0;
}

void GuardHeartbeat::start() {
  const std::lock_guard lock(mutex_);
  if (runner_ != nullptr) { return; }
  auto runner = std::make_unique<Runner>();
  runner->thread = std::thread([this, mine = runner.get()] { run(*mine); });
  runner_ = runner.release();
  started_.store(true, std::memory_order_release);
}

void GuardHeartbeat::run(Runner& runner) {
  using Clock = std::chrono::steady_clock;
  std::unique_lock lock(mutex_);
  Clock::time_point beaten = Clock::now();
  Clock::time_point swept = beaten;
  bool failed = false;
  while (!runner.stop) {
    // After a failure the next beat comes sooner, so that the leases can still be renewed in time.
    const Clock::time_point due = beaten + (failed ? interval() / 4 : interval());
    if (Clock::now() < due) {
      runner.wake.wait_until(lock, due);
      continue;
    }
    beaten = Clock::now();
    const bool sweeps = beaten - swept >= sweep_interval;
    if (sweeps) { swept = beaten; }
    lock.unlock();
    failed = !beat();
    if (sweeps) {
      try {
        store_->sweep(sweep_records);
      } catch (const std::exception& error) {
        warn({}, std::string("expired records could not be removed: ") + error.what());
      }
    }
    lock.lock();
  }
}

bool GuardHeartbeat::beat() {
  struct Place {
    unsigned shard;
    std::uint64_t serial;
  };
  std::vector<GuardHold> held;
  std::vector<Place> places;
  for (unsigned index = 0; index < shard_count; ++index) {
    const std::lock_guard lock(shards_[index].mutex);
    for (const detail::GuardBeatNode* node = shards_[index].first; node != nullptr; node = node->next) {
      held.push_back(*node->hold);
      places.push_back({index, node->serial});
    }
  }
  if (held.empty()) { return true; }
  std::vector<std::size_t> lost;
  try {
    lost = store_->beat(held);
  } catch (const std::exception& error) {
    warn({}, std::string("the heartbeat of calls in progress failed, so other callers may take them over: ") +
                 error.what());
    return false;
  }
  for (const std::size_t index : lost) {
    const std::lock_guard lock(shards_[places[index].shard].mutex);
    const detail::GuardBeatNode* node = shards_[places[index].shard].first;
    while (node != nullptr && node->serial != places[index].serial) { node = node->next; }
    // A call that has ended meanwhile is not lost. The finish of a lost call reports the loss too; the warning only
    // comes earlier.
    if (node == nullptr) { held[index].key.name.clear(); }
  }
  for (const std::size_t index : lost) {
    if (held[index].key.name.empty()) { continue; }
    warn(held[index].key.key, held[index].key.name +
                                  ": a call in progress is no longer this process's: it was taken "
                                  "over or forgotten, and its result will be refused");
  }
  return true;
}

void GuardHeartbeat::warn(const std::string& key, const std::string& message) {
  std::vector<OnTrouble> listeners;
  {
    const std::lock_guard lock(mutex_);
    for (const Member& each : members_) {
      if (each.trouble) { listeners.push_back(each.trouble); }
    }
  }
  for (const OnTrouble& each : listeners) { each(key, message); }
}

}  // namespace hapax::guard
