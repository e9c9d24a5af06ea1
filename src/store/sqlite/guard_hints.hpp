// GuardHints: under which execution identities of completed guards were last found, so that a repeated call looks into one
// table instead of two.
//
// A hint is no answer: whoever follows it finds the record in the store as it is now, and that no later run has taken over
// its identity (history.superseded), or asks without it. Any thread; nobody waits. Bounded: identities that share a place
// displace each other.
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
  std::optional<base::Digest> fingerprint;  // of the identity; it stays while the execution holds it
};

class GuardHints {
 public:
  [[nodiscard]] std::optional<GuardHint> find(const base::Digest& identity) const;
  void put(const base::Digest& identity, const GuardHint& hint);

 private:
  static constexpr std::size_t places = 1024;
  // Identity, execution, fingerprint and whether there is one.
  static constexpr std::size_t words = 4 + 2 + 4 + 1;
  using Words = std::array<std::uint64_t, words>;

  struct Place {
    std::atomic<std::uint64_t> version{0};  // 0: never written; odd while it is
    std::array<std::atomic<std::uint64_t>, words> held{};
  };
  using Table = std::array<Place, places>;

  [[nodiscard]] static std::size_t place_of(const base::Digest& identity);

  std::once_flag made_;
  std::unique_ptr<Table> memory_;
  std::atomic<Table*> table_{nullptr};  // none until the first is put
};

}  // namespace hapax::store::sqlite
