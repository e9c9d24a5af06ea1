// Seen: ids that this server has told a namespace of, so that one whose record has gone meanwhile is told as expired
// (410) and not as never there (404). A memory of this process and bounded: what it has forgotten is 404.
#pragma once

#include <hapax/uuid.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <vector>

namespace hapax::server {

// Any thread. One piece of memory that is written over: an id has a set of few places, and the newest there stay. Every
// enqueue comes by here, so it takes one place in memory and no allocation.
class Seen {
 public:
  void add(const std::string& ns, const Uuid& id) {
    const Entry entry{.id = id, .space = space_of(ns)};
    const std::lock_guard lock(mutex_);
    if (sets_.empty()) { sets_.resize(set_count); }
    Set& set = sets_[set_of(id)];
    for (const Entry& known : set.entries) {
      if (known.id == id) { return; }
    }
    set.entries[set.next] = entry;
    set.next = (set.next + 1) % set.entries.size();
  }

  [[nodiscard]] bool has(const std::string& ns, const Uuid& id) {
    const Entry wanted{.id = id, .space = space_of(ns)};
    const std::lock_guard lock(mutex_);
    if (sets_.empty()) { return false; }
    for (const Entry& known : sets_[set_of(id)].entries) {
      if (known.id == wanted.id && known.space == wanted.space) { return true; }
    }
    return false;
  }

 private:
  static constexpr std::size_t set_count = 16'384;
  struct Entry {
    Uuid id;                // zeros: none
    std::size_t space = 0;  // the namespace's hash
  };
  struct Set {
    std::array<Entry, 5> entries;
    std::size_t next = 0;  // to be written over
  };

  static std::size_t space_of(const std::string& ns) { return std::hash<std::string>{}(ns); }
  static std::size_t set_of(const Uuid& id) {
    // The upper bits of a product depend on all of an id; some of its own bits are the same in every one.
    return static_cast<std::size_t>((std::uint64_t{std::hash<Uuid>{}(id)} * 0x9E3779B97F4A7C15ULL) >> 32) % set_count;
  }

  std::mutex mutex_;
  std::vector<Set> sets_;  // empty until the first
};

}  // namespace hapax::server
