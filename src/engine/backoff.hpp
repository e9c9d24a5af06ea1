// Backoff: the wait after a store call failed: 50 ms, doubling to 5 s.
#pragma once

#include <hapax/time.hpp>

#include <algorithm>

namespace hapax::engine {

class Backoff {
 public:
  [[nodiscard]] Duration next() {
    const Duration delay =
        std::min<Duration>(std::chrono::milliseconds(50) * (1 << std::min(failures_, 7)), std::chrono::seconds(5));
    ++failures_;
    return delay;
  }
  void reset() { failures_ = 0; }
  [[nodiscard]] bool active() const { return failures_ > 0; }

 private:
  int failures_ = 0;
};

}  // namespace hapax::engine
