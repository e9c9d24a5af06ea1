// ConnectionWakeups: collects wakeups, from any thread, for the connections of one event loop.
#pragma once

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hapax::http {

class Connection;

// One commit of the store can answer many calls: their wakeups run as one job of the loop, however many there are. The
// object may outlive the loop and its connections, whose wakeups then do nothing.
class ConnectionWakeups : public std::enable_shared_from_this<ConnectionWakeups> {
 public:
  struct One {
    std::weak_ptr<Connection> connection;
    std::uint64_t ticket = 0;  // the wait that is over
  };

  explicit ConnectionWakeups(std::shared_ptr<boost::asio::io_context> io) : io_(std::move(io)) {}
  ConnectionWakeups(const ConnectionWakeups&) = delete;
  ConnectionWakeups& operator=(const ConnectionWakeups&) = delete;

  // Any thread; returns at once.
  void add(One one);

 private:
  void run();  // on the loop's thread

  const std::shared_ptr<boost::asio::io_context> io_;
  std::mutex mutex_;
  std::vector<One> waiting_;
  bool coming_ = false;       // run() is posted
  std::vector<One> running_;  // used by the loop's thread; swapped with waiting_
};

}  // namespace hapax::http
