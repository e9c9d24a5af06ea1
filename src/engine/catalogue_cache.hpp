// CatalogueCache: what the store says of a namespace's tasks (SPEC I3), at most a second old.
//
// Every door of a process asks it before each request. Any thread may call it. A store that is away is noticed by the
// request itself; until then what was read last counts.
#pragma once

#include <hapax/task.hpp>

#include "model/strategy.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>

namespace hapax::engine {

class CatalogueCache {
 public:
  CatalogueCache(store::Store& store, std::string ns) : store_(store), ns_(std::move(ns)) {}

  // What the catalogue says of a task; `definition` is null for one that nobody catalogued.
  struct Entry {
    std::shared_ptr<const model::Catalogue> catalogue;
    const model::TaskDefinition* definition = nullptr;
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
  std::atomic<bool> empty_{false};  // read, and nothing is in it
  std::mutex mutex_;                // guards what follows
  std::shared_ptr<const model::Catalogue> catalogue_;
  model::StoredCatalogue stored_;
  std::map<std::string, model::TaskDefinition> declared_;  // descriptors that agree with the catalogue read last
};

// What a descriptor says that the catalogue is to know.
[[nodiscard]] model::TaskDefinition definition_of(const TaskOptions& options);

}  // namespace hapax::engine
