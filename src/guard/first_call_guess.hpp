// FirstCallGuess: guesses from a guard's last calls whether its next call is likely a first call.
//
// Any thread. Only a guess: guards whose names share a slot share its count, and threads may overwrite each other's
// count. One call that finds a record resets the count, because a first call that reads in vain loses less than a
// repeated call that tries to begin.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <string>

namespace hapax::guard {

class FirstCallGuess {
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
