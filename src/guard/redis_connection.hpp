// One connection to a Redis server, and its replies as values.
#pragma once

#include <hapax/error.hpp>

#include "base/stream.hpp"
#include "guard/redis_url.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

struct redisReader;

namespace hapax::guard {

// A reply: nothing, a number, a text, a list of replies, or an error.
struct RedisReply {
  enum class Kind : std::uint8_t { nothing, number, text, list, error };
  Kind kind = Kind::nothing;
  std::int64_t number = 0;
  std::string text;
  std::vector<RedisReply> list;

  // By position in a list; beyond its end, a reply of kind nothing.
  [[nodiscard]] const RedisReply& at(std::size_t index) const;
  [[nodiscard]] std::optional<std::string> optional_text() const;
  [[nodiscard]] std::int64_t integer() const;  // a number, or a text of digits; 0 otherwise
};

// The connection broke or closed before a reply came. The server may have executed the command.
class RedisBroken : public Error {
 public:
  RedisBroken(const std::string& message, bool timed_out) : Error("StoreUnavailable", message), timed_out_(timed_out) {}
  [[nodiscard]] bool timed_out() const { return timed_out_; }

 private:
  bool timed_out_;
};

// The server refused the command; code() is "OOM", "NOAUTH", "LOADING" and so on.
class RedisRefused : public Error {
 public:
  RedisRefused(std::string code, const std::string& message)
      : Error("StoreUnavailable", message), code_(std::move(code)) {}
  [[nodiscard]] const std::string& code() const { return code_; }

 private:
  std::string code_;
};

using RedisCommand = std::vector<std::string_view>;

// Used by one thread at a time. Not usable after RedisBroken.
class RedisConnection {
 public:
  // Connects, authenticates and selects the database. `tls` is required if the place asks for TLS. Throws RedisBroken
  // or RedisRefused.
  explicit RedisConnection(const RedisPlace& place, const base::TlsContext* tls = nullptr);
  ~RedisConnection();
  RedisConnection(const RedisConnection&) = delete;
  RedisConnection& operator=(const RedisConnection&) = delete;

  // Throws RedisBroken; a refusal is a reply of kind error.
  [[nodiscard]] std::vector<RedisReply> pipeline(const std::vector<RedisCommand>& commands);
  // One command; throws RedisRefused too.
  RedisReply call(const RedisCommand& command);

 private:
  struct Free {
    void operator()(redisReader* reader) const;
  };
  [[nodiscard]] RedisReply next_reply();

  std::string shown_;
  Duration timeout_;
  std::unique_ptr<base::Stream> stream_;
  std::unique_ptr<redisReader, Free> reader_;
  std::string out_;  // reused, to keep its capacity
};

// Throws RedisRefused if the reply is an error.
void check_reply(const RedisReply& reply, const std::string& shown);

}  // namespace hapax::guard
