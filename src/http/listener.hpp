// Listener: accepts connections on one address and gives them to the event loops in turn.
#pragma once

#include "http/event_loop.hpp"

#include <boost/asio/ip/tcp.hpp>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace hapax::http {

// The server makes and destroys a Listener, which accepts on the first loop's thread.
class Listener {
 public:
  // Binds to an address such as "127.0.0.1:7171", "[::1]:7171" or "localhost:7171". Throws ConfigurationError.
  Listener(const std::string& address, std::shared_ptr<ServerState> state,
           const std::vector<std::shared_ptr<EventLoop>>& loops);
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  void start();
  // Any thread: accepts no more connections; the address is free on return, unless the loop is stuck.
  void stop();
  [[nodiscard]] const std::string& address() const { return bound_; }

 private:
  using Acceptor = boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor>;
  // Shared with the loop's handlers, which may run after the listener is gone.
  struct Accepting;

  std::shared_ptr<Accepting> accepting_;
  std::string bound_;
};

}  // namespace hapax::http
