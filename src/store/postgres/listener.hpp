// PostgresListener: waits for NOTIFY on a connection of its own, or polls where that can't be.
#pragma once

#include "store/postgres/connection.hpp"
#include "store/store.hpp"

#include <chrono>
#include <memory>

namespace hapax::store::postgres {

// One thread waits, any may interrupt. A connection that is lost, or silent for ten seconds, is made anew; until then,
// and behind a pooler without listen_url, it answers "maybe" several times a second, so that waiters look themselves.
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
  // Reads what has come; true if there was a notification.
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
