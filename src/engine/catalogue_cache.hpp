// CatalogueCache: what the store says of a namespace's tasks (SPEC I3), at most a second old.
//
// Every door of a process asks it before each request. Any thread may call it. A store that is away is noticed by the
// request itself; until then what was read last counts. A request says by which version of the catalogue it was made, and
// the store refuses it when its own is newer: with_current_catalogue() then makes it again. So a declaration that any
// process has acknowledged counts for every later request, whatever this cache holds.
#pragma once

#include <hapax/task.hpp>

#include "base/limits.hpp"
#include "model/strategy.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hapax::engine {

class CatalogueCache {
 public:
  CatalogueCache(store::Store& store, std::string ns) : store_(store), ns_(std::move(ns)) {}

  // What the catalogue says of a task; `definition` is null for one that nobody catalogued.
  struct Entry {
    std::shared_ptr<const model::Catalogue> catalogue;
    const model::TaskDefinition* definition = nullptr;
    std::int32_t version = 0;  // of the catalogue
    [[nodiscard]] IdentityStrategy usual() const { return catalogue ? catalogue->usual : IdentityStrategy::strict; }
  };
  // Puts a descriptor that names a strategy into the catalogue if it is not there. Throws ConflictingDeclaration when it
  // is there otherwise, InvalidArgument when the descriptor or the stored entry cannot be. Inside a caller's transaction
  // nothing may be written beside it: a descriptor that is not in the catalogue then counts as it is, and gets there by
  // the next call outside.
  enum class Declare : std::uint8_t { yes, not_now };
  [[nodiscard]] Entry find(const TaskSpec& task, Declare declare = Declare::yes);
  // All of it, for those who start tasks by name alone. Throws as find() does.
  [[nodiscard]] std::shared_ptr<const model::Catalogue> all();
  // The next find() reads anew.
  void forget() { read_at_us_.store(never_read); }

 private:
  static constexpr std::int64_t never_read = INT64_MIN / 2;

  void refresh();
  [[nodiscard]] Entry declare(const TaskSpec& task, Declare declare);

  store::Store& store_;
  const std::string ns_;
  std::atomic<std::int64_t> read_at_us_{never_read};
  static constexpr std::int64_t not_empty = -1;
  std::atomic<std::int64_t> empty_version_{
      not_empty};     // the version of a catalogue that was read and has nothing in it
  std::mutex mutex_;  // guards what follows
  std::shared_ptr<const model::Catalogue> catalogue_;
  std::vector<model::TaskEntry> tasks_;                    // what catalogue_ was made of
  std::vector<model::Setting> settings_;                   // likewise
  std::map<std::string, model::TaskDefinition> declared_;  // descriptors that agree with the catalogue read last
};

// Calls `admit`, which makes requests by the cache and admits them, until none of them was made by an older catalogue than
// the store's. A refused admission has changed nothing. Throws StoreBusy when the catalogue changes all the time.
template <class Cache, class Admit>
auto with_current_catalogue(Cache& cache, const Admit& admit) {
  for (int round = 1;; ++round) {
    try {
      return admit();
    } catch (const store::CatalogueChanged& changed) {
      if (round >= limits::catalogue_rounds) { throw StoreBusy(changed.what()); }
      cache.forget();
    }
  }
}

// What a descriptor says that the catalogue is to know.
[[nodiscard]] model::TaskDefinition definition_of(const TaskOptions& options);

}  // namespace hapax::engine
