#include "telemetry/loopback_listener.hpp"

#include <hapax/error.hpp>
#include <hapax/prometheus.hpp>

#include "base/text.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <cstdint>
#include <cstring>
#include <utility>

namespace hapax::telemetry {

namespace {

constexpr int out_of_descriptors_pause_ms = 100;

struct Place {
  sockaddr_storage address{};
  socklen_t bytes = 0;
};

[[noreturn]] void refuse_address(std::string_view text, const std::string& why) {
  throw InvalidArgument(
      "listen", base::quoted(text) + " " + why + "; expected a loopback address and a port, such as 127.0.0.1:9464");
}

Place loopback_place(std::string_view text) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) { refuse_address(text, "has no port"); }
  std::string host(text.substr(0, colon));
  const std::string_view digits = text.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  if (error != std::errc{} || end != digits.data() + digits.size()) { refuse_address(text, "has a port that is none"); }
  if (host == "localhost") { host = "127.0.0.1"; }
  if (host.starts_with('[') && host.ends_with(']')) { host = host.substr(1, host.size() - 2); }
  Place place;
  sockaddr_in four{};
  sockaddr_in6 six{};
  if (inet_pton(AF_INET, host.c_str(), &four.sin_addr) == 1) {
    if ((ntohl(four.sin_addr.s_addr) >> 24) != 127) { refuse_address(text, "is not of the loopback"); }
    four.sin_family = AF_INET;
    four.sin_port = htons(port);
    place.bytes = sizeof four;
    std::memcpy(&place.address, &four, sizeof four);
  } else if (inet_pton(AF_INET6, host.c_str(), &six.sin6_addr) == 1) {
    if (IN6_IS_ADDR_LOOPBACK(&six.sin6_addr) == 0) { refuse_address(text, "is not of the loopback"); }
    six.sin6_family = AF_INET6;
    six.sin6_port = htons(port);
    place.bytes = sizeof six;
    std::memcpy(&place.address, &six, sizeof six);
  } else {
    refuse_address(text, "is no IP address");
  }
  return place;
}

std::string text_of(const sockaddr_storage& address) {
  std::array<char, INET6_ADDRSTRLEN> host{};
  if (address.ss_family == AF_INET) {
    sockaddr_in four{};
    std::memcpy(&four, &address, sizeof four);
    inet_ntop(AF_INET, &four.sin_addr, host.data(), host.size());
    return std::string(host.data()) + ":" + std::to_string(ntohs(four.sin_port));
  }
  sockaddr_in6 six{};
  std::memcpy(&six, &address, sizeof six);
  inet_ntop(AF_INET6, &six.sin6_addr, host.data(), host.size());
  return "[" + std::string(host.data()) + "]:" + std::to_string(ntohs(six.sin6_port));
}

std::string response(std::string_view status, std::string_view type, std::string_view body, bool with_body) {
  std::string text = "HTTP/1.1 " + std::string(status) + "\r\nContent-Type: " + std::string(type) +
                     "\r\nContent-Length: " + std::to_string(body.size()) +
                     "\r\nConnection: close\r\nX-Content-Type-Options: nosniff\r\n\r\n";
  if (with_body) { text += body; }
  return text;
}

std::string refusal(std::string_view status) {
  return response(status, "text/plain", std::string(status) + "\n", true);
}

// A page of another site, whose name was made to lead here, must not read the metrics.
bool names_loopback(std::string_view host) {
  if (host.starts_with('[')) { return host.substr(0, host.find(']') + 1) == "[::1]"; }
  host = host.substr(0, host.find(':'));
  return host == "localhost" || (host.starts_with("127.") && host.find_first_not_of("0123456789.") == host.npos);
}

}  // namespace

std::string LoopbackListener::answer(std::string_view head, const std::function<std::string()>& text) {
  const std::size_t line = head.find("\r\n");
  const std::string_view first = head.substr(0, line);
  const std::size_t method_end = first.find(' ');
  const std::size_t path_end = first.find(' ', method_end == first.npos ? first.size() : method_end + 1);
  if (line == head.npos || path_end == first.npos || !first.substr(path_end + 1).starts_with("HTTP/1.")) {
    return refusal("400 Bad Request");
  }
  int hosts = 0;
  for (std::size_t at = line + 2; at < head.size();) {
    const std::size_t end = std::min(head.find("\r\n", at), head.size());
    const std::string_view header = head.substr(at, end - at);
    at = end + 2;
    const std::size_t colon = header.find(':');
    if (colon == header.npos || base::lower(header.substr(0, colon)) != "host") { continue; }
    ++hosts;
    if (!names_loopback(base::trimmed(header.substr(colon + 1)))) { return refusal("403 Forbidden"); }
  }
  if (hosts > 1 || (hosts == 0 && first.ends_with("/1.1"))) { return refusal("400 Bad Request"); }
  const std::string_view method = first.substr(0, method_end);
  std::string_view path = first.substr(method_end + 1, path_end - method_end - 1);
  path = path.substr(0, path.find('?'));
  if (path != "/metrics") { return refusal("404 Not Found"); }
  if (method != "GET" && method != "HEAD") { return refusal("405 Method Not Allowed"); }
  return response("200 OK", prometheus_content_type, text(), method == "GET");
}

