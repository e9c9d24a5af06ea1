#include "base/stream.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>
#include <memory>

namespace hapax::base {
namespace {

using Steady = std::chrono::steady_clock;

std::string errno_text(const std::string& what, int error) { return what + ": " + std::strerror(error); }

// Blocks SIGPIPE: OpenSSL uses write(2), so a closed connection would end the program. A SIGPIPE that was pending
// before stays pending.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigset_t pending;
    sigpending(&pending);
    was_pending_ = sigismember(&pending, SIGPIPE) == 1;
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;
  ~WithoutPipeSignal() {
    const timespec at_once{};
    if (!was_pending_) {
      while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {}
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
  bool was_pending_ = false;
};

struct FreeAddresses {
  void operator()(addrinfo* list) const { freeaddrinfo(list); }
};

bool is_address(const std::string& host) {
  in6_addr buffer{};
  return inet_pton(AF_INET, host.c_str(), &buffer) == 1 || inet_pton(AF_INET6, host.c_str(), &buffer) == 1;
}

std::string tls_reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "the connection was closed" : text;
}

// Returns if a signal interrupted the call and time is left, so that the caller tries again. Otherwise throws.
void throw_unless_interrupted(const char* what, int error, Steady::time_point until) {
  const bool interrupted = error == EINTR;
  if (!interrupted && error != EAGAIN && error != EWOULDBLOCK) { throw StreamBroken(errno_text(what, error)); }
  if (!interrupted || Steady::now() >= until) { throw StreamBroken("no answer in time", true); }
}

int bounded(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

}  // namespace

std::mutex& tls_calls() {
  static std::mutex calls;
  return calls;
}

int no_passphrase(char* /*to*/, int /*bytes*/, int /*for_writing*/, void* /*data*/) { return -1; }

TlsContext::TlsContext(const TlsFiles& files) : context_(nullptr) {
  const std::lock_guard call(tls_calls());
  context_ = SSL_CTX_new(TLS_client_method());
  if (context_ == nullptr) { throw std::bad_alloc(); }
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  const auto check = [this](const std::string& file, const char* what, int loaded) {
    if (loaded == 1) { return; }
    const std::string why = tls_reason();
    SSL_CTX_free(context_);
    throw ConfigurationError(std::string("the ") + what + " file " + echo(file) + " cannot be used: " + why);
  };
  ERR_clear_error();
  check(files.ca, "CA",
        files.ca.empty() ? SSL_CTX_set_default_verify_paths(context_)
                         : SSL_CTX_load_verify_locations(context_, files.ca.c_str(), nullptr));
  if (!files.cert.empty()) {
    check(files.cert, "certificate", SSL_CTX_use_certificate_chain_file(context_, files.cert.c_str()));
  }
  if (!files.key.empty()) {
    SSL_CTX_set_default_passwd_cb(context_, no_passphrase);
    check(files.key, "key", SSL_CTX_use_PrivateKey_file(context_, files.key.c_str(), SSL_FILETYPE_PEM));
  }
}

TlsContext::~TlsContext() {
  const std::lock_guard call(tls_calls());
  SSL_CTX_free(context_);
}

Stream::Stream(const StreamPeer& peer, const TlsContext* tls, Duration at_most) : process_(::getpid()) {
  const Instant until = Steady::now() + at_most;
  try {
    if (peer.socket.empty()) {
      connect_to(peer, until);
    } else {
      connect_to_socket(peer.socket, until);
    }
    if (tls != nullptr) {
      shake_hands(peer, *tls, until);
    } else {
      // A plain connection blocks in send and recv: one system call instead of three.
      const int flags = fcntl(socket_, F_GETFL);
      fcntl(socket_, F_SETFL, flags & ~O_NONBLOCK);
    }
  } catch (...) {
    if (session_ != nullptr) {
      const std::lock_guard call(tls_calls());
      SSL_free(session_);
    }
    if (socket_ >= 0) { close(socket_); }
    throw;
  }
}

Stream::~Stream() {
  if (session_ != nullptr && ::getpid() == process_) {
    const std::lock_guard call(tls_calls());
    const WithoutPipeSignal quiet;
    ERR_clear_error();
    SSL_shutdown(session_);
    ERR_clear_error();
    SSL_free(session_);
  } else if (session_ != nullptr) {
    SSL_free(session_);  // without tls_calls(): a forked child has one thread, and that thread may hold the lock
  }
  close(socket_);
}

int Stream::finish_connect(int result, Instant until) const {
  int error = result == 0 ? 0 : errno;
  if (error != EINPROGRESS) { return error; }
  try {
    await(POLLOUT, until);
  } catch (const StreamBroken&) { return ETIMEDOUT; }
  socklen_t size = sizeof error;
  getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
  return error;
}

void Stream::connect_to_socket(const std::string& path, Instant until) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.size() >= sizeof address.sun_path) { throw StreamBroken("the socket's path is too long"); }
  path.copy(address.sun_path, path.size());
  socket_ = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (socket_ < 0) { throw StreamBroken(errno_text("socket", errno)); }
  const int error = finish_connect(connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address), until);
  // A Unix socket with a full queue fails at once instead of waiting.
  if (error != 0) { throw StreamBroken(std::strerror(error), error == ETIMEDOUT); }
}

