#include "clients.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <stdexcept>
#include <string_view>

namespace http_bench {

namespace {

[[noreturn]] void fail(const std::string& what) { throw std::runtime_error(what + ": " + std::strerror(errno)); }

std::int64_t count_of(std::string_view text, std::string_view mark) {
  std::int64_t count = 0;
  for (std::size_t at = text.find(mark); at != std::string_view::npos; at = text.find(mark, at + mark.size())) {
    ++count;
  }
  return count;
}

class Client {
 public:
  explicit Client(const Load& load) : load_(load), socket_(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
    if (socket_ < 0) { fail("socket"); }
    sockaddr_in to{};
    to.sin_family = AF_INET;
    to.sin_port = htons(load.port);
    to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    if (::connect(socket_, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) { fail("connect"); }
    const int yes = 1;
    (void)::setsockopt(socket_, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
    (void)::fcntl(socket_, F_SETFL, O_NONBLOCK);
  }
  ~Client() { ::close(socket_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  [[nodiscard]] int socket() const { return socket_; }
  [[nodiscard]] double last_took_ms() const { return took_ms_; }

  void ask() {
    begun_ = Clock::now();
    sent_ = 0;
    in_.clear();
    send_more();
  }

  void send_more() {
    while (sent_ < load_.request.size()) {
      const ssize_t sent = ::send(socket_, load_.request.data() + sent_, load_.request.size() - sent_, MSG_NOSIGNAL);
      if (sent < 0) {
        if (errno == EAGAIN) { return; }
        fail("send");
      }
      sent_ += static_cast<std::size_t>(sent);
    }
  }

  // Returns true when an answer is complete.
  bool receive_more() {
    std::array<char, 65536> room;
    while (true) {
      const ssize_t received = ::recv(socket_, room.data(), room.size(), 0);
      if (received == 0) { throw std::runtime_error("the server closed a connection: " + in_.substr(0, 500)); }
      if (received < 0) {
        if (errno == EAGAIN) { return false; }
        fail("recv");
      }
      in_.append(room.data(), static_cast<std::size_t>(received));
      if (is_whole()) {
        check();
        took_ms_ = std::chrono::duration<double, std::milli>(Clock::now() - begun_).count();
        return true;
      }
      if (static_cast<std::size_t>(received) < room.size()) { return false; }
    }
  }

 private:
  bool is_whole() {
    const std::size_t head = in_.find("\r\n\r\n");
    if (head == std::string::npos) { return false; }
    const std::string_view headers(in_.data(), head);
    constexpr std::string_view length_name = "\r\nContent-Length: ";
    const std::size_t at = headers.find(length_name);
    if (at == std::string_view::npos) { return std::string_view(in_).ends_with("\r\n0\r\n\r\n"); }
    std::size_t length = 0;
    const char* begin = headers.data() + at + length_name.size();
    std::from_chars(begin, headers.data() + headers.size(), length);
    return in_.size() >= head + 4 + length;
  }

  void check() const {
    const std::string expected = "HTTP/1.1 " + std::to_string(load_.status) + " ";
    if (!in_.starts_with(expected) || count_of(in_, load_.mark) != load_.marks_each) {
      throw std::runtime_error("an answer that was not expected: " + in_.substr(0, 500));
    }
  }

  const Load& load_;
  int socket_;
  std::size_t sent_ = 0;
  std::string in_;
  Clock::time_point begun_;
  double took_ms_ = 0;
};

class Poll {
 public:
  Poll() : fd_(::epoll_create1(EPOLL_CLOEXEC)) {
    if (fd_ < 0) { fail("epoll_create1"); }
  }
  ~Poll() { ::close(fd_); }
  Poll(const Poll&) = delete;
  Poll& operator=(const Poll&) = delete;

  void add(Client& client) const {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLOUT | EPOLLET;
    event.data.ptr = &client;
    if (::epoll_ctl(fd_, EPOLL_CTL_ADD, client.socket(), &event) != 0) { fail("epoll_ctl"); }
  }

  template <class Function>
  void each(const Function& fn) const {
    std::array<epoll_event, 64> events;
    const int count = ::epoll_wait(fd_, events.data(), static_cast<int>(events.size()), 1000);
    for (int i = 0; i < count; ++i) {
      const epoll_event& event = events[static_cast<std::size_t>(i)];
      fn(*static_cast<Client*>(event.data.ptr), event.events);
    }
  }

 private:
  int fd_;
};

}  // namespace

Measured measure(const Load& load) {
  std::vector<std::unique_ptr<Client>> clients;
  for (int i = 0; i < load.connections; ++i) { clients.push_back(std::make_unique<Client>(load)); }
  const Poll poll;
  for (const auto& client : clients) {
    poll.add(*client);
    client->ask();
  }
  Measured measured;
  const auto begun = Clock::now();
  const auto from = begun + std::chrono::duration_cast<Clock::duration>(load.warm_up);
  const auto until = from + std::chrono::duration_cast<Clock::duration>(load.measured);
  auto now = begun;
  auto last_answer = begun;
  while (now < until) {
    poll.each([&](Client& client, std::uint32_t what) {
      if ((what & EPOLLOUT) != 0) { client.send_more(); }
      if ((what & (EPOLLIN | EPOLLHUP | EPOLLERR)) == 0 || !client.receive_more()) { return; }
      last_answer = Clock::now();
      if (last_answer >= from && last_answer < until) {
        ++measured.answers;
        measured.took_ms.push_back(client.last_took_ms());
      }
      client.ask();
    });
    now = Clock::now();
    if (now - last_answer > std::chrono::seconds(30)) { throw std::runtime_error("no answer for 30 seconds"); }
  }
  measured.seconds = load.measured.count();
  return measured;
}

}  // namespace http_bench
