// The finding of `doctor` about deadlines that have passed and that no sweep has acted on; the same on every store.
#pragma once

#include "store/store.hpp"

#include <string>

namespace hapax::store {

// How long after a deadline a sweep may come. While a worker or a server runs, sweeps come about twice a second.
inline constexpr Duration overdue_patience = std::chrono::minutes(1);

// `count`: executions whose deadline passed more than overdue_patience ago. A live worker sweeps; if there is one, its
// sweeps fail or set these rows aside.
[[nodiscard]] inline Finding overdue_finding(std::int64_t count, bool worker_alive) {
  using Level = Finding::Level;
  if (count == 0) { return {Level::ok, "overdue deadlines", "none", ""}; }
  const std::string detail = std::to_string(count) + " passed more than a minute ago and are not ended";
  return worker_alive ? Finding{Level::problem, "overdue deadlines", detail,
                                "sweeps fail or set these rows aside: see the log of a worker or server, and "
                                "hapax_sweep_failures_total"}
                      : Finding{Level::warning, "overdue deadlines", detail,
                                "no worker is alive; any running worker or server ends them, or `hapax cleanup`"};
}

}  // namespace hapax::store
