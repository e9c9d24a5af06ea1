#include "store/postgres/pool.hpp"

#include <hapax/error.hpp>

#include <unistd.h>

namespace hapax::store::postgres {

Pool::Pool(const Settings& settings) : settings_(settings), pid_(getpid()) {}

Pool::~Pool() {
  if (getpid() == pid_) { return; }
  // In a forked child: closing the shared sockets properly would end the parent's sessions, so the connections are
  // leaked.
  for (auto& idle : idle_) {
    for (auto& connection : idle) { (void)connection.release(); }
  }
}

Pool::Lease::~Lease() {
  if (connection_ != nullptr) { pool_->give_back(std::move(connection_), planning_); }
}

void Pool::check_process() const {
  if (getpid() != pid_) {
    throw UsageError("this store was opened before fork(); a child process opens a store of its own");
  }
}

Pool::Lease Pool::acquire(Planning planning) {
  check_process();
  auto& mine = idle_[static_cast<int>(planning)];
  auto& others = idle_[1 - static_cast<int>(planning)];
  std::unique_ptr<Connection> closing;  // destroyed outside the lock, as closing talks to the server
  {
    std::unique_lock lock(mutex_);
    const bool free = freed_.wait_for(lock, settings_.connect_timeout,
                                      [&] { return !mine.empty() || !others.empty() || open_ < settings_.pool; });
    if (!free) {
      throw StoreBusy(settings_.location + ": all " + std::to_string(settings_.pool) + " connections are in use");
    }
    if (!mine.empty()) {
      std::unique_ptr<Connection> connection = std::move(mine.back());
      mine.pop_back();
      return {*this, std::move(connection), planning};
    }
    if (open_ >= settings_.pool) {
      closing = std::move(others.back());
      others.pop_back();
    } else {
      ++open_;
    }
  }
  closing.reset();
  try {
    return {*this, std::make_unique<Connection>(settings_, settings_.hosts, planning), planning};
  } catch (...) {
    const std::lock_guard lock(mutex_);
    --open_;
    freed_.notify_one();
    throw;
  }
}

void Pool::give_back(std::unique_ptr<Connection> connection, Planning planning) {
  const bool usable = !connection->is_broken() && !connection->in_transaction();
  {
    const std::lock_guard lock(mutex_);
    if (usable) {
      idle_[static_cast<int>(planning)].push_back(std::move(connection));
    } else {
      --open_;
    }
  }
  freed_.notify_one();
}

void Pool::drop_idle() {
  std::vector<std::unique_ptr<Connection>> dropped;
  const std::lock_guard lock(mutex_);
  for (auto& idle : idle_) {
    for (auto& connection : idle) {
      dropped.push_back(std::move(connection));
      --open_;
    }
    idle.clear();
  }
  freed_.notify_all();
}

}  // namespace hapax::store::postgres
