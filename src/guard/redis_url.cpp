#include "guard/redis_url.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"
#include "store/open.hpp"

#include <charconv>
#include <optional>

namespace hapax::guard {

namespace {

constexpr std::string_view tcp_scheme = "redis://";
constexpr std::string_view socket_scheme = "redis+unix://";
constexpr std::string_view tls_scheme = "rediss://";
constexpr int most_databases = 1'000'000;
constexpr int most_connections = 1000;
constexpr std::size_t prefix_bytes = 100;

[[noreturn]] void refuse(const std::string& shown, const std::string& why) {
  throw InvalidArgument("store", base::quoted(shown) + " " + why);
}

int hex_digit(char letter) {
  if (letter >= '0' && letter <= '9') { return letter - '0'; }
  if (letter >= 'a' && letter <= 'f') { return letter - 'a' + 10; }
  if (letter >= 'A' && letter <= 'F') { return letter - 'A' + 10; }
  return -1;
}

// Percent-decodes; a percent sign that begins no escape stays as it is.
std::string decoded(std::string_view text) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const int high = text[i] == '%' && i + 2 < text.size() ? hex_digit(text[i + 1]) : -1;
    const int low = high >= 0 ? hex_digit(text[i + 2]) : -1;
    if (low >= 0) {
      plain += static_cast<char>(high * 16 + low);
      i += 2;
    } else {
      plain += text[i];
    }
  }
  return plain;
}

std::optional<int> whole_number(std::string_view text, int least, int most) {
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < least || value > most) {
    return std::nullopt;
  }
  return value;
}

int number(std::string_view text, const std::string& shown, const char* what, int least, int most) {
  const std::optional<int> value = whole_number(text, least, most);
  if (!value) {
    refuse(shown,
           std::string("has no valid ") + what + "; expected " + std::to_string(least) + " to " + std::to_string(most));
  }
  return *value;
}

void read_parameter(RedisPlace& place, std::string_view name, const std::string& value) {
  if (name == "prefix") {
    place.prefix = value;
    if (value.empty() || value.size() > prefix_bytes) {
      refuse(place.shown, "has a prefix of " + std::to_string(value.size()) + " bytes; expected 1 to 100");
    }
  } else if (name == "timeout" || name == "connect_timeout") {
    const Duration duration = parse_duration(value, name);
    if (duration < std::chrono::milliseconds(1) || duration > std::chrono::minutes(10)) {
      refuse(place.shown, "has a " + std::string(name) + " out of range; expected 1ms to 10m");
    }
    (name == "timeout" ? place.timeout : place.connect_timeout) = duration;
  } else if (name == "connections") {
    place.connections =
        static_cast<std::size_t>(number(value, place.shown, "number of connections", 1, most_connections));
  } else if (name == "database") {
    place.database = number(value, place.shown, "database number", 0, most_databases);
  } else if (name == "ca_file" || name == "cert_file" || name == "key_file") {
    if (!place.tls) { refuse(place.shown, "has a " + std::string(name) + ", which goes with rediss:// only"); }
    std::string& file = name == "ca_file"     ? place.tls_files.ca
                        : name == "cert_file" ? place.tls_files.cert
                                              : place.tls_files.key;
    if (value.empty()) { refuse(place.shown, "names no file as its " + std::string(name)); }
    file = value;
  } else {
    refuse(place.shown, "has an unknown parameter " + base::quoted(name) +
                            "; expected prefix, timeout, connect_timeout, connections, database, ca_file, cert_file or "
                            "key_file");
  }
}

void read_parameters(RedisPlace& place, std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('&'), text.size());
    const std::string_view one = text.substr(0, end);
    const std::size_t equals = one.find('=');
    if (equals == std::string_view::npos) { refuse(place.shown, "has a parameter without a value"); }
    read_parameter(place, one.substr(0, equals), decoded(one.substr(equals + 1)));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

void read_user(RedisPlace& place, std::string_view text) {
  const std::size_t colon = text.find(':');
  place.user = decoded(text.substr(0, colon));
  if (colon != std::string_view::npos) { place.password = decoded(text.substr(colon + 1)); }
}

void read_address(RedisPlace& place, std::string_view text) {
  const std::size_t slash = text.find('/');
  if (slash != std::string_view::npos && slash + 1 < text.size()) {
    place.database = number(text.substr(slash + 1), place.shown, "database number", 0, most_databases);
  }
  std::string_view address = text.substr(0, slash);
  std::size_t colon = address.rfind(':');
  if (address.starts_with('[')) {  // an IPv6 address
    const std::size_t bracket = address.find(']');
    if (bracket == std::string_view::npos) { refuse(place.shown, "has no valid host"); }
    colon = bracket + 1 < address.size() ? bracket + 1 : std::string_view::npos;
    if (colon != std::string_view::npos && address[colon] != ':') { refuse(place.shown, "has no valid host"); }
    place.host = std::string(address.substr(1, bracket - 1));
  } else if (const std::string_view host = address.substr(0, colon); !host.empty()) {
    place.host = decoded(host);
  }
  if (colon != std::string_view::npos) {
    place.port = number(address.substr(colon + 1), place.shown, "port", 1, 65535);
  }
}

}  // namespace

bool is_redis_url(const std::string& url) {
  return url.starts_with(tcp_scheme) || url.starts_with(socket_scheme) || url.starts_with(tls_scheme);
}

RedisPlace parse_redis_url(const std::string& url) {
  RedisPlace place;
  place.shown = store::display_url(url);
  place.tls = url.starts_with(tls_scheme);
  const bool is_socket = url.starts_with(socket_scheme);
  if (!is_redis_url(url)) {
    refuse(place.shown,
           "is not a Redis URL; expected redis://host:6379/0, rediss:// for TLS, or redis+unix:///run/redis.sock");
  }
  std::string_view rest = std::string_view(url).substr(url.find("://") + 3);
  // The last @ counts, as a password may contain an unescaped one.
  const std::size_t question = std::min(rest.find('?'), rest.size());
  if (const std::size_t at = rest.substr(0, question).rfind('@'); at != std::string_view::npos) {
    read_user(place, rest.substr(0, at));
    rest.remove_prefix(at + 1);
  }
  const std::size_t parameters = rest.find('?');
  const std::string_view address = rest.substr(0, parameters);
  if (is_socket) {
    place.socket = decoded(address);
    if (!place.socket.starts_with('/')) { refuse(place.shown, "names no socket; expected an absolute path"); }
  } else {
    read_address(place, address);
  }
  if (parameters != std::string_view::npos) { read_parameters(place, rest.substr(parameters + 1)); }
  if (place.tls_files.cert.empty() != place.tls_files.key.empty()) {
    refuse(place.shown, "has one of cert_file and key_file; expected both or none");
  }
  return place;
}

}  // namespace hapax::guard
