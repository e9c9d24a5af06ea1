// CatalogueCache: the store's catalogue of a namespace's tasks, at most one second old.
//
// Engine::catalogue() has the one cache of a namespace; a process makes every request with this cache, whatever
// interface the request came by. Any thread may call a CatalogueCache. While the store is away or a read takes longer,
// the catalogue that was read last counts: the store checks the request's version anyway. A request carries the version
// of its catalogue, and the store refuses the request when the store's version is newer; with_current_catalogue() then
// makes the request again. So a declaration that any process has acknowledged counts for every later request, whatever
// this cache holds.
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
#include <optional>
#include <string>
#include <vector>

namespace hapax::engine {

class CatalogueCache {
 public:
  CatalogueCache(store::Store& store, std::string namespace_name)
      : store_(store), namespace_name_(std::move(namespace_name)) {}

  // The catalogue's entry of a task; `definition` is null for a task that is not catalogued.
  struct Entry {
    std::shared_ptr<const model::Catalogue> catalogue;
    const model::TaskDefinition* definition = nullptr;
    std::int32_t version = 0;  // version of the catalogue
    [[nodiscard]] IdentityStrategy default_strategy() const {
      return catalogue ? catalogue->default_strategy : IdentityStrategy::strict;
    }
  };
  // find() declares a descriptor that sets identity options, if the catalogue has no entry for the task. It throws
  // ConflictingDeclaration when the entry differs, InvalidArgument when the descriptor or the stored entry is invalid.
  // not_now is for calls inside a caller's transaction, beside which nothing may be written: an undeclared descriptor
  // then counts as it is, and the next call outside a transaction declares it.
  enum class Declare : std::uint8_t { yes, not_now };
  [[nodiscard]] Entry find(const TaskSpec& task, Declare declare = Declare::yes);
  // As find() of a task's name, for a thread that must not block: makes no store call. Returns none when the catalogue
  // has to be read; the caller then calls find() on a thread that may block. While one thread reads, the others get the
  // catalogue that was read before.
  [[nodiscard]] std::optional<Entry> find_known(const std::string& task);
  // The whole catalogue, for callers that start tasks by name alone. Throws as find() does.
  [[nodiscard]] std::shared_ptr<const model::Catalogue> all();
  // Makes the next find() read the store.
  void forget() { read_at_us_.store(never_read); }

 private:
  static constexpr std::int64_t never_read = INT64_MIN / 2;

  void refresh();
  [[nodiscard]] bool is_fresh() const;
  void set(std::shared_ptr<const model::Catalogue> catalogue);
  [[nodiscard]] Entry declare(const TaskSpec& task, Declare declare);

  store::Store& store_;
  const std::string namespace_name_;
  std::atomic<std::int64_t> read_at_us_{never_read};  // when the last read began; never_read: after forget()
  std::atomic<bool> is_reading_{false};
  static constexpr std::int64_t not_empty = -1;
  std::atomic<std::int64_t> empty_version_{not_empty};  // version of the catalogue read last, if it is empty
  std::mutex mutex_;                                    // guards the members below; held while the store is read
  std::shared_ptr<const model::Catalogue> catalogue_;
  std::vector<model::TaskEntry> tasks_;                    // catalogue_ was made from these
  std::vector<model::Setting> settings_;                   // catalogue_ was made from these, too
  std::map<std::string, model::TaskDefinition> declared_;  // descriptors that agree with catalogue_
  std::mutex known_mutex_;                                 // guards known_; never held while the store is read
  std::shared_ptr<const model::Catalogue> known_;          // catalogue_
};

// Calls `admit`, which makes requests with the cache and admits them, and repeats both until no request has an older
// catalogue than the store's. A refused admission has changed nothing. Throws StoreBusy when the catalogue changes all
// the time.
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

// Returns the part of a descriptor that belongs into the catalogue.
[[nodiscard]] model::TaskDefinition definition_of(const TaskOptions& options);

}  // namespace hapax::engine
