// RedisPool: idle connections, and the scripts run on them.
//
// Any thread. When no connection is idle, the pool opens another one, up to the place's limit; beyond that a caller
// waits, at most for the timeout. When a connection breaks, all idle ones are dropped with it, as a restarted server
// has closed them too, and the call is repeated on a new connection while the timeout lasts: running any script here
// twice has the same effect as running it once. A forked child leaves the parent's connections behind.
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

// A Lua script; the server knows it by the SHA-1 of its text.
struct RedisScript {
  // `allowed`: the script also writes when the server has reached its maxmemory (Redis 7). Outcomes use it, as a call
  // that ran and was not recorded would run again.
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

  // One reply per call, in order. Throws StoreUnavailable; StoreBusy when all connections are in use; CommitUnknown
  // when the server was asked and did not answer.
  [[nodiscard]] std::vector<RedisReply> run(const std::vector<RedisCall>& calls);
  // Runs a plain command that only reads.
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
