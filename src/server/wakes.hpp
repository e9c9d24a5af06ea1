// Wakes: connections of one event loop that are to go on, told by any thread.
#pragma once

#include <boost/asio/io_context.hpp>

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

namespace hapax::server {

class Connection;

// A store's commit answers many calls at once: they come as one job of the loop's, however many they are. May outlive the
// loop and its connections; then nobody is woken.
class Wakes : public std::enable_shared_from_this<Wakes> {
 public:
  struct One {
    std::weak_ptr<Connection> connection;
    std::uint64_t ticket = 0;  // the wait that is over
  };

  explicit Wakes(std::shared_ptr<boost::asio::io_context> io) : io_(std::move(io)) {}
  Wakes(const Wakes&) = delete;
  Wakes& operator=(const Wakes&) = delete;

  // Any thread; returns at once.
  void add(One one);

 private:
  void run();  // on the loop's thread

  const std::shared_ptr<boost::asio::io_context> io_;
  std::mutex mutex_;
  std::vector<One> waiting_;
  bool coming_ = false;       // run() is on its way
  std::vector<One> running_;  // of the loop's thread; the two change places
};

}  // namespace hapax::server
