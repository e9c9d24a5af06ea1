// SupervisorSlot: the reports of one process to its supervisor, in shared memory, so that no report is lost when the
// process dies.
#pragma once

#include <hapax/worker.hpp>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace hapax::app {

// One process at a time writes a slot and the supervisor reads it. The supervisor clears a slot before a process gets
// it.
class SupervisorSlot {
 public:
  void clear();

  void set_ready() { ready_.store(true, std::memory_order_release); }
  [[nodiscard]] bool ready() const { return ready_.load(std::memory_order_acquire); }

  void set_counts(const WorkerCounts& counts);
  [[nodiscard]] WorkerCounts counts() const;

  // Why the process ends. The first words count; they are cut to words_bytes.
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

// Adds the counts of outcomes, not of queued and running executions.
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

}  // namespace hapax::app
