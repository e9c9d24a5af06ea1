// ServerUrl: where a server is, as people write it: http://127.0.0.1:7171, https://hapax.example.org/behind/a/proxy.
#pragma once

#include <string>
#include <string_view>

namespace hapax::client {

struct ServerUrl {
  bool tls = false;
  std::string host;    // without the brackets of an IPv6 address
  std::string port;    // 80 or 443 when it is not said
  std::string prefix;  // before every path; empty, or /like/this
  std::string text;    // as it was given, for messages

  // What the Host header says.
  [[nodiscard]] std::string authority() const;
};

// Throws ConfigurationError, which never shows what stands before an @: a URL has no place for a secret.
[[nodiscard]] ServerUrl parse_server_url(std::string_view text);

// A part of a path, or a value of a query, with everything percent-encoded that is not plain.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace hapax::client
