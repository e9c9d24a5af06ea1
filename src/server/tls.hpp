// TLS: the server's certificate, and one connection's session.
#pragma once

#include <memory>
#include <string>

struct ssl_ctx_st;
struct ssl_st;

namespace hapax::server {

// A certificate chain and its key, ready to be used; TLS 1.2 or newer. Shared by connections, changed by nobody.
class TlsContext {
 public:
  // PEM files. Throws ConfigurationError for files that cannot be read, do not belong together, or a key that others than
  // its owner may read.
  TlsContext(const std::string& certificate, const std::string& key);
  TlsContext(const TlsContext&) = delete;
  TlsContext& operator=(const TlsContext&) = delete;
  ~TlsContext();

  [[nodiscard]] ssl_ctx_st* get() const { return context_; }

 private:
  ssl_ctx_st* context_;
};

struct FreeTlsSession {
  void operator()(ssl_st* session) const;
};
using TlsSession = std::unique_ptr<ssl_st, FreeTlsSession>;

// The server's side of a session over that socket, which stays the caller's and does not block. Null: out of memory.
[[nodiscard]] TlsSession make_tls_session(const TlsContext& context, int socket);

// What a step of a session asks for before it can go on.
enum class TlsWants : unsigned char { nothing, readable, writable, closed, broken };
struct TlsStep {
  TlsWants wants = TlsWants::nothing;
  std::size_t bytes = 0;  // moved, when it wants nothing
};
[[nodiscard]] TlsStep tls_accept(ssl_st& session);
[[nodiscard]] TlsStep tls_read(ssl_st& session, char* to, std::size_t bytes);
[[nodiscard]] TlsStep tls_write(ssl_st& session, const char* from, std::size_t bytes);
// Says goodbye, without waiting for the other side's.
void tls_close(ssl_st& session);

}  // namespace hapax::server
