// Connections that repeat one request, each as soon as its last answer is complete. Single-threaded and with as little
// work per request as possible, because the clients share the machine with the server.
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
  // Sent unchanged. Each answer must have this status and contain `mark` `marks_each` times.
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
  std::vector<double> took_ms;  // for each answer

  [[nodiscard]] double rate() const { return seconds > 0 ? static_cast<double>(answers) / seconds : 0; }
};

// Throws std::runtime_error if an answer is unexpected or the server disconnects.
Measured measure(const Load& load);

}  // namespace http_bench
