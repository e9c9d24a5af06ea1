// Where and how the PostgreSQL store connects, as its URL says.
#pragma once

#include <hapax/time.hpp>

#include "store/postgres/hosts.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace hapax::store::postgres {

// How long a call may take when its server does not answer: seven tenths for the answer, the rest for reading back on
// another connection. COPY, sweeps, clean-up and migrations have limits of their own.
inline constexpr Duration answer_timeout_usual = std::chrono::seconds(10);
inline constexpr Duration answer_timeout_least = std::chrono::seconds(1);
inline constexpr Duration answer_timeout_most = std::chrono::hours(1);
inline constexpr Duration long_answer = std::chrono::seconds(60);
inline constexpr Duration migration_answer = std::chrono::hours(24);
// Time limit for one of several hosts to accept a connection.
inline constexpr Duration host_timeout_usual = std::chrono::seconds(3);

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
  bool awake = true;     // off: no thread polls before it sleeps
  bool prepared = true;  // off: unnamed statements, for poolers in transaction mode
  int pool = 16;         // connections at most, without listener and notifier
  std::string location;  // for messages: no password
  Duration connect_timeout = std::chrono::seconds(10);
  Duration answer_timeout = answer_timeout_usual;
  std::shared_ptr<Learned> learned = std::make_shared<Learned>();

  [[nodiscard]] bool prepares() const { return prepared && !learned->unprepared.load(std::memory_order_relaxed); }
  [[nodiscard]] Duration read_back_time() const { return answer_timeout * 3 / 10; }
  [[nodiscard]] Duration answer_time() const { return hangs() ? read_back_time() : answer_timeout - read_back_time(); }
  // How long to try for a connection to read back on: a server that is gone may be restarting, one that hangs does not.
  [[nodiscard]] Duration read_back_patience() const {
    return hangs() ? std::min(connect_timeout, read_back_time()) : connect_timeout;
  }

 private:
  [[nodiscard]] bool hangs() const { return learned->unanswering.load(std::memory_order_relaxed); }
};

// Throws InvalidArgument naming the parameter. Messages never carry the password.
[[nodiscard]] Settings parse_settings(const std::string& url, Duration connect_timeout);

}  // namespace hapax::store::postgres
