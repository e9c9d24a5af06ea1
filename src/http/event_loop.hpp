// EventLoop: a thread and the connections that live on it.
#pragma once

#include "base/stack.hpp"
#include "http/connection_wakeups.hpp"
#include "http/state.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <unordered_map>

namespace hapax::http {

class Connection;

using Clock = std::chrono::steady_clock;
using Executor = boost::asio::io_context::executor_type;
using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;
using Timer = boost::asio::basic_waitable_timer<Clock, boost::asio::wait_traits<Clock>, Executor>;

// Facts about a connection that its listener knows.
struct AcceptedFrom {
  bool loopback = false;
  bool over_limit = false;  // too many connections are open: the server answers 503
};

// Made and destroyed by the server. adopt(), drain(), close_all() and wakeups() are for any thread, everything else for
// the loop's own.
class EventLoop {
 public:
  explicit EventLoop(std::shared_ptr<ServerState> state);
  EventLoop(const EventLoop&) = delete;
  EventLoop& operator=(const EventLoop&) = delete;
  ~EventLoop();

  [[nodiscard]] boost::asio::io_context& io() { return *io_; }
  // The list may outlive the loop; adding to it then does nothing.
  [[nodiscard]] const std::shared_ptr<ConnectionWakeups>& wakeups() const { return wakeups_; }
  [[nodiscard]] ServerState& state() { return *state_; }
  [[nodiscard]] base::StackPool& stacks() { return stacks_; }

  void start();
  // Ends the thread, even while connections are served.
  void stop();

  // Any thread: starts to serve a new connection.
  void adopt(Socket socket, AcceptedFrom accepted_from);
  void remove(const Connection& connection);

  // Any thread: ends waits and idle connections; busy connections go on.
  void drain();
  // Any thread: shuts down the sockets of all connections.
  void close_all();

  // The time for the Date header; formatted anew once a second.
  [[nodiscard]] const std::string& date();

 private:
  // How often deadlines are checked. One timer serves all connections, as most deadlines are replaced before they are
  // due.
  static constexpr std::chrono::milliseconds deadline_interval{100};
  static constexpr std::size_t stack_bytes = 256 << 10;
  void check_deadlines();

  std::shared_ptr<ServerState> state_;
  std::shared_ptr<boost::asio::io_context> io_;
  std::shared_ptr<ConnectionWakeups> wakeups_;
  boost::asio::executor_work_guard<Executor> work_;
  Timer timer_;
  base::StackPool stacks_{stack_bytes};
  std::unordered_map<const Connection*, std::shared_ptr<Connection>> connections_;
  std::string date_;
  std::time_t date_of_ = 0;
  std::thread thread_;
};

}  // namespace hapax::http
