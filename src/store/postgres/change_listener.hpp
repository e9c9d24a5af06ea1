// PostgresListener: waits for NOTIFY on a connection of its own, or polls where that is not possible.
#pragma once

#include "model/execution.hpp"
#include "store/postgres/connection.hpp"
#include "store/postgres/settings.hpp"
#include "store/store.hpp"

#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>
#include <span>
#include <string>
#include <thread>

namespace hapax::store::postgres {

// One thread waits; any thread may interrupt. A lost connection, or one that is silent for 8 s, is replaced. Without a
// connection, and behind a pooler without listen_url, wait() returns true every 200 ms, so that callers poll.
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
  // Reads the notifications that have arrived. True if there was one, or if one may have been missed.
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

// The NOTIFY channel of a schema, unquoted.
[[nodiscard]] std::string channel_name(const Settings& settings);

// Notifier: notifies other processes that queues may have work, from a thread and connection of its own.
//
// NOTIFY takes a cluster-wide lock at commit, so the store's other transactions do not send it. One NOTIFY names all
// queues announced meanwhile. The first is sent at once, then at most one every 5 ms. A notification that cannot be
// sent is dropped, as listeners poll anyway. The thread starts with the first announcement. Any thread may announce.
class Notifier {
 public:
  explicit Notifier(const Settings& settings);
  ~Notifier();
  Notifier(const Notifier&) = delete;
  Notifier& operator=(const Notifier&) = delete;

  void announce(std::span<const model::QueueRef> queues);

 private:
  void work();

  const Settings& settings_;
  const int pid_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::set<model::QueueRef> waiting_;
  bool stopping_ = false;
  std::thread thread_;
};

}  // namespace hapax::store::postgres
