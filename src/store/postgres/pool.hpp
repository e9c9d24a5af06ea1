// Pool: a bounded number of connections, lent to one thread each.
//
// Any thread may acquire; a lease gives its connection back when it ends, unless it broke. A forked child must open a
// store of its own: sharing a socket with the parent would mix up both, so it gets UsageError.
#pragma once

#include "store/postgres/connection.hpp"

#include <condition_variable>
#include <memory>
#include <mutex>
#include <vector>

namespace hapax::store::postgres {

class Pool {
 public:
  explicit Pool(const Settings& settings);
  ~Pool();
  Pool(const Pool&) = delete;
  Pool& operator=(const Pool&) = delete;

  class Lease {
   public:
    Lease(Pool& pool, std::unique_ptr<Connection> connection, Planning planning)
        : pool_(&pool), connection_(std::move(connection)), planning_(planning) {}
    Lease(Lease&& other) noexcept = default;
    Lease& operator=(Lease&&) = delete;
    ~Lease();
    Connection& operator*() const { return *connection_; }
    Connection* operator->() const { return connection_.get(); }

   private:
    Pool* pool_;
    std::unique_ptr<Connection> connection_;
    Planning planning_;
  };

  // Waits at most the connect timeout for a free place (then StoreBusy), and connects if none is idle
  // (StoreUnavailable).
  [[nodiscard]] Lease acquire(Planning planning = Planning::hot);
  // After a connection broke: those that idle are likely dead too, so the next ones are made anew.
  void drop_idle();
  void check_process() const;

 private:
  void give_back(std::unique_ptr<Connection> connection, Planning planning);

  const Settings& settings_;
  const int pid_;
  std::mutex mutex_;
  std::condition_variable freed_;
  std::vector<std::unique_ptr<Connection>> idle_[2];
  int open_ = 0;
};

}  // namespace hapax::store::postgres
