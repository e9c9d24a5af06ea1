// Vacuum: removes the dead rows that a busy queue leaves in `live`.
//
// A claim walks the claim index from its left end, over the entries of everything claimed since the last vacuum.
// Autovacuum wakes once a minute by default, and a busy queue makes a million dead rows in that time. So the store
// vacuums `live` itself after every 50,000 outcomes, on its own thread with a connection of the pool, at most a tenth
// of the time, and not while another process does the same (decision 14). A role that may not vacuum the table leaves
// it to autovacuum.
#pragma once

#include "store/postgres/pool.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <thread>

namespace hapax::store::postgres {

class Vacuum {
 public:
  explicit Vacuum(Pool& pool) : pool_(pool) {}
  ~Vacuum();
  Vacuum(const Vacuum&) = delete;
  Vacuum& operator=(const Vacuum&) = delete;

  // Reports that `count` executions have left `live`. Any thread.
  void ended(std::int64_t count);

 private:
  void run();

  Pool& pool_;
  std::atomic<std::int64_t> ended_{0};
  std::atomic<bool> busy_{false};  // the thread that sets it owns not_before_ and thread_
  std::chrono::steady_clock::time_point not_before_{};
  std::thread thread_;
};

}  // namespace hapax::store::postgres
