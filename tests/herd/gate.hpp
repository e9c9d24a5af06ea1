// Memory that all processes of a scene share: a gate at which they wait to begin at one instant, and a counter.
#pragma once

#include <hapax/time.hpp>

#include <atomic>
#include <cstdint>
#include <string>

namespace hapax::herd {

class Gate {
 public:
  // In a file of the scene's folder, made by whoever comes first.
  explicit Gate(const std::string& folder);
  ~Gate();
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;

  // Returns when the gate is open; false when this process was told to end first.
  bool wait();
  [[nodiscard]] int waiting() const { return shared_->waiting.load(); }
  void open();
  // 0, 1, 2, … over all processes.
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
