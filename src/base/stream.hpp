// Stream: one connection to a server, over TCP, optionally with TLS, or over a Unix socket. Calls block, but none
// longer than its time limit.
//
// One thread at a time uses a Stream. Every failure is StreamBroken: only the caller knows what was sent, and so what
// the failure means.
#pragma once

#include <hapax/time.hpp>

#include <sys/types.h>

#include <chrono>
#include <cstddef>
#include <mutex>
#include <stdexcept>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace hapax::base {

// The connection failed, or a call exceeded its time limit (timed_out()).
class StreamBroken : public std::runtime_error {
 public:
  explicit StreamBroken(const std::string& message, bool timed_out = false)
      : std::runtime_error(message), timed_out_(timed_out) {}
  [[nodiscard]] bool timed_out() const { return timed_out_; }

 private:
  bool timed_out_;
};

// A lock held around every TLS call, none of which blocks. A thread that forks takes it first, so that no other thread
// leaves a TLS lock locked in the child.
[[nodiscard]] std::mutex& tls_calls();

// Refuses a key that needs a passphrase, because there is nobody to ask for it. For SSL_CTX_set_default_passwd_cb.
int no_passphrase(char* to, int bytes, int for_writing, void* data);

// Certificate files for TLS; each may be empty.
struct TlsFiles {
  std::string ca{};    // trusted authorities; empty: the system's
  std::string cert{};  // the client's certificate, for servers that ask; needs `key`
  std::string key{};
};

// Trusted authorities and the client's certificate. TLS 1.2 or newer; the server is always verified.
class TlsContext {
 public:
  // Throws ConfigurationError for a file that cannot be used.
  explicit TlsContext(const TlsFiles& files);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();
  [[nodiscard]] ssl_ctx_st* get() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

struct StreamPeer {
  std::string host{};  // a name or an address
  std::string port{};
  std::string socket{};      // path of a Unix socket, instead of host and port
  std::string shown{};       // name of the server in messages
  std::string trust_hint{};  // name of the setting for trusted authorities, in messages
};

class Stream {
 public:
  // Connects within `at_most`, with TLS if `tls` is not null. Throws StreamBroken, and ConfigurationError for a
  // certificate that is not trusted or belongs to another host.
  Stream(const StreamPeer& peer, const TlsContext* tls, Duration at_most);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // In a forked child the parent's connection stays open.
  ~Stream();

  // Writes all bytes. Throws when the other side takes none for `at_most`.
  void write(std::string_view bytes, Duration at_most);
  // Reads at least one byte; 0 when the other side has closed the connection.
  [[nodiscard]] std::size_t read(char* to, std::size_t bytes, Duration at_most);
  // Whether the other side has closed the idle connection, or sent something unasked.
  [[nodiscard]] bool is_stale() const;
  void keep_alive() const;

 private:
  using Instant = std::chrono::steady_clock::time_point;

  void connect_to(const StreamPeer& peer, Instant until);
  void connect_to_socket(const std::string& path, Instant until);
  // The errno of a failed connect; 0: connected.
  [[nodiscard]] int finish_connect(int result, Instant until) const;
  void shake_hands(const StreamPeer& peer, const TlsContext& tls, Instant until);
  // Waits until the socket is ready for `wants` (POLLIN, POLLOUT).
  void await(short wants, Instant until) const;
  // The result of a TLS call: what SSL_get_error says, and the reason of a failure.
  struct TlsStep {
    int result = 0;
    int error = 0;
    std::string reason{};
  };
  template <class Call>
  [[nodiscard]] TlsStep tls_step(Call call);
  // Waits until the TLS call can go on; throws if it has failed.
  void await_tls(const TlsStep& step, Instant until, const char* what) const;

  // Limits a plain send or recv to `at_most` (SO_SNDTIMEO, SO_RCVTIMEO).
  void limit_call_time(int option, Duration& allowed, Duration at_most) const;

  pid_t process_;
  int socket_ = -1;
  Duration send_allowed_{-1};
  Duration receive_allowed_{-1};
  ssl_st* session_ = nullptr;
};

}  // namespace hapax::base