LoopbackListener::LoopbackListener(std::string_view address, std::function<std::string()> text)
    : text_(std::move(text)) {
  Place place = loopback_place(address);
  const auto fail = [&](const char* what) {
    const std::string why = std::strerror(errno);
    if (socket_ >= 0) { ::close(socket_); }
    if (stop_ >= 0) { ::close(stop_); }
    throw ConfigurationError("the metrics listener cannot " + std::string(what) + " at " + base::echo(address) + ": " +
                             why);
  };
  socket_ = ::socket(place.address.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (socket_ < 0) { fail("open a socket"); }
  const int yes = 1;
  (void)::setsockopt(socket_, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes);
  if (::bind(socket_, reinterpret_cast<const sockaddr*>(&place.address), place.bytes) != 0 ||
      ::listen(socket_, static_cast<int>(listener_connections)) != 0 ||
      ::getsockname(socket_, reinterpret_cast<sockaddr*>(&place.address), &place.bytes) != 0) {
    fail("listen");
  }
  address_ = text_of(place.address);
  stop_ = ::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (stop_ < 0) { fail("open an event"); }
  thread_ = std::thread([this] { loop(); });
}

LoopbackListener::~LoopbackListener() {
  const std::uint64_t one = 1;
  (void)!::write(stop_, &one, sizeof one);
  thread_.join();
  for (const Connection& connection : connections_) { ::close(connection.socket); }
  ::close(socket_);
  ::close(stop_);
}

void LoopbackListener::accept_one() {
  const int socket = ::accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) {
    // Without a free descriptor the connection stays in the backlog, and the next poll() returns at once.
    const bool is_out_of_descriptors = errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM;
    pollfd stop{.fd = stop_, .events = POLLIN, .revents = 0};
    if (is_out_of_descriptors) { (void)::poll(&stop, 1, out_of_descriptors_pause_ms); }
    return;
  }
  connections_.push_back({.socket = socket, .in = {}, .out = {}, .until = Clock::now() + listener_patience});
}

bool LoopbackListener::serve(Connection& connection) const {
  if (connection.out.empty()) {
    std::array<char, 4096> chunk{};
    const ssize_t got = ::recv(connection.socket, chunk.data(), chunk.size(), 0);
    if (got < 0) { return errno == EAGAIN || errno == EINTR; }
    if (got == 0) { return false; }
    connection.in.append(chunk.data(), static_cast<std::size_t>(got));
    const std::size_t end = connection.in.find("\r\n\r\n");
    if (end == std::string::npos && connection.in.size() <= listener_head_bytes) { return true; }
    connection.out = end == std::string::npos || end > listener_head_bytes
                         ? refusal("431 Request Header Fields Too Large")
                         : answer(std::string_view(connection.in).substr(0, end + 2), text_);
    connection.until = Clock::now() + listener_patience;
  }
  const ssize_t sent = ::send(connection.socket, connection.out.data(), connection.out.size(), MSG_NOSIGNAL);
  if (sent < 0) { return errno == EAGAIN || errno == EINTR; }
  connection.out.erase(0, static_cast<std::size_t>(sent));
  return !connection.out.empty();
}

void LoopbackListener::loop() {
  while (true) {
    std::vector<pollfd> watched{{.fd = stop_, .events = POLLIN, .revents = 0}};
    const bool has_room = connections_.size() < listener_connections;
    watched.push_back({.fd = has_room ? socket_ : -1, .events = POLLIN, .revents = 0});
    Clock::time_point next = Clock::time_point::max();
    for (const Connection& connection : connections_) {
      watched.push_back({.fd = connection.socket,
                         .events = static_cast<short>(connection.out.empty() ? POLLIN : POLLOUT),
                         .revents = 0});
      next = std::min(next, connection.until);
    }
    int wait = -1;
    if (!connections_.empty()) {
      const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
      wait = static_cast<int>(std::max<std::chrono::milliseconds::rep>(0, left.count()));
    }
    if (::poll(watched.data(), watched.size(), wait) < 0 && errno != EINTR) { return; }
    if ((watched[0].revents & POLLIN) != 0) { return; }
    const Clock::time_point now = Clock::now();
    std::vector<Connection> kept;
    for (std::size_t i = 0; i < connections_.size(); ++i) {
      Connection& connection = connections_[i];
      const bool over = watched[i + 2].revents != 0 ? !serve(connection) : now >= connection.until;
      if (over) {
        ::close(connection.socket);
      } else {
        kept.push_back(std::move(connection));
      }
    }
    connections_ = std::move(kept);
    if (watched[1].revents != 0) { accept_one(); }
  }
}

}  // namespace hapax::telemetry
