#include "guard/redis_connection.hpp"

#include "base/text.hpp"

#include <pthread.h>

#include <hiredis/hiredis.h>
#include <csignal>
#include <ctime>

#include <cerrno>
#include <charconv>
#include <cstring>

namespace hapax::guard {

namespace {

// The client library writes to sockets that the server may have closed, which would end the process. Within its scope such
// a write is an error only, on this thread; the program's own way with the signal is left as it is.
class NoBrokenPipe {
 public:
  NoBrokenPipe() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  NoBrokenPipe(const NoBrokenPipe&) = delete;
  NoBrokenPipe& operator=(const NoBrokenPipe&) = delete;
  ~NoBrokenPipe() {
    const int error = errno;
    const timespec at_once{};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &at_once) > 0) {}
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    errno = error;
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

timeval as_timeval(Duration duration) {
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
  timeval value{};
  value.tv_sec = static_cast<decltype(value.tv_sec)>(seconds.count());
  value.tv_usec = static_cast<decltype(value.tv_usec)>((duration - seconds).count());
  return value;
}

RedisReply value_of(const redisReply& reply) {
  RedisReply value;
  switch (reply.type) {
    case REDIS_REPLY_INTEGER:
      value.kind = RedisReply::Kind::number;
      value.number = reply.integer;
      break;
    case REDIS_REPLY_STRING:
    case REDIS_REPLY_STATUS:
      value.kind = RedisReply::Kind::text;
      value.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_ERROR:
      value.kind = RedisReply::Kind::error;
      value.text.assign(reply.str, reply.len);
      break;
    case REDIS_REPLY_ARRAY:
      value.kind = RedisReply::Kind::list;
      for (std::size_t i = 0; i < reply.elements; ++i) { value.list.push_back(value_of(*reply.element[i])); }
      break;
    default: break;
  }
  return value;
}

bool is_timeout(int error) {
  return error == EAGAIN || error == EWOULDBLOCK || error == ETIMEDOUT || error == EINPROGRESS;
}

// What to do about it, in words for people. Redis never repeats a password in what it answers.
std::string advice(const std::string& code) {
  if (code == "OOM") { return "; it has reached its maxmemory and takes no new records"; }
  if (code == "LOADING") { return "; it is still reading its data"; }
  if (code == "WRONGPASS" || code == "NOAUTH" || code == "NOPERM") {
    return "; check the user and password of the URL";
  }
  if (code == "READONLY") { return "; it is a replica: use the primary's address"; }
  return "";
}

}  // namespace

const RedisReply& RedisReply::at(std::size_t index) const {
  static const RedisReply none;
  return index < list.size() ? list[index] : none;
}

std::optional<std::string> RedisReply::optional_text() const {
  return kind == Kind::text ? std::optional(text) : std::nullopt;
}

std::int64_t RedisReply::integer() const {
  if (kind == Kind::number) { return number; }
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void check_reply(const RedisReply& reply, const std::string& shown) {
  if (reply.kind != RedisReply::Kind::error) { return; }
  const std::string code = reply.text.substr(0, reply.text.find(' '));
  throw RedisRefused(code, shown + " refused: " + base::printable(reply.text) + advice(code));
}

void RedisConnection::Free::operator()(redisContext* context) const { redisFree(context); }

RedisConnection::RedisConnection(const RedisPlace& place) : shown_(place.shown), timeout_(place.timeout) {
  const timeval patience = as_timeval(place.connect_timeout);
  context_.reset(place.socket.empty() ? redisConnectWithTimeout(place.host.c_str(), place.port, patience)
                                      : redisConnectUnixWithTimeout(place.socket.c_str(), patience));
  if (!context_) { throw std::bad_alloc(); }
  if (context_->err != 0) {
    const bool timed_out = context_->err == REDIS_ERR_IO && is_timeout(errno);
    throw RedisBroken(shown_ + " cannot be reached: " + base::printable(context_->errstr), timed_out);
  }
  if (redisSetTimeout(context_.get(), as_timeval(place.timeout)) != REDIS_OK) { broken("set a timeout"); }
  if (place.socket.empty()) { redisEnableKeepAlive(context_.get()); }
  if (!place.password.empty() && !place.user.empty()) {
    call({"AUTH", place.user, place.password});
  } else if (!place.password.empty()) {
    call({"AUTH", place.password});
  }
  if (place.database != 0) {
    const std::string number = std::to_string(place.database);
    call({"SELECT", number});
  }
}

RedisConnection::~RedisConnection() = default;

void RedisConnection::broken(const char* doing) {
  const bool timed_out = context_->err == REDIS_ERR_IO && is_timeout(errno);
  const std::string why =
      timed_out ? "no answer within " + format_duration(timeout_) : base::printable(context_->errstr);
  throw RedisBroken(shown_ + " could not " + doing + ": " + why, timed_out);
}

std::vector<RedisReply> RedisConnection::pipeline(const std::vector<RedisCommand>& commands) {
  const NoBrokenPipe quiet;
  std::vector<const char*> texts;
  std::vector<std::size_t> sizes;
  for (const RedisCommand& command : commands) {
    texts.clear();
    sizes.clear();
    for (const std::string_view part : command) {
      texts.push_back(part.data() == nullptr ? "" : part.data());
      sizes.push_back(part.size());
    }
    if (redisAppendCommandArgv(context_.get(), static_cast<int>(texts.size()), texts.data(), sizes.data()) !=
        REDIS_OK) {
      broken("be asked");
    }
  }
  std::vector<RedisReply> replies;
  replies.reserve(commands.size());
  for (std::size_t i = 0; i < commands.size(); ++i) {
    void* raw = nullptr;
    errno = 0;
    if (redisGetReply(context_.get(), &raw) != REDIS_OK || raw == nullptr) { broken("answer"); }
    const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw), freeReplyObject);
    replies.push_back(value_of(*reply));
  }
  return replies;
}

RedisReply RedisConnection::call(const RedisCommand& command) {
  RedisReply reply = std::move(pipeline({command}).front());
  check_reply(reply, shown_);
  return reply;
}

}  // namespace hapax::guard
