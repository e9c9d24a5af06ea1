// GuardHints: a cache from the identity of a completed guard to the execution that held it, so that a duplicate call
// reads one table instead of two.
//
// A hint is no answer: the caller reads the execution's record and checks that it is still valid and that no later run
// has taken over its identity (history.superseded); otherwise the caller looks the identity up without the hint. Any
// thread may call; no call waits. Bounded: identities that share a slot displace each other.
#pragma once

#include <hapax/uuid.hpp>

#include "base/sha256.hpp"

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>

namespace hapax::store::sqlite {

struct GuardHint {
  Uuid execution;
  std::optional<base::Digest> fingerprint;  // of the identity; constant while the execution holds it
};

class GuardHints {
 public:
  [[nodiscard]] std::optional<GuardHint> find(const base::Digest& identity) const;
  void put(const base::Digest& identity, const GuardHint& hint);

 private:
  static constexpr std::size_t places = 1024;
  // The identity, the execution, the fingerprint, and whether there is a fingerprint.
  static constexpr std::size_t words = 4 + 2 + 4 + 1;
  using Words = std::array<std::uint64_t, words>;

  struct Place {
    std::atomic<std::uint64_t> version{0};  // 0: never written; odd: being written
    std::array<std::atomic<std::uint64_t>, words> held{};
  };
  using Table = std::array<Place, places>;

  [[nodiscard]] static std::size_t place_of(const base::Digest& identity);

  std::once_flag made_;
  std::unique_ptr<Table> memory_;
  std::atomic<Table*> table_{nullptr};  // null until the first put()
};

}  // namespace hapax::store::sqlite
