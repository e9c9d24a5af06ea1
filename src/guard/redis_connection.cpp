#include "guard/redis_connection.hpp"

#include "base/text.hpp"

#include <hiredis/hiredis.h>

#include <array>
#include <charconv>

namespace hapax::guard {

namespace {

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

// A buffer that is larger than this is freed after the command.
constexpr std::size_t kept_room = 64 << 10;

// Encodes a command in the Redis protocol: the number of words, then each word with its length.
void append_command(std::string& out, const RedisCommand& command) {
  const auto number = [&out](char mark, std::size_t value) {
    std::array<char, 20> digits;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by to_chars
    const auto [end, error] = std::to_chars(digits.data(), digits.data() + digits.size(), value);
    out.append(1, mark).append(digits.data(), end).append("\r\n");
  };
  number('*', command.size());
  for (const std::string_view word : command) {
    number('$', word.size());
    out.append(word).append("\r\n");
  }
}

// Advice for the operator, by error code. Redis never repeats a password in its answers.
std::string advice(const std::string& code) {
  if (code == "OOM") { return "; it has reached its maxmemory and takes no new records"; }
  if (code == "LOADING") { return "; it is still reading its data"; }
  if (code == "WRONGPASS" || code == "NOAUTH" || code == "NOPERM") {
    return "; check the user and password of the URL";
  }
  if (code == "READONLY" || code == "MASTERDOWN") { return "; it is a replica: use the primary's address"; }
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

void RedisConnection::Free::operator()(redisReader* reader) const { redisReaderFree(reader); }

RedisConnection::RedisConnection(const RedisPlace& place, const base::TlsContext* tls)
    : shown_(place.shown), timeout_(place.timeout), reader_(redisReaderCreate()) {
  if (!reader_) { throw std::bad_alloc(); }
  try {
    const base::StreamPeer peer{.host = place.host,
                                .port = std::to_string(place.port),
                                .socket = place.socket,
                                .shown = shown_,
                                .trust_hint = "ca_file in the URL names the certificates to trust"};
    stream_ = std::make_unique<base::Stream>(peer, tls, place.connect_timeout);
  } catch (const base::StreamBroken& broken) {
    throw RedisBroken(shown_ + " cannot be reached: " + base::printable(broken.what()), broken.timed_out());
  } catch (const ConfigurationError& error) { throw RedisRefused("TLS", error.what()); }
  if (place.socket.empty()) { stream_->keep_alive(); }
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

// Bytes read beyond a reply stay in the reader for the next reply.
RedisReply RedisConnection::next_reply() {
  std::array<char, 16 << 10> bytes;  // NOLINT(cppcoreguidelines-pro-type-member-init): filled by what is read
  while (true) {
    void* raw = nullptr;
    if (redisReaderGetReply(reader_.get(), &raw) != REDIS_OK) {
      throw RedisBroken(shown_ + " could not answer: " + base::printable(reader_->errstr), false);
    }
    if (raw != nullptr) {
      const std::unique_ptr<redisReply, void (*)(void*)> reply(static_cast<redisReply*>(raw), freeReplyObject);
      return value_of(*reply);
    }
    const std::size_t got = stream_->read(bytes.data(), bytes.size(), timeout_);
    if (got == 0) { throw RedisBroken(shown_ + " could not answer: it closed the connection", false); }
    if (redisReaderFeed(reader_.get(), bytes.data(), got) != REDIS_OK) { throw std::bad_alloc(); }
  }
}

std::vector<RedisReply> RedisConnection::pipeline(const std::vector<RedisCommand>& commands) {
  out_.clear();
  for (const RedisCommand& command : commands) { append_command(out_, command); }
  const char* doing = "be asked";
  try {
    stream_->write(out_, timeout_);
    if (out_.capacity() > kept_room) { std::string().swap(out_); }
    doing = "answer";
    std::vector<RedisReply> replies;
    replies.reserve(commands.size());
    for (std::size_t i = 0; i < commands.size(); ++i) { replies.push_back(next_reply()); }
    return replies;
  } catch (const base::StreamBroken& broken) {
    const std::string why =
        broken.timed_out() ? "no answer within " + format_duration(timeout_) : base::printable(broken.what());
    throw RedisBroken(shown_ + " could not " + doing + ": " + why, broken.timed_out());
  }
}

RedisReply RedisConnection::call(const RedisCommand& command) {
  RedisReply reply = std::move(pipeline({command}).front());
  check_reply(reply, shown_);
  return reply;
}

}  // namespace hapax::guard
