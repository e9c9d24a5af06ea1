#include "guard/redis_pool.hpp"

#include <openssl/evp.h>

#include <algorithm>
#include <array>
#include <memory>
#include <thread>

namespace hapax::guard {

namespace {

constexpr auto first_rest = std::chrono::milliseconds(5);
constexpr auto longest_rest = std::chrono::milliseconds(100);

std::string sha1_hex(std::string_view text) {
  std::array<unsigned char, EVP_MAX_MD_SIZE> digest{};
  unsigned int size = 0;
  if (EVP_Digest(text.data(), text.size(), digest.data(), &size, EVP_sha1(), nullptr) != 1) {
    throw StoreUnavailable("OpenSSL does not offer SHA-1, by which Redis names scripts");
  }
  static constexpr char digits[] = "0123456789abcdef";
  std::string hex;
  for (unsigned int i = 0; i < size; ++i) {
    hex += digits[digest[i] >> 4];
    hex += digits[digest[i] & 15];
  }
  return hex;
}

// A forked child must not inherit an OpenSSL lock that another thread holds.
class TlsForkGate final : public ForkAware {
 public:
  TlsForkGate() { enlist(); }
  ~TlsForkGate() { retire(); }
  void before_fork() override { base::tls_calls().lock(); }
  void after_fork(bool /*in_child*/) override { base::tls_calls().unlock(); }
};

// A command whose parts are views; key_count is a member because the command has a view of it.
struct Words {
  RedisCommand command;
  std::string key_count;
};

// EVALSHA with the script's SHA-1, or EVAL with its text.
Words words_of(const RedisCall& call, bool by_name, const std::string& text) {
  Words words;
  words.key_count = std::to_string(call.keys.size());
  words.command = {by_name ? "EVALSHA" : "EVAL", by_name ? std::string_view(call.script->sha) : std::string_view(text)};
  return words;
}

void add_arguments(Words& words, const RedisCall& call) {
  words.command.push_back(words.key_count);
  for (const std::string& key : call.keys) { words.command.push_back(key); }
  for (const std::string& argument : call.arguments) { words.command.push_back(argument); }
}

bool starts_with(const RedisReply& reply, std::string_view code) {
  return reply.kind == RedisReply::Kind::error && reply.text.starts_with(code);
}

// After a failover the server of this connection has become a replica: it takes no writes for as long as the connection
// lasts; a new connection reaches the new primary if the address leads there.
bool is_replica(const RedisRefused& refused) { return refused.code() == "READONLY" || refused.code() == "MASTERDOWN"; }

RedisReply run_text(RedisConnection& connection, const RedisCall& call, const std::string& text) {
  Words words = words_of(call, false, text);
  add_arguments(words, call);
  return std::move(connection.pipeline({words.command}).front());
}

}  // namespace

RedisScript::RedisScript(std::string_view lua, Full when_full) : text(lua), sha(sha1_hex(lua)), full(when_full) {}

RedisPool::RedisPool(RedisPlace place) : place_(std::move(place)) {
  if (place_.tls) {
    static TlsForkGate gate;
    tls_ = std::make_unique<base::TlsContext>(place_.tls_files);
  }
  enlist();
}

RedisPool::~RedisPool() { retire(); }

void RedisPool::after_fork(bool in_child) {
  if (in_child) {
    // Closing these descriptors leaves the parent's connections as they are. Connections in use by the parent's other
    // threads have no owner here.
    idle_.clear();
    open_ = 0;
    // The child has none of the threads that waited, but the condition variable still counts them: it is constructed
    // again, without destroying the old one.
    std::construct_at(&freed_);
  }
  mutex_.unlock();
}

RedisPool::Connection RedisPool::take(Clock::time_point until) {
  {
    std::unique_lock lock(mutex_);
    const bool free = freed_.wait_until(lock, until, [this] { return !idle_.empty() || open_ < place_.connections; });
    if (!free) {
      throw StoreBusy(place_.shown + ": all " + std::to_string(place_.connections) + " connections are in use");
    }
    if (!idle_.empty()) {
      Connection connection = std::move(idle_.back());
      idle_.pop_back();
      return connection;
    }
    ++open_;
  }
  try {
    return std::make_unique<RedisConnection>(place_, tls_.get());
  } catch (...) {
    drop(nullptr);
    throw;
  }
}

void RedisPool::give_back(Connection connection) {
  {
    const std::lock_guard lock(mutex_);
    idle_.push_back(std::move(connection));
  }
  freed_.notify_one();
}

void RedisPool::drop(Connection connection) {
  std::vector<Connection> dead;
  {
    const std::lock_guard lock(mutex_);
    open_ -= 1 + idle_.size();
    dead.swap(idle_);
  }
  connection.reset();
  freed_.notify_all();
}

// Calls are repeated while the timeout lasts when a connection broke, the server is loading its data, or it has become
// a replica, whose connections are dropped. A server that does not answer in time has used up the timeout. A call that
// was sent and not answered may have been executed.
template <class Work>
auto RedisPool::attempt(Asks asks, const Work& work) {
  const auto until = Clock::now() + place_.timeout;
  bool asked = false;
  for (auto rest = first_rest;; rest = std::min(rest * 2, longest_rest)) {
    Connection connection;
    try {
      connection = take(until);
      asked = asks == Asks::to_write;
      auto answer = work(*connection);
      give_back(std::move(connection));
      return answer;
    } catch (const RedisBroken& broken) {
      if (connection) { drop(std::move(connection)); }
      if (broken.timed_out() || Clock::now() + rest >= until) {
        if (asked) { throw CommitUnknown(std::string(broken.what()) + "; whether it was done is not known"); }
        throw StoreUnavailable(broken.what());
      }
    } catch (const RedisRefused& refused) {
      const bool demoted = is_replica(refused);
      if (connection) { demoted ? drop(std::move(connection)) : give_back(std::move(connection)); }
      const bool passes =
          demoted || refused.code() == "LOADING" || refused.code() == "BUSY" || refused.code() == "TRYAGAIN";
      if (passes && Clock::now() + rest < until) {
        std::this_thread::sleep_for(rest);
        continue;
      }
      if (refused.code() == "BUSY") { throw StoreBusy(refused.what()); }
      throw StoreUnavailable(refused.what());
    }
    std::this_thread::sleep_for(rest);
  }
}

std::vector<RedisReply> RedisPool::run(const std::vector<RedisCall>& calls) {
  return attempt(Asks::to_write, [&](RedisConnection& connection) {
    std::vector<Words> words;
    std::vector<RedisCommand> commands;
    words.reserve(calls.size());
    for (const RedisCall& call : calls) {
      words.push_back(words_of(call, true, call.script->text));
      add_arguments(words.back(), call);
      commands.push_back(words.back().command);
    }
    std::vector<RedisReply> replies = connection.pipeline(commands);
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (starts_with(replies[i], "NOSCRIPT")) { replies[i] = run_text(connection, calls[i], calls[i].script->text); }
      if (starts_with(replies[i], "OOM") && calls[i].script->full == RedisScript::Full::allowed) {
        const RedisReply written = run_text(connection, calls[i], "#!lua flags=allow-oom\n" + calls[i].script->text);
        // An older server does not know the flag; the first refusal is then the one to report.
        if (written.kind != RedisReply::Kind::error) { replies[i] = written; }
      }
      check_reply(replies[i], place_.shown);
    }
    return replies;
  });
}

RedisReply RedisPool::ask(const RedisCommand& command) {
  return attempt(Asks::to_read, [&](RedisConnection& connection) { return connection.call(command); });
}

}  // namespace hapax::guard
