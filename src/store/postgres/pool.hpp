// Pool: a bounded number of connections, each lent to one thread at a time.
//
// Any thread may acquire. A lease returns its connection when it ends, unless the connection broke. A forked child gets
// UsageError and must open a store of its own: sharing a socket with the parent would corrupt both sessions.
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

  // Waits at most the connect timeout for a free connection (then throws StoreBusy), and connects if none is idle (may
  // throw StoreUnavailable).
  [[nodiscard]] Lease acquire(Planning planning = Planning::hot);
  // Closes idle connections after one broke: they are likely dead too, so the next ones are made anew.
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
