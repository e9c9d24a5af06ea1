#include "guard/memory_store.hpp"

#include <hapax/error.hpp>

#include "guard/rule.hpp"

#include <algorithm>
#include <bit>
#include <functional>

namespace hapax::guard {

namespace {

constexpr std::size_t most_shards = 64;
constexpr std::size_t records_a_shard = 256;  // a small store has fewer shards, as each shard has its own bound
// How many expired records each new one removes, so that they are removed faster than records are added.
constexpr std::size_t dropped_a_start = 2;

std::size_t shards_for(std::size_t max_records) {
  return std::bit_floor(std::clamp<std::size_t>(max_records / records_a_shard, 1, most_shards));
}

std::size_t checked(std::size_t max_records) {
  if (max_records == 0) { throw InvalidArgument("max_records", "0; expected at least 1"); }
  return max_records;
}

}  // namespace

MemoryGuardStore::KeyView MemoryGuardStore::view(const GuardKey& key) {
  constexpr std::size_t mixer = 0x9E3779B97F4A7C15;
  const std::hash<std::string_view> hash;
  std::size_t mixed = hash(key.key);
  mixed = (std::rotl(mixed, 23) ^ hash(key.name)) * mixer;
  mixed = (std::rotl(mixed, 23) ^ hash(key.namespace_name)) * mixer;
  return {key, mixed ^ (mixed >> 32)};
}

MemoryGuardStore::MemoryGuardStore(const MemoryGuardOptions& options, const base::Clock* clock)
    : clock_(clock),
      shard_count_(shards_for(checked(options.max_records))),
      shard_limit_(options.max_records / shard_count_),
      shards_(std::make_unique<Shard[]>(shard_count_)) {
  enlist();
}

MemoryGuardStore::~MemoryGuardStore() { retire(); }

void MemoryGuardStore::before_fork() {
  for (std::size_t index = 0; index < shard_count_; ++index) { shards_[index].mutex.lock(); }
}

void MemoryGuardStore::after_fork(bool in_child) {
  for (std::size_t index = 0; index < shard_count_; ++index) {
    if (in_child) { shards_[index].waiters.store(0); }
    shards_[index].mutex.unlock();
  }
}

MemoryGuardStore::Shard& MemoryGuardStore::shard_of(const KeyView& key) {
  return shards_[(key.hash >> 7) & (shard_count_ - 1)];
}

Time MemoryGuardStore::now() const { return clock_ != nullptr ? clock_->now() : system_clock_.now(); }

GuardAnswer MemoryGuardStore::begin(const GuardBegin& request) {
  const KeyView key = view(request.key);
  Shard& shard = shard_of(key);
  const Time at = now();
  const std::lock_guard lock(shard.mutex);
  GuardAnswer answer;
  answer.now = at;
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end()) {
    start(shard, request, key, answer);
    return answer;
  }
  const GuardRecord& record = found->second.record;
  const Duration age = at - record.heartbeat;
  const Meeting meeting = meet(record, request.fingerprint, at, age);
  answer.begun = begun(meeting);
  if (answer.begun == GuardBegun::started) {
    start(shard, request, key, answer);
    answer.taken_over = meeting == Meeting::abandoned;
    return answer;
  }
  answer.record = record;
  if (meeting == Meeting::in_progress) {
    answer.takeover_in = takeover_in(record, age);
    answer.record.owner = *found->second.owner;  // only the message of a wait that times out needs the owner
  }
  return answer;
}

void MemoryGuardStore::start(Shard& shard, const GuardBegin& request, const KeyView& key, GuardAnswer& answer) {
  const Time now = answer.now;
  drop_expired(shard, now, dropped_a_start);
  // drop_expired may have removed the record that was found, so it is searched again.
  auto found = shard.entries.find(key);
  if (found == shard.entries.end()) {
    if (shard.entries.size() >= shard_limit_) { make_room(shard, now); }
    found = shard.entries.try_emplace(Key{request.key, key.hash}).first;
  } else {
    unlink(shard, *found);
    found->second.record = GuardRecord{};
  }
  if (!shard.owner || *shard.owner != request.owner) {
    shard.owner = std::make_shared<const std::string>(request.owner);
  }
  found->second.owner = shard.owner;
  GuardRecord& record = found->second.record;
  record.started_at = now;
  record.heartbeat = now;
  record.fence = ++shard.fence;
  record.takeover_after = request.takeover_after;
  record.fingerprint = request.fingerprint;
  answer.begun = GuardBegun::started;
  answer.hold = {request.key, record.fence, {}, request.takeover_after};
}

