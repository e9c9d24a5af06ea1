// Connection: one TCP connection to a server, with TLS if its URL says so. Blocking, but no step longer than it is allowed to.
//
// Used by one thread at a time. Every failure is ConnectionBroken; what it means is known to the caller alone, who knows
// what was sent.
#pragma once

#include <hapax/time.hpp>

#include "client/server_url.hpp"

#include <cstddef>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>

struct ssl_ctx_st;
struct ssl_st;

namespace hapax::client {

class ConnectionBroken : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Whom to trust: the certificates of a file, or else the system's. TLS 1.2 or newer, always verified.
class TrustStore {
 public:
  // Throws ConfigurationError for a file that cannot be read.
  explicit TrustStore(const std::string& ca_file);
  TrustStore(const TrustStore&) = delete;
  TrustStore& operator=(const TrustStore&) = delete;
  ~TrustStore();
  [[nodiscard]] ssl_ctx_st* get() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

class Connection {
 public:
  // Connects within `at_most`. `trust` is needed for TLS. Throws ConnectionBroken; ConfigurationError for a certificate
  // that is not trusted, or of another host.
  Connection(const ServerUrl& url, const TrustStore* trust, Duration at_most);
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;
  ~Connection();

  // All of it; no longer than `at_most` without the other side taking any.
  void write(std::string_view bytes, Duration at_most);
  // At least a byte; 0 when the other side has closed it.
  [[nodiscard]] std::size_t read(char* to, std::size_t bytes, Duration at_most);
  // Whether the other side has closed it, or sent what nobody asked for, while it was idle.
  [[nodiscard]] bool is_stale() const;

 private:
  void connect_to(const ServerUrl& url, Duration at_most);
  void shake_hands(const ServerUrl& url, const TrustStore& trust, Duration at_most);
  // Waits until the socket is ready for what `wants` says (POLLIN, POLLOUT).
  void await(short wants, Duration at_most) const;
  // What a step of TLS asks for; false: it is done.
  [[nodiscard]] bool await_tls(int result, Duration at_most, const char* what);

  int socket_ = -1;
  ssl_st* session_ = nullptr;
};

}  // namespace hapax::client
