// ServerUrl: the URL of a server: http://127.0.0.1:7171, https://hapax.example.org/behind/a/proxy.
#pragma once

#include <string>
#include <string_view>

namespace hapax::http {

struct ServerUrl {
  bool tls = false;
  std::string host;    // without the brackets of an IPv6 address
  std::string port;    // 80 or 443 if the URL has none
  std::string prefix;  // before every path; empty, or /like/this
  std::string text;    // as it was given, for messages

  // The value of the Host header.
  [[nodiscard]] std::string authority() const;
};

// Throws ConfigurationError, which never shows the text before an @: a URL has no place for a secret.
[[nodiscard]] ServerUrl parse_server_url(std::string_view text);

// A path segment or query value, percent-encoded except for unreserved characters.
[[nodiscard]] std::string percent_encoded(std::string_view text);

}  // namespace hapax::http
