#include "client/connection.hpp"

#include <hapax/error.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <climits>
#include <csignal>
#include <cstring>
#include <ctime>

namespace hapax::client {
namespace {

using Steady = std::chrono::steady_clock;

std::string said(const std::string& what, int error) { return what + ": " + std::strerror(error); }

// OpenSSL writes with write(2): a closed connection would end the program.
class WithoutPipeSignal {
 public:
  WithoutPipeSignal() {
    sigemptyset(&pipe_);
    sigaddset(&pipe_, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &pipe_, &before_);
  }
  WithoutPipeSignal(const WithoutPipeSignal&) = delete;
  WithoutPipeSignal& operator=(const WithoutPipeSignal&) = delete;
  ~WithoutPipeSignal() {
    if (sigismember(&before_, SIGPIPE) == 0) {
      const timespec at_once{};
      while (sigtimedwait(&pipe_, nullptr, &at_once) == SIGPIPE) {}
    }
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
  }

 private:
  sigset_t pipe_{};
  sigset_t before_{};
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

int bounded(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

}  // namespace

TrustStore::TrustStore(const std::string& ca_file) : context_(SSL_CTX_new(TLS_client_method())) {
  if (context_ == nullptr) { throw std::bad_alloc(); }
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_verify(context_, SSL_VERIFY_PEER, nullptr);
  SSL_CTX_set_mode(context_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  ERR_clear_error();
  const int loaded = ca_file.empty() ? SSL_CTX_set_default_verify_paths(context_)
                                     : SSL_CTX_load_verify_locations(context_, ca_file.c_str(), nullptr);
  if (loaded != 1) {
    const std::string why = tls_reason();
    SSL_CTX_free(context_);
    throw ConfigurationError("--ca-file " + ca_file + ": " + why);
  }
}

TrustStore::~TrustStore() { SSL_CTX_free(context_); }

Connection::Connection(const ServerUrl& url, const TrustStore* trust, Duration at_most) {
  try {
    connect_to(url, at_most);
    if (url.tls) { shake_hands(url, *trust, at_most); }
  } catch (...) {
    if (session_ != nullptr) { SSL_free(session_); }
    if (socket_ >= 0) { close(socket_); }
    throw;
  }
}

Connection::~Connection() {
  if (session_ != nullptr) {
    const WithoutPipeSignal quiet;
    ERR_clear_error();
    SSL_shutdown(session_);
    ERR_clear_error();
    SSL_free(session_);
  }
  close(socket_);
}

void Connection::connect_to(const ServerUrl& url, Duration at_most) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(url.host.c_str(), url.port.c_str(), &hints, &found);
  if (failed != 0) { throw ConnectionBroken("no address for '" + url.host + "': " + gai_strerror(failed)); }
  const std::unique_ptr<addrinfo, FreeAddresses> addresses(found);
  const Steady::time_point until = Steady::now() + at_most;
  std::string trouble = "no address";
  for (const addrinfo* address = addresses.get(); address != nullptr; address = address->ai_next) {
    socket_ = socket(address->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
    if (socket_ < 0) {
      trouble = said("socket", errno);
      continue;
    }
    const int one = 1;
    setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    int error = connect(socket_, address->ai_addr, address->ai_addrlen) == 0 ? 0 : errno;
    if (error == EINPROGRESS) {
      const auto left = std::chrono::duration_cast<Duration>(until - Steady::now());
      try {
        await(POLLOUT, std::max(left, Duration::zero()));
        socklen_t size = sizeof error;
        getsockopt(socket_, SOL_SOCKET, SO_ERROR, &error, &size);
      } catch (const ConnectionBroken&) { error = ETIMEDOUT; }
    }
    if (error == 0) { return; }
    trouble = std::strerror(error);
    close(socket_);
    socket_ = -1;
  }
  throw ConnectionBroken(trouble);
}

void Connection::shake_hands(const ServerUrl& url, const TrustStore& trust, Duration at_most) {
  session_ = SSL_new(trust.get());
  if (session_ == nullptr || SSL_set_fd(session_, socket_) != 1) { throw std::bad_alloc(); }
  if (is_address(url.host)) {
    X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session_), url.host.c_str());
  } else {
    SSL_set_tlsext_host_name(session_, url.host.c_str());
    SSL_set1_host(session_, url.host.c_str());
  }
  while (true) {
    int result = 0;
    {
      const WithoutPipeSignal quiet;
      ERR_clear_error();
      result = SSL_connect(session_);
    }
    if (result == 1) { return; }
    const long verified = SSL_get_verify_result(session_);
    if (verified != X509_V_OK) {
      throw ConfigurationError("the certificate of " + url.text + " is not good: " +
                               X509_verify_cert_error_string(verified) + "; --ca-file names whom to trust");
    }
    (void)await_tls(result, at_most, "TLS");
  }
}

void Connection::await(short wants, Duration at_most) const {
  const Steady::time_point until = Steady::now() + at_most;
  while (true) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(until - Steady::now());
    pollfd ready{.fd = socket_, .events = wants, .revents = 0};
    const int count = poll(&ready, 1, static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, INT_MAX)));
    if (count > 0) { return; }
    if (count < 0 && errno != EINTR) { throw ConnectionBroken(said("poll", errno)); }
    if (count == 0) { throw ConnectionBroken("no answer in time"); }
  }
}

bool Connection::await_tls(int result, Duration at_most, const char* what) {
  switch (SSL_get_error(session_, result)) {
    case SSL_ERROR_NONE: return false;
    case SSL_ERROR_WANT_READ: await(POLLIN, at_most); return true;
    case SSL_ERROR_WANT_WRITE: await(POLLOUT, at_most); return true;
    default: throw ConnectionBroken(std::string(what) + ": " + tls_reason());
  }
}

void Connection::write(std::string_view bytes, Duration at_most) {
  while (!bytes.empty()) {
    if (session_ != nullptr) {
      int result = 0;
      {
        const WithoutPipeSignal quiet;
        ERR_clear_error();
        result = SSL_write(session_, bytes.data(), bounded(bytes.size()));
      }
      if (result > 0) {
        bytes.remove_prefix(static_cast<std::size_t>(result));
      } else {
        (void)await_tls(result, at_most, "write");
      }
      continue;
    }
    const ssize_t sent = send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent >= 0) {
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    } else if (errno == EAGAIN || errno == EWOULDBLOCK) {
      await(POLLOUT, at_most);
    } else if (errno != EINTR) {
      throw ConnectionBroken(said("write", errno));
    }
  }
}

std::size_t Connection::read(char* to, std::size_t bytes, Duration at_most) {
  while (true) {
    if (session_ != nullptr) {
      int result = 0;
      {
        const WithoutPipeSignal quiet;
        ERR_clear_error();
        result = SSL_read(session_, to, bounded(bytes));
      }
      if (result > 0) { return static_cast<std::size_t>(result); }
      if (SSL_get_error(session_, result) == SSL_ERROR_ZERO_RETURN) { return 0; }
      (void)await_tls(result, at_most, "read");
      continue;
    }
    const ssize_t got = recv(socket_, to, bytes, 0);
    if (got >= 0) { return static_cast<std::size_t>(got); }
    if (errno == EAGAIN || errno == EWOULDBLOCK) {
      await(POLLIN, at_most);
    } else if (errno != EINTR) {
      throw ConnectionBroken(said("read", errno));
    }
  }
}

bool Connection::is_stale() const {
  pollfd ready{.fd = socket_, .events = POLLIN, .revents = 0};
  return poll(&ready, 1, 0) != 0;
}

}  // namespace hapax::client
