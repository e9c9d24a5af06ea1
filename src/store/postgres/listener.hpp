// PostgresListener: waits for NOTIFY on a connection of its own, or polls where that is not possible.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/store.hpp"

#include <chrono>
#include <memory>

namespace hapax::store::postgres {

// One thread waits; any thread may interrupt. A lost connection, or one that is silent for 8 s, is replaced. Until
// then, and behind a pooler without listen_url, wait() returns true every 200 ms, so that callers look themselves.
class PostgresListener final : public Listener {
 public:
  explicit PostgresListener(const Settings& settings);
  ~PostgresListener() override;

  bool wait(Duration at_most) override;
  void interrupt() override;

 private:
  using Clock = std::chrono::steady_clock;

  [[nodiscard]] bool can_listen() const { return settings_.listen != nullptr || settings_.prepares(); }
  void connect(Clock::time_point now);
  // Reads what has arrived. True if there was a notification, or one may have been missed.
  bool read();
  void probe(Clock::time_point now);
  bool take_interrupt();

  Settings settings_;
  int wake_ = -1;  // eventfd
  std::unique_ptr<Connection> connection_;
  Clock::time_point next_connect_{};
  Clock::time_point next_poll_{};
  Clock::time_point heard_{};
  bool probing_ = false;
};

}  // namespace hapax::store::postgres