void Stream::connect_to(const StreamPeer& peer, Instant until) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(peer.host.c_str(), peer.port.c_str(), &hints, &found);
  if (failed != 0) { throw StreamBroken("no address for " + base::quoted(peer.host) + ": " + gai_strerror(failed)); }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  int left = 0;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next) { ++left; }
  std::string trouble = "no address";
  bool timed_out = false;
  for (const addrinfo* address = found; address != nullptr; address = address->ai_next, --left) {
    socket_ = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) {
      trouble = errno_text("socket", errno);
      continue;
    }
    const int one = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    // Each address gets its share of the time, so that an address without an answer leaves time for the rest.
    const Instant now = Steady::now();
    const int error =
        finish_connect(connect(socket_, address->ai_addr, address->ai_addrlen), now + (until - now) / left);
    if (error == 0) { return; }
    trouble = std::strerror(error);
    timed_out = error == ETIMEDOUT;
    close(socket_);
    socket_ = -1;
  }
  throw StreamBroken(trouble, timed_out);
}

void Stream::limit_call_time(int option, Duration& allowed, Duration at_most) const {
  if (allowed == at_most) { return; }
  const Duration wait = std::max<Duration>(at_most, std::chrono::milliseconds(1));  // 0 would mean no limit
  const auto seconds = std::chrono::floor<std::chrono::seconds>(wait);
  timeval value{};
  value.tv_sec = seconds.count();
  value.tv_usec = (wait - seconds).count();
  setsockopt(socket_, SOL_SOCKET, option, &value, sizeof value);
  allowed = at_most;
}

