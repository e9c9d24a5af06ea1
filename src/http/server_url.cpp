#include "http/server_url.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <algorithm>
#include <cctype>

namespace hapax::http {
namespace {

[[noreturn]] void refuse_url(const std::string& why) {
  throw ConfigurationError("the server's URL " + why + "; expected one such as http://127.0.0.1:7171");
}

bool is_port(std::string_view text) {
  return !text.empty() && text.size() <= 5 && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; }) &&
         std::stoi(std::string(text)) > 0 && std::stoi(std::string(text)) < 65536;
}

bool is_plain(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '.' ||
         c == '_' || c == '~';
}

}  // namespace

std::string ServerUrl::authority() const {
  const std::string name = host.find(':') == std::string::npos ? host : "[" + host + "]";
  return port == (tls ? "443" : "80") ? name : name + ":" + port;
}

ServerUrl parse_server_url(std::string_view text) {
  ServerUrl url;
  std::string_view rest = text;
  if (text.starts_with("https://")) {
    url.tls = true;
    rest.remove_prefix(8);
  } else if (text.starts_with("http://")) {
    rest.remove_prefix(7);
  } else {
    refuse_url("does not begin with http:// or https://");
  }
  const auto is_odd = [](char c) {
    return static_cast<unsigned char>(c) <= ' ' || static_cast<unsigned char>(c) > 126;
  };
  if (std::ranges::any_of(rest, is_odd)) { refuse_url("has blanks or characters that have to be percent-encoded"); }
  std::string_view authority = rest.substr(0, rest.find_first_of("/?#"));
  rest.remove_prefix(authority.size());
  if (authority.find('@') != std::string_view::npos) {
    refuse_url("has a user or password in it; a token comes from --token-file or HAPAX_TOKEN");
  }
  if (rest.find_first_of("?#") != std::string_view::npos) { refuse_url("has a query or a fragment"); }
  while (rest.ends_with('/')) { rest.remove_suffix(1); }
  url.prefix = rest;
  std::string_view port;
  if (authority.starts_with('[')) {
    const std::size_t end = authority.find(']');
    if (end == std::string_view::npos) { refuse_url("has a [ without its ]"); }
    url.host = authority.substr(1, end - 1);
    authority.remove_prefix(end + 1);
    if (!authority.empty() && authority.front() != ':') { refuse_url("has something else than a port behind the ]"); }
    port = authority.empty() ? authority : authority.substr(1);
    if (!authority.empty() && port.empty()) { refuse_url("has an empty port"); }
  } else {
    const std::size_t colon = authority.find(':');
    url.host = authority.substr(0, colon);
    if (colon != std::string_view::npos) {
      port = authority.substr(colon + 1);
      if (!is_port(port)) { refuse_url("has an invalid port"); }
    }
  }
  if (url.host.empty()) { refuse_url("names no host"); }
  if (!port.empty() && !is_port(port)) { refuse_url("has an invalid port"); }
  url.port = port.empty() ? (url.tls ? "443" : "80") : std::string(port);
  url.text = base::echo(text);
  return url;
}

std::string percent_encoded(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    if (is_plain(c)) {
      encoded += c;
      continue;
    }
    const auto byte = static_cast<unsigned char>(c);
    encoded += '%';
    encoded += digits[byte >> 4];
    encoded += digits[byte & 15];
  }
  return encoded;
}

}  // namespace hapax::http
