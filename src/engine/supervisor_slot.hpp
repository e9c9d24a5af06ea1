// What a supervisor and its processes tell each other: memory that they share, so that nothing of it is lost with a process,
// however it dies.
#pragma once

#include <hapax/worker.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hapax::engine {

// Written by one process at a time, read by the supervisor; cleared by the supervisor before a process gets it.
class SupervisorSlot {
 public:
  void clear();

  void set_ready() { ready_.store(true, std::memory_order_release); }
  [[nodiscard]] bool ready() const { return ready_.load(std::memory_order_acquire); }

  void set_counts(const WorkerCounts& counts);
  [[nodiscard]] WorkerCounts counts() const;

  // Why it ends. The first ones count; cut to what there is room for.
  void set_last_words(std::string_view words);
  [[nodiscard]] std::string last_words() const;

 private:
  static constexpr std::size_t words_bytes = 1000;
  std::atomic<bool> ready_{false};
  std::array<std::atomic<std::int64_t>, 12> counts_{};
  std::atomic<bool> words_taken_{false};
  std::atomic<std::size_t> words_length_{0};
  std::array<char, words_bytes> words_{};
};
static_assert(std::atomic<std::int64_t>::is_always_lock_free && std::atomic<std::size_t>::is_always_lock_free,
              "a lock would be one process's own");

// Adds what was done, not what is in hand.
void add_done(WorkerCounts& sum, const WorkerCounts& more);

// Slots in memory that forked processes share with their parent. Owned by the supervisor.
class SupervisorSlots {
 public:
  // Throws StoreUnavailable when there is no memory.
  explicit SupervisorSlots(std::size_t count);
  ~SupervisorSlots();
  SupervisorSlots(const SupervisorSlots&) = delete;
  SupervisorSlots& operator=(const SupervisorSlots&) = delete;

  [[nodiscard]] SupervisorSlot& operator[](std::size_t index) { return slots_[index]; }

 private:
  std::span<SupervisorSlot> slots_;
};

}  // namespace hapax::engine