// A connection that a firewall has dropped is detected within 30 seconds instead of by the next request.
void Stream::keep_alive() const {
  const int one = 1;
  const int idle_seconds = 15;
  const int seconds_between = 5;
  const int probes = 3;
  setsockopt(socket_, SOL_SOCKET, SO_KEEPALIVE, &one, sizeof one);
  setsockopt(socket_, IPPROTO_TCP, TCP_KEEPIDLE, &idle_seconds, sizeof idle_seconds);
  setsockopt(socket_, IPPROTO_TCP, TCP_KEEPINTVL, &seconds_between, sizeof seconds_between);
  setsockopt(socket_, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
}

template <class Call>
Stream::TlsStep Stream::tls_step(Call call) {
  const std::lock_guard lock(tls_calls());
  const WithoutPipeSignal quiet;
  ERR_clear_error();
  TlsStep step{.result = call(session_)};
  step.error = SSL_get_error(session_, step.result);
  const bool has_not_failed =
      step.error == SSL_ERROR_NONE || step.error == SSL_ERROR_WANT_READ || step.error == SSL_ERROR_WANT_WRITE;
  if (!has_not_failed) { step.reason = tls_reason(); }
  return step;
}

void Stream::shake_hands(const StreamPeer& peer, const TlsContext& tls, Instant until) {
  {
    const std::lock_guard lock(tls_calls());
    session_ = SSL_new(tls.get());
    if (session_ == nullptr || SSL_set_fd(session_, socket_) != 1) { throw std::bad_alloc(); }
    const bool knows_host = is_address(peer.host)
                                ? X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_), peer.host.c_str()) == 1
                                : SSL_set_tlsext_host_name(session_, peer.host.c_str()) == 1 &&
                                      SSL_set1_host(session_, peer.host.c_str()) == 1;
    if (!knows_host) {
      throw StreamBroken("TLS: " + base::quoted(peer.host) + " is not a host name that a certificate can be for");
    }
  }
  while (true) {
    const TlsStep step = tls_step([](SSL* session) { return SSL_connect(session); });
    if (step.result == 1) { return; }
    const long verified = SSL_get_verify_result(session_);
    if (verified != X509_V_OK) {
      throw ConfigurationError("the certificate of " + peer.shown +
                               " is not good: " + X509_verify_cert_error_string(verified) + "; " + peer.trust_hint);
    }
    await_tls(step, until, "TLS");
  }
}

void Stream::await(short wants, Instant until) const {
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    pollfd ready{.fd = socket_, .events = wants, .revents = 0};
    const int count = poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX)));
    if (count > 0) { return; }
    if (count < 0 && errno != EINTR) { throw StreamBroken(errno_text("poll", errno)); }
    if (count == 0) { throw StreamBroken("no answer in time", true); }
  }
}

void Stream::await_tls(const TlsStep& step, Instant until, const char* what) const {
  switch (step.error) {
    case SSL_ERROR_NONE: return;
    case SSL_ERROR_WANT_READ: await(POLLIN, until); return;
    case SSL_ERROR_WANT_WRITE: await(POLLOUT, until); return;
    default: throw StreamBroken(std::string(what) + ": " + step.reason);
  }
}

void Stream::write(std::string_view bytes, Duration at_most) {
  Instant until = Steady::now() + at_most;
  while (!bytes.empty()) {
    std::size_t taken = 0;
    if (session_ != nullptr) {
      const TlsStep step =
          tls_step([bytes](SSL* session) { return SSL_write(session, bytes.data(), bounded(bytes.size())); });
      if (step.result > 0) {
        taken = static_cast<std::size_t>(step.result);
      } else {
        await_tls(step, until, "write");
      }
    } else {
      limit_call_time(SO_SNDTIMEO, send_allowed_, at_most);
      const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent >= 0) {
        taken = static_cast<std::size_t>(sent);
      } else {
        throw_unless_interrupted("write", errno, until);
      }
    }
    if (taken > 0) {
      bytes.remove_prefix(taken);
      until = Steady::now() + at_most;
    }
  }
}

std::size_t Stream::read(char* to, std::size_t bytes, Duration at_most) {
  const Instant until = Steady::now() + at_most;
  while (true) {
    if (session_ != nullptr) {
      const TlsStep step = tls_step([to, bytes](SSL* session) { return SSL_read(session, to, bounded(bytes)); });
      if (step.result > 0) { return static_cast<std::size_t>(step.result); }
      if (step.error == SSL_ERROR_ZERO_RETURN) { return 0; }
      await_tls(step, until, "read");
    } else {
      limit_call_time(SO_RCVTIMEO, receive_allowed_, at_most);
      const ssize_t got = recv(socket_, to, bytes, 0);
      if (got >= 0) { return static_cast<std::size_t>(got); }
      throw_unless_interrupted("read", errno, until);
    }
  }
}

bool Stream::is_stale() const {
  pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
  return poll(&ready, 1, 0) != 0;
}

}  // namespace hapax::base
