// Listener: one address, and the connections that come to it, given to the event loops in turn.
#pragma once

#include "server/event_loop.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace hapax::server {

// Made and ended by the server; accepts on the first loop's thread.
class Listener {
 public:
  // Binds. "127.0.0.1:7171", "[::1]:7171", "localhost:7171". Throws ConfigurationError.
  Listener(const std::string& address, std::shared_ptr<ServerState> state,
           const std::vector<std::shared_ptr<EventLoop>>& loops);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void start();
  // Any thread: takes no more; the address is free when it returns, unless the loop is stuck.
  void stop();
  [[nodiscard]] const std::string& address() const { return bound_; }

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor>;
  // Shared with the handlers of the loop, which may come after the listener.
  struct Accepting;

  std::shared_ptr<Accepting> accepting_;
  std::string bound_;
};

}  // namespace hapax::server
