#include "http/connection_wakeups.hpp"

#include "http/connection.hpp"

#include <boost/asio/post.hpp>

#include <utility>

namespace hapax::http {

void ConnectionWakeups::add(One one) {
  {
    const std::lock_guard lock(mutex_);
    waiting_.push_back(std::move(one));
    if (std::exchange(coming_, true)) { return; }
  }
  try {
    // The job has a weak pointer, because the loop's io_context, which this object owns, owns the posted job.
    boost::asio::post(*io_, [weak = weak_from_this()] {
      if (const std::shared_ptr<ConnectionWakeups> self = weak.lock()) { self->run(); }
    });
  } catch (...) {
    const std::lock_guard lock(mutex_);
    coming_ = false;
    throw;
  }
}

void ConnectionWakeups::run() {
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

}  // namespace hapax::http
