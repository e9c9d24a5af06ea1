#include "http/tls.hpp"

#include "base/limits.hpp"
#include "base/stream.hpp"
#include "base/text.hpp"

#include <hapax/error.hpp>

#include <openssl/err.h>
#include <openssl/ssl.h>

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstring>
#include <fstream>
#include <string_view>

namespace hapax::http {

namespace {

// How much of a certificate or key file is searched for a PEM block.
constexpr std::size_t pem_bytes = 1 << 20;

std::string reason() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const text = code == 0 ? nullptr : ERR_reason_error_string(code);
  return text == nullptr ? "it cannot be used" : text;
}

// A file that --tls-cert or --tls-key names.
struct PemFile {
  std::string_view option;
  const std::string& path;
  std::string_view block;     // a word in the line of its "-----BEGIN …-----"
  std::string_view expected;  // in words

  [[nodiscard]] std::string named() const { return std::string(option) + " " + base::echo(path); }
  [[noreturn]] void refuse(const std::string& why) const { throw ConfigurationError(named() + ": " + why); }
};

bool has_block(std::string_view text, std::string_view block) {
  constexpr std::string_view begin = "-----BEGIN ";
  for (std::size_t at = text.find(begin); at != std::string_view::npos; at = text.find(begin, at + 1)) {
    if (text.substr(at, text.find('\n', at) - at).find(block) != std::string_view::npos) { return true; }
  }
  return false;
}

// Checked here because OpenSSL's error for a file without a PEM block ("no start line", "unsupported") is no help.
void check_file(const PemFile& given) {
  struct stat facts {};
  if (stat(given.path.c_str(), &facts) != 0) { given.refuse(std::strerror(errno)); }
  if (S_ISDIR(facts.st_mode)) { given.refuse("this is a directory; expected a PEM file"); }
  std::ifstream file(given.path, std::ios::binary);
  if (!file) { given.refuse(std::strerror(errno)); }
  std::string text(pem_bytes, '\0');
  file.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(file.gcount()));
  if (!has_block(text, given.block)) {
    given.refuse("there is no \"-----BEGIN\" line of a " + std::string(given.block) + " in it; expected " +
                 std::string(given.expected) + " in PEM");
  }
}

void check_key_file(const PemFile& key) {
  check_file(key);
  struct stat facts {};
  if (stat(key.path.c_str(), &facts) != 0) { key.refuse(std::strerror(errno)); }
  if ((facts.st_mode & (S_IRWXO | S_IWGRP)) != 0) {
    key.refuse("users other than its owner and group may read or write the file; chmod 600");
  }
}

// Selects HTTP/1.1 if the client offers it; otherwise the handshake goes on without a protocol.
int choose_protocol(SSL*, const unsigned char** chosen, unsigned char* chosen_bytes, const unsigned char* offered,
                    unsigned int offered_bytes, void*) {
  static constexpr unsigned char ours[] = "\x08http/1.1";
  unsigned char* found = nullptr;
  if (SSL_select_next_proto(&found, chosen_bytes, ours, sizeof(ours) - 1, offered, offered_bytes) !=
      OPENSSL_NPN_NEGOTIATED) {
    return SSL_TLSEXT_ERR_NOACK;
  }
  *chosen = found;
  return SSL_TLSEXT_ERR_OK;
}

ServerTlsStep step_of(const SSL& session, int result) {
  if (result > 0) { return {.wants = TlsWants::nothing, .bytes = static_cast<std::size_t>(result)}; }
  const int error = SSL_get_error(&session, result);
  ERR_clear_error();
  switch (error) {
    case SSL_ERROR_WANT_READ: return {.wants = TlsWants::readable};
    case SSL_ERROR_WANT_WRITE: return {.wants = TlsWants::writable};
    case SSL_ERROR_ZERO_RETURN: return {.wants = TlsWants::closed};
    default: return {.wants = TlsWants::broken};
  }
}

int bounded(std::size_t bytes) { return static_cast<int>(std::min<std::size_t>(bytes, INT_MAX)); }

}  // namespace

ServerTlsContext::ServerTlsContext(const std::string& certificate, const std::string& key) {
  const PemFile chain{
      .option = "--tls-cert", .path = certificate, .block = "CERTIFICATE", .expected = "a certificate chain"};
  const PemFile secret{.option = "--tls-key", .path = key, .block = "PRIVATE KEY", .expected = "its private key"};
  check_file(chain);
  check_key_file(secret);
  context_ = SSL_CTX_new(TLS_server_method());
  if (context_ == nullptr) { throw std::bad_alloc(); }
  const auto refuse = [this](const std::string& what) {
    const std::string why = reason();
    SSL_CTX_free(context_);
    throw ConfigurationError(what + ": " + why);
  };
  ERR_clear_error();
  SSL_CTX_set_min_proto_version(context_, TLS1_2_VERSION);
  SSL_CTX_set_options(context_, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION | SSL_OP_CIPHER_SERVER_PREFERENCE);
  SSL_CTX_set_mode(context_,
                   SSL_MODE_RELEASE_BUFFERS | SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
  SSL_CTX_set_session_cache_mode(context_, SSL_SESS_CACHE_OFF);
  SSL_CTX_set_alpn_select_cb(context_, choose_protocol, nullptr);
  if (SSL_CTX_use_certificate_chain_file(context_, certificate.c_str()) != 1) { refuse(chain.named()); }
  SSL_CTX_set_default_passwd_cb(context_, base::no_passphrase);
  // OpenSSL compares the key with the certificate as it reads it.
  if (SSL_CTX_use_PrivateKey_file(context_, key.c_str(), SSL_FILETYPE_PEM) != 1 ||
      SSL_CTX_check_private_key(context_) != 1) {
    refuse(secret.named() + ", with " + chain.named());
  }
}

ServerTlsContext::~ServerTlsContext() { SSL_CTX_free(context_); }

void FreeTlsSession::operator()(ssl_st* session) const { SSL_free(session); }

TlsSession make_tls_session(const ServerTlsContext& context, int socket) {
  TlsSession session(SSL_new(context.get()));
  if (!session || SSL_set_fd(session.get(), socket) != 1) { return nullptr; }
  SSL_set_accept_state(session.get());
  return session;
}

ServerTlsStep tls_accept(ssl_st& session) {
  ERR_clear_error();
  return step_of(session, SSL_do_handshake(&session));
}

ServerTlsStep tls_read(ssl_st& session, char* to, std::size_t bytes) {
  ERR_clear_error();
  return step_of(session, SSL_read(&session, to, bounded(bytes)));
}

ServerTlsStep tls_write(ssl_st& session, const char* from, std::size_t bytes) {
  ERR_clear_error();
  return step_of(session, SSL_write(&session, from, bounded(bytes)));
}

void tls_close(ssl_st& session) {
  ERR_clear_error();
  SSL_shutdown(&session);
  ERR_clear_error();
}

}  // namespace hapax::http
