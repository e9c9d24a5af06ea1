// RedisPool: connections that are not in use, and scripts run on them.
//
// Any thread. Opens another connection when none is free, up to the place's number of them; beyond that a caller waits,
// at most for the timeout. A connection that broke is dropped with all idle ones, as a server that was restarted has
// closed them too, and what was asked is asked again on a fresh one while the timeout lasts: every script here means the
// same when it is run twice. In a forked child the parent's connections are left behind.
#pragma once

#include "guard/fork.hpp"
#include "guard/redis_connection.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::guard {

// A Lua script by its text; the server knows it by its SHA-1.
struct RedisScript {
  // Outcomes are written also when the server has reached its maxmemory (Redis 7): a call that ran and was not recorded
  // would be run again.
  enum class Full : std::uint8_t { refused, allowed };
  explicit RedisScript(std::string_view lua, Full when_full = Full::refused);
  std::string text;
  std::string sha;
  Full full = Full::refused;
};

struct RedisCall {
  const RedisScript* script = nullptr;
  std::vector<std::string> keys;
  std::vector<std::string> arguments;
};

class RedisPool final : public ForkAware {
 public:
  explicit RedisPool(RedisPlace place);
  ~RedisPool();

  // One reply per call, in order. Throws StoreUnavailable, StoreBusy when all connections are in use, and CommitUnknown
  // when the server was asked and did not answer.
  [[nodiscard]] std::vector<RedisReply> run(const std::vector<RedisCall>& calls);
  // A plain command that only reads.
  [[nodiscard]] RedisReply ask(const RedisCommand& command);
  [[nodiscard]] const RedisPlace& place() const { return place_; }

  void before_fork() override { mutex_.lock(); }
  void after_fork(bool in_child) override;

 private:
  using Clock = std::chrono::steady_clock;
  using Connection = std::unique_ptr<RedisConnection>;

  enum class Asks : std::uint8_t { to_read, to_write };
  template <class Work>
  auto attempt(Asks asks, const Work& work);
  [[nodiscard]] Connection take(Clock::time_point until);
  void give_back(Connection connection);
  void drop(Connection connection);

  const RedisPlace place_;
  std::unique_ptr<base::TlsContext> tls_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<Connection> idle_;
  std::size_t open_ = 0;  // in use or idle
};

}  // namespace hapax::guard
