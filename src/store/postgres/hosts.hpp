// Hosts: the servers that a URL names, and which of them is asked first.
//
// libpq tries the hosts of a URL under one deadline when it does not block, so that one that hangs keeps it from the rest.
// Here each host is an attempt of its own with a time of its own. The host that answered last is asked first: connections
// do not go back to a host that was left, unless the other fails too. Any thread.
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
  // The options to connect to one of them with.
  [[nodiscard]] const ConnectionOptions& at(std::size_t host) const { return hosts_[host]; }
  [[nodiscard]] std::size_t first() const { return first_.load(std::memory_order_relaxed); }
  void answered(std::size_t host) { first_.store(host, std::memory_order_relaxed); }
  // The host left a call without an answer: the next one is asked first.
  void hung(std::size_t host);
  // False for a server on an older timeline than one that was seen: a primary that another was promoted over.
  [[nodiscard]] bool is_current(std::uint32_t timeline);

 private:
  std::vector<ConnectionOptions> hosts_;
  std::atomic<std::size_t> first_ = 0;
  std::atomic<std::uint32_t> timeline_ = 0;
};

}  // namespace hapax::store::postgres
