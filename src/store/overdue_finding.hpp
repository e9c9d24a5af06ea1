// What `doctor` says of deadlines that have passed and that no sweep has acted on; the same on every store.
#pragma once

#include "store/store.hpp"

#include <string>

namespace hapax::store {

// So long a sweep may take to come: it comes about twice a second while a worker or a server runs.
inline constexpr Duration overdue_patience = std::chrono::minutes(1);

// `count` executions passed their deadline more than overdue_patience ago. While a worker is alive somebody sweeps, so then
// the sweeps fail, or leave these rows as bad.
[[nodiscard]] inline Finding overdue_finding(std::int64_t count, bool worker_alive) {
  using Level = Finding::Level;
  if (count == 0) { return {Level::ok, "overdue deadlines", "none", ""}; }
  const std::string detail = std::to_string(count) + " passed more than a minute ago and are not ended";
  return worker_alive ? Finding{Level::problem, "overdue deadlines", detail,
                                "sweeps fail or leave these rows: see the log of a worker or server, and "
                                "hapax_sweep_failures_total"}
                      : Finding{Level::warning, "overdue deadlines", detail,
                                "no worker is alive; any running worker or server ends them, or `hapax cleanup`"};
}

}  // namespace hapax::store
