// TLS: the server's certificate, and one connection's session.
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace hapax::http {

// A certificate chain and its key; TLS 1.2 or newer. Shared by connections and immutable.
class ServerTlsContext {
 public:
  // PEM files. Throws ConfigurationError for files that cannot be read or do not belong together, and for a key that
  // users other than its owner and group may access or that its group may write.
  ServerTlsContext(const std::string& certificate, const std::string& key);
  ServerTlsContext(const ServerTlsContext&) = delete;
  ServerTlsContext& operator=(const ServerTlsContext&) = delete;
  ~ServerTlsContext();

  [[nodiscard]] ssl_ctx_st* get() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

struct FreeTlsSession {
  void operator()(ssl_st* session) const;
};
using TlsSession = std::unique_ptr<ssl_st, FreeTlsSession>;

// The server's side of a session over `socket`, which is non-blocking and stays the caller's. Null: out of memory.
[[nodiscard]] TlsSession make_tls_session(const ServerTlsContext& context, int socket);

// The event that a session needs before its next step can go on.
enum class TlsWants : unsigned char { nothing, readable, writable, closed, broken };
struct ServerTlsStep {
  TlsWants wants = TlsWants::nothing;
  std::size_t bytes = 0;  // moved, when it wants nothing
};
[[nodiscard]] ServerTlsStep tls_accept(ssl_st& session);
[[nodiscard]] ServerTlsStep tls_read(ssl_st& session, char* to, std::size_t bytes);
[[nodiscard]] ServerTlsStep tls_write(ssl_st& session, const char* from, std::size_t bytes);
// Sends the closing alert without waiting for the client's.
void tls_close(ssl_st& session);

}  // namespace hapax::http
