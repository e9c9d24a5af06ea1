// `hapax serve` as a child, on a free port of the loopback address.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>

namespace http_bench {

class ServerProcess {
 public:
  // The log, which has every request by default, goes to `log_file`. Throws std::runtime_error if the server does not
  // start.
  ServerProcess(const std::string& program, const std::string& store_url, const std::string& log_file);
  // Sends SIGTERM and waits for the end.
  ~ServerProcess();
  ServerProcess(const ServerProcess&) = delete;
  ServerProcess& operator=(const ServerProcess&) = delete;

  [[nodiscard]] std::uint16_t port() const { return port_; }
  [[nodiscard]] double cpu_seconds() const;

 private:
  pid_t pid_ = -1;
  std::uint16_t port_ = 0;
};

}  // namespace http_bench