void MemoryGuardStore::make_room(Shard& shard, Time now) {
  if (drop_expired(shard, now, 1) > 0) { return; }
  if (shard.first_ended == nullptr) {
    throw StoreUnavailable("the memory store of guarded calls is full: " + std::to_string(shard_limit_ * shard_count_) +
                           " records at most, and all of this part are in progress; allow more (max_records)");
  }
  drop(shard, *shard.first_ended);
}

void MemoryGuardStore::link(Shard& shard, Node& node) {
  node.second.linked = true;
  node.second.before = shard.last_ended;
  node.second.after = nullptr;
  (shard.last_ended != nullptr ? shard.last_ended->second.after : shard.first_ended) = &node;
  shard.last_ended = &node;
  if (node.second.record.expires_at) { shard.mortal.emplace(*node.second.record.expires_at, &node); }
}

void MemoryGuardStore::unlink(Shard& shard, Node& node) {
  Entry& entry = node.second;
  if (!entry.linked) { return; }
  entry.linked = false;
  (entry.before != nullptr ? entry.before->second.after : shard.first_ended) = entry.after;
  (entry.after != nullptr ? entry.after->second.before : shard.last_ended) = entry.before;
  if (entry.record.expires_at) { shard.mortal.erase({*entry.record.expires_at, &node}); }
}

void MemoryGuardStore::drop(Shard& shard, Node& node) {
  unlink(shard, node);
  shard.entries.erase(shard.entries.find(node.first));
}

std::size_t MemoryGuardStore::drop_expired(Shard& shard, Time now, std::size_t most) {
  std::size_t dropped = 0;
  for (; dropped < most && !shard.mortal.empty() && shard.mortal.begin()->first <= now; ++dropped) {
    drop(shard, *shard.mortal.begin()->second);
  }
  return dropped;
}

void MemoryGuardStore::tell(Shard& shard) {
  if (shard.waiters.load() > 0) { shard.changes.set_and_wake_all(shard.changes.load() + 1); }
}

std::vector<std::size_t> MemoryGuardStore::beat(std::span<const GuardHold> held) {
  std::vector<std::size_t> lost;
  const Time at = now();
  for (std::size_t index = 0; index < held.size(); ++index) {
    const KeyView key = view(held[index].key);
    Shard& shard = shard_of(key);
    const std::lock_guard lock(shard.mutex);
    const auto found = shard.entries.find(key);
    if (found == shard.entries.end() || found->second.record.fence != held[index].fence ||
        found->second.record.status != GuardStatus::in_progress) {
      lost.push_back(index);
    } else {
      found->second.record.heartbeat = at;
    }
  }
  return lost;
}

GuardVerdict MemoryGuardStore::finish(const GuardHold& hold, const GuardFinish& finish) {
  const KeyView key = view(hold.key);
  Shard& shard = shard_of(key);
  const Time at = now();
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(key);
  if (found == shard.entries.end() || found->second.record.fence != hold.fence) { return GuardVerdict::stale; }
  GuardRecord& record = found->second.record;
  const GuardStatus ends_as = finish.end == GuardEnd::failed ? GuardStatus::failed : GuardStatus::completed;
  if (record.status != GuardStatus::in_progress) {
    const bool again = finish.end != GuardEnd::unlocked && record.status == ends_as && !is_expired(record, at);
    return again ? GuardVerdict::accepted : GuardVerdict::stale;
  }
  if (finish.end == GuardEnd::unlocked) {
    drop(shard, *found);
  } else {
    record.status = ends_as;
    if (ends_as == GuardStatus::completed) { record.result = finish.result; }
    if (ends_as == GuardStatus::failed) { record.error = finish.error.value_or(GuardError{}); }
    record.completed_at = at;
    record.expires_at = expiry(at, finish.ttl);
    link(shard, *found);
  }
  tell(shard);
  return GuardVerdict::accepted;
}

