#include "server/wakes.hpp"

#include "server/connection.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace hapax::server {

void Wakes::add(One one) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(one));
    if (std::exchange(coming_, true)) { return; }
  }
  try {
    // Not owned by what waits in the queue: that would own the queue in turn.
    boost::asio::post(*io_, [weak = weak_from_this()] {
      if (const std::shared_ptr<Wakes> self = weak.lock()) { self->run(); }
    });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    coming_ = false;
    throw;
  }
}

void Wakes::run() {
  {
    const std::lock_guard lock(mutex_);
    running_.swap(waiting_);
    coming_ = false;
  }
  for (const One& one : running_) {
    if (const std::shared_ptr<Connection> connection = one.connection.lock()) { connection->wake(one.ticket); }
  }
  running_.clear();
}

}  // namespace hapax::server
