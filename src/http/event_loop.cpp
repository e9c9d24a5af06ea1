#include "http/event_loop.hpp"

#include "http/connection.hpp"

#include <boost/asio/post.hpp>

#include <array>
#include <ctime>
#include <vector>

namespace hapax::http {

EventLoop::EventLoop(std::shared_ptr<ServerState> state)
    : state_(std::move(state)),
      io_(std::make_shared<boost::asio::io_context>(1)),
      wakeups_(std::make_shared<ConnectionWakeups>(io_)),
      work_(io_->get_executor()),
      timer_(*io_) {}

EventLoop::~EventLoop() { stop(); }

void EventLoop::start() {
  thread_ = std::thread([this] {
    const base::AlternateStack alternate;
    check_deadlines();
    io_->run();
  });
}

void EventLoop::stop() {
  io_->stop();
  if (!thread_.joinable()) { return; }
  thread_.join();
  // Cancelled handlers must still run, because they own their connections.
  timer_.cancel();
  work_.reset();
  io_->restart();
  io_->poll();
}

void EventLoop::adopt(Socket socket, AcceptedFrom accepted_from) {
  boost::asio::post(*io_, [this, socket = std::move(socket), accepted_from]() mutable {
    std::shared_ptr<Connection> connection;
    try {
      connection = std::make_shared<Connection>(*this, std::move(socket), accepted_from);
      connections_.emplace(connection.get(), connection);
    } catch (const std::bad_alloc&) {
      // No memory for its stack: this connection is closed, the others go on.
      if (connection) { connections_.erase(connection.get()); }
      state_->gone();
      return;
    }
    connection->start();
  });
}

void EventLoop::remove(const Connection& connection) {
  connections_.erase(&connection);
  state_->gone();
}

void EventLoop::drain() {
  boost::asio::post(*io_, [this] {
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [key, connection] : connections_) { all.push_back(connection); }
    for (const auto& connection : all) { connection->drain(); }
  });
}

void EventLoop::close_all() {
  boost::asio::post(*io_, [this] {
    std::vector<std::shared_ptr<Connection>> all;
    for (const auto& [key, connection] : connections_) { all.push_back(connection); }
    for (const auto& connection : all) { connection->shut_down(); }
  });
}

void EventLoop::check_deadlines() {
  const Clock::time_point now = Clock::now();
  for (const auto& [key, connection] : connections_) { connection->check_deadlines(now); }
  timer_.expires_at(now + deadline_interval);
  timer_.async_wait([this](const boost::system::error_code& error) {
    if (!error) { check_deadlines(); }
  });
}

const std::string& EventLoop::date() {
  const std::time_t now = std::time(nullptr);
  if (now != date_of_ || date_.empty()) {
    std::tm parts{};
    gmtime_r(&now, &parts);
    std::array<char, 64> text{};
    const std::size_t length = std::strftime(text.data(), text.size(), "%a, %d %b %Y %H:%M:%S GMT", &parts);
    date_.assign(text.data(), length);
    date_of_ = now;
  }
  return date_;
}

}  // namespace hapax::http
