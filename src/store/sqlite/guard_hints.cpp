#include "store/sqlite/guard_hints.hpp"

#include <algorithm>
#include <cstring>

namespace hapax::store::sqlite {

namespace {

constexpr std::size_t execution_at = 4;
constexpr std::size_t fingerprint_at = 6;
constexpr std::size_t has_fingerprint_at = 10;

}  // namespace

std::size_t GuardHints::place_of(const base::Digest& identity) {
  std::uint16_t begin = 0;
  std::memcpy(&begin, identity.data(), sizeof begin);
  return begin % places;
}

std::optional<GuardHint> GuardHints::find(const base::Digest& identity) const {
  const Table* const table = table_.load(std::memory_order_acquire);
  if (table == nullptr) { return std::nullopt; }
  const Place& place = (*table)[place_of(identity)];
  const std::uint64_t before = place.version.load(std::memory_order_acquire);
  if (before == 0 || before % 2 != 0) { return std::nullopt; }
  Words held;
  // Acquire loads keep the second read of the version after them.
  std::ranges::transform(place.held, held.begin(),
                         [](const auto& word) { return word.load(std::memory_order_acquire); });
  if (place.version.load(std::memory_order_relaxed) != before ||
      std::memcmp(held.data(), identity.data(), identity.size()) != 0) {
    return std::nullopt;
  }
  GuardHint hint;
  std::memcpy(hint.execution.bytes.data(), &held[execution_at], hint.execution.bytes.size());
  if (held[has_fingerprint_at] != 0) {
    std::memcpy(hint.fingerprint.emplace().data(), &held[fingerprint_at], sizeof(base::Digest));
  }
  return hint;
}

void GuardHints::put(const base::Digest& identity, const GuardHint& hint) {
  std::call_once(made_, [this] {
    memory_ = std::make_unique<Table>();
    table_.store(memory_.get(), std::memory_order_release);
  });
  Words held{};
  std::memcpy(held.data(), identity.data(), identity.size());
  std::memcpy(&held[execution_at], hint.execution.bytes.data(), hint.execution.bytes.size());
  if (hint.fingerprint) { std::memcpy(&held[fingerprint_at], hint.fingerprint->data(), sizeof(base::Digest)); }
  held[has_fingerprint_at] = hint.fingerprint ? 1 : 0;
  Place& place = (*memory_)[place_of(identity)];
  std::uint64_t version = place.version.load(std::memory_order_relaxed);
  // Another thread is writing this slot now; its hint is as good.
  if (version % 2 != 0 || !place.version.compare_exchange_strong(version, version + 1, std::memory_order_acq_rel)) {
    return;
  }
  // Release stores keep these words after the odd version.
  for (std::size_t i = 0; i < words; ++i) { place.held[i].store(held[i], std::memory_order_release); }
  place.version.store(version + 2, std::memory_order_release);
}

}  // namespace hapax::store::sqlite
