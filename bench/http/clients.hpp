// Connections that ask one thing over and over, each as soon as its last answer is whole. One thread, as little work a
// request as possible: the clients share the machine with the server they measure.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace http_bench {

using Clock = std::chrono::steady_clock;

struct Load {
  std::uint16_t port = 0;
  int connections = 64;
  // Sent as it is; an answer must have this status and hold `marks_each` times `mark`.
  std::string request;
  int status = 201;
  std::string mark;
  std::int64_t marks_each = 1;
  std::chrono::duration<double> warm_up{0.5};
  std::chrono::duration<double> measured{5};
};

struct Measured {
  std::int64_t answers = 0;
  double seconds = 0;
  std::vector<double> took_ms;  // of each answer

  [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(answers) / seconds : 0; }
};

// Throws std::runtime_error when an answer is another than expected, or the server goes away.
Measured measure(const Load& load);

}  // namespace http_bench
