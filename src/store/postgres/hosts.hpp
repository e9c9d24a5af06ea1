// Hosts: the servers that a URL names, and which of them is tried first. Any thread may use it.
//
// In non-blocking mode libpq tries all hosts of a URL under one deadline, so that a host that hangs keeps it from the
// rest. Here each host is an attempt of its own with its own time limit. The host that answered last is tried first:
// connections do not return to an abandoned host unless the other one fails too.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

using ConnectionOptions = std::vector<std::pair<std::string, std::string>>;

class Hosts {
 public:
  explicit Hosts(const ConnectionOptions& options);

  [[nodiscard]] std::size_t size() const { return hosts_.size(); }
  // The options to connect to one host.
  [[nodiscard]] const ConnectionOptions& at(std::size_t host) const { return hosts_[host]; }
  [[nodiscard]] std::size_t first() const { return first_.load(std::memory_order_relaxed); }
  void answered(std::size_t host) { first_.store(host, std::memory_order_relaxed); }
  // Reports that the host left a call without an answer. The next host is then tried first.
  void hung(std::size_t host);
  // False for a server on an older timeline than one seen before: a primary over which another server was promoted.
  [[nodiscard]] bool is_current(std::uint32_t timeline);

 private:
  std::vector<ConnectionOptions> hosts_;
  std::atomic<std::size_t> first_ = 0;
  std::atomic<std::uint32_t> timeline_ = 0;
};

}  // namespace hapax::store::postgres
