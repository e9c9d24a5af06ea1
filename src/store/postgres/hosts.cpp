#include "store/postgres/hosts.hpp"

#include <algorithm>

namespace hapax::store::postgres {

namespace {

std::vector<std::string> split(const std::string& list) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= list.size();) {
    const std::size_t end = std::min(list.find(',', at), list.size());
    parts.push_back(list.substr(at, end - at));
    at = end + 1;
  }
  return parts;
}

bool is_of_a_host(const std::string& name) { return name == "host" || name == "hostaddr" || name == "port"; }

}  // namespace

// One port may apply to all hosts. Lists of unequal length are left to libpq, which reports what is wrong with them.
Hosts::Hosts(const ConnectionOptions& options) {
  std::size_t count = 1;
  for (const auto& [name, value] : options) {
    if (name == "host" || name == "hostaddr") { count = std::max(count, split(value).size()); }
  }
  const bool fits = std::all_of(options.begin(), options.end(), [&](const auto& option) {
    const std::size_t parts = is_of_a_host(option.first) ? split(option.second).size() : count;
    return parts == count || (option.first == "port" && parts == 1);
  });
  if (count == 1 || !fits) {
    hosts_.push_back(options);
    return;
  }
  for (std::size_t host = 0; host < count; ++host) {
    ConnectionOptions own;
    for (const auto& [name, value] : options) {
      const std::vector<std::string> parts = is_of_a_host(name) ? split(value) : std::vector{value};
      own.emplace_back(name, parts.size() == 1 ? parts.front() : parts[host]);
    }
    hosts_.push_back(std::move(own));
  }
}

void Hosts::hung(std::size_t host) {
  std::size_t expected = host;
  first_.compare_exchange_strong(expected, (host + 1) % hosts_.size(), std::memory_order_relaxed);
}

bool Hosts::is_current(std::uint32_t timeline) {
  std::uint32_t seen = timeline_.load();
  while (timeline > seen && !timeline_.compare_exchange_weak(seen, timeline)) {}
  return timeline >= seen;
}

}  // namespace hapax::store::postgres
