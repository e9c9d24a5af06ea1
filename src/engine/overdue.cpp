#include "engine/overdue.hpp"

#include "base/limits.hpp"

#include <span>

namespace hapax::engine {

namespace {

// A sweep ends deadlines in their order, so many others may come first.
constexpr int sweeps_at_most = 100;

bool is_overdue(store::Store& store, const Uuid& id) {
  const auto outcome = store.outcomes(std::span<const Uuid>(&id, 1)).front();
  return outcome && outcome->overdue;
}

}  // namespace

bool end_if_overdue(store::Store& store, const Uuid& id) {
  if (!is_overdue(store, id)) { return false; }
  for (int sweeps = 0; sweeps < sweeps_at_most; ++sweeps) {
    const model::SweepReport report = store.sweep({.limit = limits::sweep_batch, .retention = false});
    if (!report.more || !is_overdue(store, id)) { break; }
  }
  return true;
}

}  // namespace hapax::engine
