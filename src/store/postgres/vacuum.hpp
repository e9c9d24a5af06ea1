// Vacuum: clears away what a busy queue leaves behind in `live`.
//
// A claim walks the claim index from its left end, over the entries of everything claimed since the last vacuum.
// Autovacuum looks once a minute by default, and a busy queue makes a million dead rows in that time; so who makes them
// sees to it: a VACUUM after every so many outcomes, on a thread and a connection of its own, at most a tenth of the
// time, and not while another process does the same. Whoever may not vacuum the table leaves it to autovacuum.
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

  // So many executions have left `live`. Any thread.
  void ended(std::int64_t count);

 private:
  void run();

  Pool& pool_;
  std::atomic<std::int64_t> ended_{0};
  std::atomic<bool> busy_{false};  // whoever sets it owns what follows
  std::chrono::steady_clock::time_point not_before_{};
  std::thread thread_;
};

}  // namespace hapax::store::postgres
