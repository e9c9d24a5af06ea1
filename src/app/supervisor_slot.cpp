#include "app/supervisor_slot.hpp"

#include <hapax/error.hpp>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>

namespace hapax::app {

void SupervisorSlot::clear() {
  ready_.store(false);
  for (std::atomic<std::int64_t>& count : counts_) { count.store(0); }
  words_taken_.store(false);
  words_length_.store(0);
}

void SupervisorSlot::set_counts(const WorkerCounts& counts) {
  const std::array<std::int64_t, 12> values = {counts.completed, counts.failed,   counts.retried,
                                               counts.snoozed,   counts.released, counts.cancelled,
                                               counts.timed_out, counts.stale,    counts.sessions_lost,
                                               counts.queued,    counts.running,  counts.store_away ? 1 : 0};
  for (std::size_t i = 0; i < values.size(); ++i) { counts_[i].store(values[i], std::memory_order_relaxed); }
}

WorkerCounts SupervisorSlot::counts() const {
  const auto at = [this](std::size_t i) { return counts_[i].load(std::memory_order_relaxed); };
  return {.completed = at(0),
          .failed = at(1),
          .retried = at(2),
          .snoozed = at(3),
          .released = at(4),
          .cancelled = at(5),
          .timed_out = at(6),
          .stale = at(7),
          .sessions_lost = at(8),
          .queued = static_cast<int>(at(9)),
          .running = static_cast<int>(at(10)),
          .store_away = at(11) != 0};
}

void SupervisorSlot::set_last_words(std::string_view words) {
  if (words_taken_.exchange(true)) { return; }
  const std::size_t length = std::min(words.size(), words_.size());
  std::copy_n(words.begin(), length, words_.begin());
  words_length_.store(length, std::memory_order_release);
}

std::string SupervisorSlot::last_words() const {
  // A corrupted process may have written any value here.
  const std::size_t length = std::min(words_length_.load(std::memory_order_acquire), words_.size());
  return {words_.data(), length};
}

void add_done(WorkerCounts& sum, const WorkerCounts& more) {
  sum.completed += more.completed;
  sum.failed += more.failed;
  sum.retried += more.retried;
  sum.snoozed += more.snoozed;
  sum.released += more.released;
  sum.cancelled += more.cancelled;
  sum.timed_out += more.timed_out;
  sum.stale += more.stale;
  sum.sessions_lost += more.sessions_lost;
}

SupervisorSlots::SupervisorSlots(std::size_t count) {
  void* memory =
      mmap(nullptr, count * sizeof(SupervisorSlot), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw StoreUnavailable(std::string("no memory for the supervisor: ") + std::strerror(errno));
  }
  auto* first = static_cast<SupervisorSlot*>(memory);
  for (std::size_t i = 0; i < count; ++i) { new (first + i) SupervisorSlot; }
  slots_ = {first, count};
}

SupervisorSlots::~SupervisorSlots() { munmap(slots_.data(), slots_.size_bytes()); }

}  // namespace hapax::app
