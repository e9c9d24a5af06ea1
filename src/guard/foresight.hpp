// Foresight: whether a guard's next call is likely to be a first one, judged by its last ones.
//
// Any thread. A guess and no more: guards whose names share a slot share it, and threads may overwrite each other's count.
// One call that meets a record ends the guess, as a first call that looks in vain loses less than a repeated one that tries
// to begin.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace hapax::guard {

class Foresight {
 public:
  [[nodiscard]] bool is_likely_new(const std::string& guard) const {
    return slot(guard).load(std::memory_order_relaxed) >= enough;
  }

  void began(const std::string& guard) {
    std::atomic<std::uint8_t>& firsts = slot(guard);
    const std::uint8_t before = firsts.load(std::memory_order_relaxed);
    if (before < enough) { firsts.store(before + 1, std::memory_order_relaxed); }
  }

  void met(const std::string& guard) {
    std::atomic<std::uint8_t>& firsts = slot(guard);
    if (firsts.load(std::memory_order_relaxed) != 0) { firsts.store(0, std::memory_order_relaxed); }
  }

 private:
  static constexpr std::uint8_t enough = 4;  // first calls in a row
  static constexpr std::size_t slots = 64;

  std::atomic<std::uint8_t>& slot(const std::string& guard) { return firsts_[std::hash<std::string>{}(guard) % slots]; }
  [[nodiscard]] const std::atomic<std::uint8_t>& slot(const std::string& guard) const {
    return firsts_[std::hash<std::string>{}(guard) % slots];
  }

  std::array<std::atomic<std::uint8_t>, slots> firsts_{};
};

}  // namespace hapax::guard
