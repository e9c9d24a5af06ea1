// Sweeper: requeues executions of lost sessions, ends executions whose deadline has passed, and deletes expired rows.
//
// Every process with a worker runs one; the store keeps them from disturbing each other. A pass changes at most
// limits::sweep_batch rows of a kind, and reports whether more are left. One thread calls step().
#pragma once

#include "base/random.hpp"
#include "engine/backoff.hpp"
#include "engine/observations.hpp"
#include "store/store.hpp"

#include <functional>
#include <string_view>

namespace hapax::engine {

class Sweeper {
 public:
  struct Options {
    Duration interval = std::chrono::milliseconds(500);
    Duration retention_interval = std::chrono::hours(1);
    // If set, returns the current interval, which may change in the store. The sweeper calls the function about every
    // two seconds; after an exception the interval stays.
    std::function<Duration()> current_retention_interval;
    std::function<void(const model::SweepReport&)> on_swept;
    std::function<void(std::string_view error)> on_failed;
    const Observations* observations = nullptr;  // told how long the store takes; may be null
  };

  Sweeper(store::Store& store, base::Random& random, Options options);
  [[nodiscard]] Time step(Time now);

 private:
  // Varies the interval by up to a fifth, so that many processes do not sweep at the same time.
  [[nodiscard]] Duration jittered(Duration interval);
  [[nodiscard]] int pause_factor(Time now);
  void read_interval(Time now);
  [[nodiscard]] Time failed(std::string_view error, Time now);  // returns when to try again

  store::Store& store_;
  base::Random& random_;
  Options options_;
  Backoff backoff_;
  Time retention_at_{};
  Time read_interval_at_{};
  Time cleaning_since_{};
};

// If the execution's deadline has passed, sweeps the store, in bounded steps, until the execution has ended, and
// returns true. Readers call this so that deadlines hold without a sweeper. Throws what the store throws.
bool end_if_overdue(store::Store& store, const Uuid& id);

}  // namespace hapax::engine
