// Stream: one connection to a server, over TCP, with TLS if asked for, or over a socket of this machine. Blocking, but no
// step longer than it is allowed to.
//
// Used by one thread at a time. Every failure is StreamBroken; what it means is known to the caller alone, who knows
// what was sent.
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

class StreamBroken : public std::runtime_error {
 public:
  explicit StreamBroken(const std::string& message, bool timed_out = false)
      : std::runtime_error(message), timed_out_(timed_out) {}
  [[nodiscard]] bool timed_out() const { return timed_out_; }

 private:
  bool timed_out_;
};

// Held around every call into TLS, none of which waits. Whoever forks takes it first, so that no other thread is inside
// and leaves a lock behind in the child.
[[nodiscard]] std::mutex& tls_calls();

// A key that wants a passphrase is refused: nobody is there to be asked. For SSL_CTX_set_default_passwd_cb.
int no_passphrase(char* to, int bytes, int for_writing, void* data);

// Files of certificates for TLS; each may be empty.
struct TlsFiles {
  std::string ca{};    // whom to trust; empty: those the system trusts
  std::string cert{};  // who we are, for servers that ask; with its key
  std::string key{};
};

// Whom to trust, and who we are. TLS 1.2 or newer, always verified.
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
  std::string socket{};      // a path; in place of the two
  std::string shown{};       // for messages
  std::string trust_hint{};  // what names whom to trust, for messages
};

class Stream {
 public:
  // Connects within `at_most`, with TLS if `tls` is there. Throws StreamBroken; ConfigurationError for a certificate that
  // is not trusted, or of another host.
  Stream(const StreamPeer& peer, const TlsContext* tls, Duration at_most);
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  // In a forked child the parent's connection stays as it is.
  ~Stream();

  // All of it; no longer than `at_most` without the other side taking any.
  void write(std::string_view bytes, Duration at_most);
  // At least a byte; 0 when the other side has closed it.
  [[nodiscard]] std::size_t read(char* to, std::size_t bytes, Duration at_most);
  // Whether the other side has closed it, or sent what nobody asked for, while it was idle.
  [[nodiscard]] bool is_stale() const;
  // Has the machine ask now and then whether the other side is still there.
  void keep_alive() const;

 private:
  using Instant = std::chrono::steady_clock::time_point;

  void connect_to(const StreamPeer& peer, Instant until);
  void connect_to_socket(const std::string& path, Instant until);
  // The errno of a connection that could not be made; 0: it was.
  [[nodiscard]] int finish_connect(int result, Instant until) const;
  void shake_hands(const StreamPeer& peer, const TlsContext& tls, Instant until);
  // Waits until the socket is ready for what `wants` says (POLLIN, POLLOUT).
  void await(short wants, Instant until) const;
  // How a step of TLS ended: what SSL_get_error says of it, and why it failed.
  struct TlsStep {
    int result = 0;
    int error = 0;
    std::string reason{};
  };
  template <class Call>
  [[nodiscard]] TlsStep tls_step(Call call);
  // Waits for what a step asks for; throws if it has failed.
  void await_tls(const TlsStep& step, Instant until, const char* what) const;

  // Has the machine wait no longer than that in a plain send or recv (SO_SNDTIMEO, SO_RCVTIMEO).
  void allow(int option, Duration& allowed, Duration at_most) const;

  pid_t process_;
  int socket_ = -1;
  Duration send_allowed_{-1};
  Duration receive_allowed_{-1};
  ssl_st* session_ = nullptr;
};

}  // namespace hapax::base
