// Where and how the PostgreSQL store connects, as its URL says.
#pragma once

#include <hapax/time.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

using ConnectionOptions = std::vector<std::pair<std::string, std::string>>;

// The servers that a URL names, and which of them is tried first. Any thread may use it.
//
// In non-blocking mode libpq tries all hosts of a URL under one deadline, so that a host that hangs keeps it from the
// rest. Here each host is an attempt of its own with its own time limit. The host that answered last is tried first:
// connections do not return to an abandoned host unless the other one fails too.
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
  // Whether the server's timeline is not older than one seen before. An old primary, over which another server was
  // promoted, is not current.
  [[nodiscard]] bool is_current(std::uint32_t timeline);

 private:
  std::vector<ConnectionOptions> hosts_;
  std::atomic<std::size_t> first_ = 0;
  std::atomic<std::uint32_t> timeline_ = 0;
};

// How long a call may take when its server does not answer: seven tenths for the answer, the rest for reading back on
// another connection. COPY, sweeps, clean-up and migrations have limits of their own.
inline constexpr Duration answer_timeout_default = std::chrono::seconds(10);
inline constexpr Duration answer_timeout_min = std::chrono::seconds(1);
inline constexpr Duration answer_timeout_max = std::chrono::hours(1);
inline constexpr Duration long_answer = std::chrono::seconds(60);
inline constexpr Duration migration_answer = std::chrono::hours(24);
// Time limit for one of several hosts to accept a connection.
inline constexpr Duration host_timeout_default = std::chrono::seconds(3);

// Facts that a store's connections have learned about its server. Any thread may use it.
struct Learned {
  std::atomic<bool> unprepared = false;   // a pooler mixes up prepared statements
  std::atomic<bool> unanswering = false;  // the last call got no answer in time: the next ones wait less
};

struct Settings {
  std::shared_ptr<Hosts> hosts;   // with libpq's keywords, the password included
  std::shared_ptr<Hosts> listen;  // from listen_url; may be null
  std::string schema = "hapax";
  std::string quoted_schema = "\"hapax\"";
  bool awake = true;     // off: no thread spins before it sleeps (spin_wait.hpp)
  bool prepared = true;  // off: unnamed statements, for poolers in transaction mode
  int pool = 16;         // connections at most, without listener and notifier
  std::string location;  // for messages: no password
  Duration connect_timeout = std::chrono::seconds(10);
  Duration answer_timeout = answer_timeout_default;
  std::shared_ptr<Learned> learned = std::make_shared<Learned>();

  [[nodiscard]] bool prepares() const { return prepared && !learned->unprepared.load(std::memory_order_relaxed); }
  [[nodiscard]] Duration read_back_time() const { return answer_timeout * 3 / 10; }
  [[nodiscard]] Duration answer_time() const { return hangs() ? read_back_time() : answer_timeout - read_back_time(); }
  // How long to try to get a connection for reading back. A server that is gone may be restarting; a server that hangs
  // is not.
  [[nodiscard]] Duration read_back_patience() const {
    return hangs() ? std::min(connect_timeout, read_back_time()) : connect_timeout;
  }

 private:
  [[nodiscard]] bool hangs() const { return learned->unanswering.load(std::memory_order_relaxed); }
};

// Throws InvalidArgument naming the parameter. Messages never carry the password.
[[nodiscard]] Settings parse_settings(const std::string& url, Duration connect_timeout);

}  // namespace hapax::store::postgres
