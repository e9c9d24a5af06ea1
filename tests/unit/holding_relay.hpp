// A relay in front of a server on loopback, for tests of lost answers. It can keep what its clients send, cut the
// clients off while the server's side stays open, and deliver later what it kept.
#pragma once

#include <arpa/inet.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace hapax::store {

class HoldingRelay {
 public:
  explicit HoldingRelay(std::uint16_t server_port) : server_port_(server_port) {
    listener_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address = loopback(0);
    socklen_t size = sizeof(address);
    if (::bind(listener_, reinterpret_cast<sockaddr*>(&address), size) != 0 || ::listen(listener_, 64) != 0 ||
        ::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size) != 0) {
      throw std::runtime_error("the relay has no port");
    }
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  HoldingRelay(const HoldingRelay&) = delete;
  HoldingRelay& operator=(const HoldingRelay&) = delete;
  ~HoldingRelay() {
    stopping_ = true;
    thread_.join();
    for (const auto& link : links_) { link->close_both(); }
    ::close(listener_);
  }

  [[nodiscard]] std::uint16_t port() const { return port_; }

  // Keeps what the present clients send from now on; later clients are served.
  void hold() {
    const std::lock_guard lock(mutex_);
    for (const auto& link : links_) { link->held = true; }
  }
  [[nodiscard]] std::size_t held_bytes() {
    const std::lock_guard lock(mutex_);
    std::size_t bytes = 0;
    for (const auto& link : links_) { bytes += link->kept.size(); }
    return bytes;
  }
  // Closes the connections of the held clients; the server's side stays open.
  void cut_clients() {
    const std::lock_guard lock(mutex_);
    for (const auto& link : links_) {
      if (link->held) { link->close_client(); }
    }
  }
  // Sends the kept bytes to the server.
  void deliver() {
    const std::lock_guard lock(mutex_);
    answered_ = 0;
    for (const auto& link : links_) {
      if (!link->held || link->server < 0) { continue; }
      send_all(link->server, link->kept);
      link->kept.clear();
    }
  }
  // Bytes that the server has answered since deliver().
  [[nodiscard]] std::size_t answered_bytes() const { return answered_; }
  void cut_server() {
    const std::lock_guard lock(mutex_);
    for (const auto& link : links_) {
      if (link->held) { link->close_both(); }
    }
  }

 private:
  struct Link {
    int client = -1;
    int server = -1;
    bool held = false;
    std::string kept;

    void close_client() {
      if (client >= 0) { ::close(client); }
      client = -1;
    }
    void close_both() {
      close_client();
      if (server >= 0) { ::close(server); }
      server = -1;
    }
  };

  static sockaddr_in loopback(std::uint16_t port) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_port = htons(port);
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    return address;
  }

  static void send_all(int to, std::string_view bytes) {
    while (!bytes.empty()) {
      const ssize_t sent = ::send(to, bytes.data(), bytes.size(), MSG_NOSIGNAL);
      if (sent <= 0) { return; }
      bytes.remove_prefix(static_cast<std::size_t>(sent));
    }
  }

  void accept_one() {
    auto link = std::make_unique<Link>();
    link->client = ::accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC);
    link->server = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const sockaddr_in address = loopback(server_port_);
    if (link->client < 0 ||
        ::connect(link->server, reinterpret_cast<const sockaddr*>(&address), sizeof(address)) != 0) {
      link->close_both();
      return;
    }
    links_.push_back(std::move(link));
  }

  void from_client(Link& link, std::string_view bytes) {
    if (link.held) {
      link.kept += bytes;
    } else if (bytes.empty()) {
      link.close_both();
    } else {
      send_all(link.server, bytes);
    }
    if (bytes.empty()) { link.close_client(); }
  }

  void from_server(Link& link, std::string_view bytes) {
    if (bytes.empty()) { return link.close_both(); }
    if (link.held) { answered_ += bytes.size(); }
    if (link.client >= 0) { send_all(link.client, bytes); }
  }

  void run() {
    while (!stopping_) {
      std::vector<pollfd> sockets{{.fd = listener_, .events = POLLIN, .revents = 0}};
      const std::unique_lock waiting(mutex_);
      for (const auto& link : links_) {
        sockets.push_back({.fd = link->client, .events = POLLIN, .revents = 0});
        sockets.push_back({.fd = link->server, .events = POLLIN, .revents = 0});
      }
      // A short timeout, because the mutex is held so that no socket is closed while it is polled.
      if (::poll(sockets.data(), sockets.size(), 1) > 0) { pass_on(sockets); }
    }
  }

  void pass_on(const std::vector<pollfd>& sockets) {
    std::string buffer(64 << 10, '\0');
    for (std::size_t i = 1; i < sockets.size(); ++i) {
      if (sockets[i].fd < 0 || sockets[i].revents == 0) { continue; }
      Link& link = *links_[(i - 1) / 2];
      const bool is_client = i % 2 == 1;
      if ((is_client ? link.client : link.server) != sockets[i].fd) { continue; }  // closed since the poll
      const ssize_t got = ::recv(sockets[i].fd, buffer.data(), buffer.size(), 0);
      const std::string_view bytes(buffer.data(), got > 0 ? static_cast<std::size_t>(got) : 0);
      is_client ? from_client(link, bytes) : from_server(link, bytes);
    }
    if (sockets[0].revents != 0) { accept_one(); }
  }

  const std::uint16_t server_port_;
  std::uint16_t port_ = 0;
  int listener_ = -1;
  std::atomic<bool> stopping_ = false;
  std::atomic<std::size_t> answered_ = 0;
  std::mutex mutex_;
  std::vector<std::unique_ptr<Link>> links_;  // guarded by mutex_
  std::thread thread_;
};

}  // namespace hapax::store
