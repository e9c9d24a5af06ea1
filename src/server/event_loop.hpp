// EventLoop: a thread and the connections that live on it.
#pragma once

#include "server/state.hpp"
#include "server/wakes.hpp"
#include "workflow/stack.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

namespace hapax::server {

class Connection;

using Clock = std::chrono::steady_clock;
using Executor = boost::asio::io_context::executor_type;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
using Timer = boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor>;

// What a listener says of the connections that come through it.
struct Door {
  bool loopback = false;
  bool over_limit = false;  // there are too many: each is answered 503
};

// Made and ended by the server; everything but post() and adopt() is for its own thread.
class EventLoop {
 public:
  explicit EventLoop(std::shared_ptr<ServerState> state);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  [[nodiscard]] boost::asio::io_context& io() { return *io_; }
  // For who may outlive the loop: adding to it then does nothing.
  [[nodiscard]] const std::shared_ptr<Wakes>& wakes() const { return wakes_; }
  [[nodiscard]] ServerState& state() { return *state_; }
  [[nodiscard]] workflow::StackPool& stacks() { return stacks_; }

  void start();
  // Ends the thread, whatever is going on.
  void stop();

  // Any thread: a new connection begins here.
  void adopt(Socket socket, Door door);
  void remove(const Connection& connection);

  // Any thread: ends waits and idle connections; those that are busy go on.
  void drain();
  // Any thread: connections lose their sockets.
  void close_all();

  // As the header Date spells it; made anew once a second.
  [[nodiscard]] const std::string& date();

 private:
  // Timers of connections are looked at so often: one timer for all, as most of theirs are set anew before they are due.
  static constexpr std::chrono::milliseconds look_interval{100};
  static constexpr std::size_t stack_bytes = 256 << 10;
  void look();

  std::shared_ptr<ServerState> state_;
  std::shared_ptr<boost::asio::io_context> io_;
  std::shared_ptr<Wakes> wakes_;
  boost::asio::executor_work_guard<Executor> work_;
  Timer timer_;
  workflow::StackPool stacks_{stack_bytes};
  std::unordered_map<const Connection*, std::shared_ptr<Connection>> connections_;
  std::string date_;
  std::time_t date_of_ = 0;
  std::thread thread_;
};

}  // namespace hapax::server
