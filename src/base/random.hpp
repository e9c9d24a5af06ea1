// Random: the source of random numbers. The operating system in production, a seed in tests and in the simulator.
#pragma once

#include <cstdint>

namespace hapax::base {

class Random {
 public:
  virtual ~Random() = default;
  [[nodiscard]] virtual std::uint64_t next() = 0;
  // Uniform in [0, 1).
  [[nodiscard]] double fraction() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
};

// getrandom(2) with a small per-thread buffer; a forked child refills its buffer. Any thread.
class SystemRandom final : public Random {
 public:
  [[nodiscard]] std::uint64_t next() override;
};

// splitmix64 from a seed. One thread.
class SeededRandom final : public Random {
 public:
  explicit SeededRandom(std::uint64_t seed) : state_(seed) {}
  [[nodiscard]] std::uint64_t next() override;

 private:
  std::uint64_t state_;
};

}  // namespace hapax::base
