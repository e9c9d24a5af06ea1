// Memory that all processes of a scene share: a gate that lets them begin at one instant, and a counter.
#pragma once

#include <hapax/time.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace hapax::herd {

class Gate {
 public:
  // Maps a file in the scene's folder; the first process creates it.
  explicit Gate(const std::string& folder);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Returns true when the gate is open, false if the process was told to end before.
  bool wait();
  [[nodiscard]] int waiting() const { return shared_->waiting.load(); }
  void open();
  // Returns 0, 1, 2, … across all processes.
  std::int64_t take() { return shared_->next.fetch_add(1); }
  [[nodiscard]] std::int64_t taken() const { return shared_->next.load(); }

 private:
  struct Shared {
    std::atomic<int> waiting;
    std::atomic<int> open;
    std::atomic<std::int64_t> next;
  };
  static_assert(sizeof(std::atomic<int>) == 4 && std::atomic<std::int64_t>::is_always_lock_free);

  Shared* shared_ = nullptr;
};

}  // namespace hapax::herd