std::optional<GuardRecord> MemoryGuardStore::read(const GuardKey& key) {
  const KeyView wanted = view(key);
  Shard& shard = shard_of(wanted);
  const Time at = now();
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(wanted);
  if (found == shard.entries.end() || is_expired(found->second.record, at)) { return std::nullopt; }
  GuardRecord record = found->second.record;
  record.key = key;
  record.owner = *found->second.owner;
  return record;
}

GuardPage MemoryGuardStore::list(const GuardQuery& query) {
  check_query(query);
  const Time at = now();
  using Named = std::pair<std::string, GuardRecord>;
  // Sorted by name and key. Neither contains a NUL, so the cursor is one text.
  std::vector<Named> found;
  for (std::size_t index = 0; index < shard_count_; ++index) {
    const Shard& shard = shards_[index];
    const std::lock_guard lock(shard.mutex);
    for (const auto& [hashed, entry] : shard.entries) {
      const GuardKey& key = hashed.key;
      if (!matches(query, key, entry.record.status) || is_expired(entry.record, at)) { continue; }
      std::string place = key.name + '\0' + key.key;
      if (!query.after.empty() && place <= query.after) { continue; }
      found.emplace_back(std::move(place), entry.record);
      found.back().second.key = key;
      found.back().second.owner = *entry.owner;
    }
  }
  const auto limit = static_cast<std::size_t>(query.limit);
  const std::size_t given = std::min(limit, found.size());
  const auto by_place = [](const Named& a, const Named& b) { return a.first < b.first; };
  std::partial_sort(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(given), found.end(), by_place);
  GuardPage page;
  if (found.size() > limit) { page.next = found[limit - 1].first; }
  for (std::size_t index = 0; index < given; ++index) { page.records.push_back(std::move(found[index].second)); }
  return page;
}

GuardForgotten MemoryGuardStore::forget(const GuardKey& key, bool even_in_progress) {
  const KeyView wanted = view(key);
  Shard& shard = shard_of(wanted);
  const Time at = now();
  const std::lock_guard lock(shard.mutex);
  const auto found = shard.entries.find(wanted);
  if (found == shard.entries.end()) { return GuardForgotten::absent; }
  const bool expired = is_expired(found->second.record, at);
  if (found->second.record.status == GuardStatus::in_progress && !even_in_progress) {
    return GuardForgotten::in_progress;
  }
  drop(shard, *found);
  tell(shard);
  return expired ? GuardForgotten::absent : GuardForgotten::forgotten;
}

void MemoryGuardStore::wait_changed(const GuardKey& key, std::int64_t fence, Duration at_most) {
  const KeyView wanted = view(key);
  Shard& shard = shard_of(wanted);
  shard.waiters.fetch_add(1);
  std::uint32_t seen = shard.changes.load();
  const auto until = std::chrono::steady_clock::now() + at_most;
  for (;;) {
    {
      const std::lock_guard lock(shard.mutex);
      const auto found = shard.entries.find(wanted);
      if (found == shard.entries.end() || found->second.record.fence != fence ||
          found->second.record.status != GuardStatus::in_progress) {
        break;
      }
    }
    if (!shard.changes.wait_while(seen, until - std::chrono::steady_clock::now())) { break; }
    seen = shard.changes.load();
  }
  shard.waiters.fetch_sub(1);
}

std::size_t MemoryGuardStore::sweep(std::size_t limit) {
  std::size_t dropped = 0;
  for (std::size_t index = 0; index < shard_count_ && dropped < limit; ++index) {
    Shard& shard = shards_[index];
    const std::lock_guard lock(shard.mutex);
    dropped += drop_expired(shard, now(), limit - dropped);
  }
  return dropped;
}

GuardStoreInfo MemoryGuardStore::info() const { return {.backend = "memory", .location = "memory:"}; }

std::size_t MemoryGuardStore::size() const {
  std::size_t sum = 0;
  for (std::size_t index = 0; index < shard_count_; ++index) {
    const std::lock_guard lock(shards_[index].mutex);
    sum += shards_[index].entries.size();
  }
  return sum;
}

}  // namespace hapax::guard

namespace hapax {

GuardStorePtr memory_guard_store(const MemoryGuardOptions& options) {
  return std::make_shared<guard::MemoryGuardStore>(options);
}

}  // namespace hapax
