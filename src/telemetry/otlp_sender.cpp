#include "telemetry/otlp_sender.hpp"

#include <hapax/error.hpp>
#include <hapax/version.hpp>

#include <algorithm>
#include <array>
#include <exception>

namespace hapax::telemetry {

namespace {

constexpr std::size_t status_line_bytes = 1024;

[[noreturn]] void refuse_collector(const std::string& why) {
  throw ConfigurationError("the collector's URL " + why + "; expected one such as http://127.0.0.1:4318");
}

bool is_plain_text(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= ' ' && c <= '~'; });
}

bool is_token(std::string_view text) {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !text.empty() && std::ranges::all_of(text, [&](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || others.find(c) != others.npos;
  });
}

// "HTTP/1.1 200 OK" → 200; 0: no HTTP.
int status_in(std::string_view line) {
  if (!line.starts_with("HTTP/1.") || line.size() < 12) { return 0; }
  int status = 0;
  for (const char digit : line.substr(9, 3)) {
    if (digit < '0' || digit > '9') { return 0; }
    status = status * 10 + (digit - '0');
  }
  return status;
}

std::string first_line(base::Stream& stream, Duration timeout) {
  std::string line;
  std::array<char, 512> chunk{};
  while (line.find("\r\n") == std::string::npos && line.size() < status_line_bytes) {
    const std::size_t got = stream.read(chunk.data(), chunk.size(), timeout);
    if (got == 0) { throw base::StreamBroken("the connection was closed before an answer"); }
    line.append(chunk.data(), got);
  }
  return line.substr(0, line.find("\r\n"));
}

}  // namespace

OtlpSender::OtlpSender(std::string_view url, const std::vector<std::pair<std::string, std::string>>& headers,
                       const std::string& ca_file) {
  std::string_view rest = url;
  const bool tls = rest.starts_with("https://");
  if (!tls && !rest.starts_with("http://")) { refuse_collector("does not begin with http:// or https://"); }
  rest.remove_prefix(tls ? 8 : 7);
  if (!is_plain_text(rest) || rest.find(' ') != rest.npos) { refuse_collector("has blanks or special characters"); }
  if (rest.find_first_of("@?#") != rest.npos) {
    refuse_collector("has a user, a query or a fragment; credentials belong into OtlpOptions::headers");
  }
  const std::string_view authority = rest.substr(0, rest.find('/'));
  rest.remove_prefix(authority.size());
  while (rest.ends_with('/')) { rest.remove_suffix(1); }
  prefix_ = rest;
  authority_ = authority;
  const std::size_t bracket = authority.find(']');
  const std::size_t colon = authority.find(':', bracket == authority.npos ? 0 : bracket);
  std::string_view host = authority.substr(0, colon);
  if (host.starts_with('[')) {
    if (bracket == authority.npos) { refuse_collector("has a [ without its ]"); }
    host = authority.substr(1, bracket - 1);
  }
  const std::string_view port = colon == authority.npos ? (tls ? "443" : "80") : authority.substr(colon + 1);
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  if (host.empty()) { refuse_collector("names no host"); }
  if (port.empty() || port.size() > 5 || !std::ranges::all_of(port, is_digit)) {
    refuse_collector("has a port that is none");
  }
  shown_ = (tls ? "https://" : "http://") + authority_;
  peer_ = {.host = std::string(host),
           .port = std::string(port),
           .shown = shown_,
           .trust_hint = "OtlpOptions::ca_file names whom to trust"};
  if (tls) { tls_ = std::make_unique<base::TlsContext>(base::TlsFiles{.ca = ca_file}); }
  for (const auto& [name, value] : headers) {
    if (!is_token(name)) { throw ConfigurationError("a header of the collector's requests has no valid name"); }
    if (!is_plain_text(value)) { throw ConfigurationError("the header " + name + " has special characters"); }
    headers_ += name + ": " + value + "\r\n";
  }
}

OtlpSender::Answer OtlpSender::post(std::string_view path, const std::string& body, Duration timeout,
                                    std::string& error) const {
  const std::string what = shown_ + prefix_ + std::string(path);
  try {
    base::Stream stream(peer_, tls_.get(), timeout);
    std::string head = "POST " + prefix_ + std::string(path) + " HTTP/1.1\r\nHost: " + authority_ + "\r\n";
    head += "User-Agent: hapax/" + std::string(version) + "\r\nContent-Type: application/json\r\n";
    head += "Content-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n" + headers_ + "\r\n";
    stream.write(head, timeout);
    stream.write(body, timeout);
    const int status = status_in(first_line(stream, timeout));
    if (status >= 200 && status < 300) { return Answer::taken; }
    error = what + " answered " + (status == 0 ? std::string("something that is no HTTP") : std::to_string(status));
    const bool later = status == 429 || status == 502 || status == 503 || status == 504;
    return later ? Answer::later : Answer::refused;
  } catch (const std::exception& broken) {
    error = what + " does not answer: " + broken.what();
    return Answer::later;
  }
}

}  // namespace hapax::telemetry
