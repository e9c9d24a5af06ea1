#include "engine/sweeper.hpp"

#include "base/limits.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>
#include <exception>
#include <span>

namespace hapax::engine {

namespace {

constexpr Duration behind_after = std::chrono::minutes(10);
constexpr Duration breath_min = std::chrono::milliseconds(5);
constexpr Duration read_interval_every = std::chrono::seconds(2);
// A sweep ends overdue executions in the order of their deadlines, so many others may come first.
constexpr int overdue_sweeps_at_most = 100;

bool is_overdue(store::Store& store, const Uuid& id) {
  const auto outcome = store.outcomes(std::span<const Uuid>(&id, 1)).front();
  return outcome && outcome->overdue;
}

}  // namespace

Sweeper::Sweeper(store::Store& store, base::Random& random, Options options)
    : store_(store), random_(random), options_(std::move(options)) {}

Duration Sweeper::jittered(Duration interval) {
  const double factor = 0.8 + 0.4 * random_.fraction();
  return Duration(static_cast<Duration::rep>(static_cast<double>(interval.count()) * factor));
}

// How long to pause after a clean-up pass, as a multiple of the pass's own time. A clean-up that does not finish pauses
// less, as expired rows must not pile up.
int Sweeper::pause_factor(Time now) {
  if (cleaning_since_ == Time{}) { cleaning_since_ = now; }
  const Duration since = now - cleaning_since_;
  return since < behind_after ? 15 : since < 3 * behind_after ? 5 : 1;
}

void Sweeper::read_interval(Time now) {
  if (!options_.current_retention_interval || now < read_interval_at_) { return; }
  read_interval_at_ = now + read_interval_every;
  const Duration before = options_.retention_interval;
  try {
    options_.retention_interval = options_.current_retention_interval();
  } catch (const std::exception&) { return; }  // the workers report trouble with the store
  if (retention_at_ != Time{} && options_.retention_interval < before) {
    retention_at_ = std::min(retention_at_, now + jittered(options_.retention_interval));
  }
}

Time Sweeper::step(Time now) {
  read_interval(now);
  if (retention_at_ == Time{}) {
    // The first clean-up follows soon after the start, as a process may live for less than an hour, but not at once, as
    // many processes may start together.
    retention_at_ = now + jittered(options_.retention_interval / 60);
  }
  const bool retention = now >= retention_at_;
  try {
    const Time began = engine_now();
    const auto sweep = [&] { return store_.sweep({.limit = limits::sweep_batch, .retention = retention}); };
    const model::SweepReport report =
        options_.observations != nullptr ? options_.observations->store_call("sweep", sweep) : sweep();
    if (options_.on_swept) { options_.on_swept(report); }
    if (!report.failure.empty()) { return failed(report.failure, now); }
    backoff_.reset();
    if (report.more) {
      // A long clean-up takes a small share of the store's time, so that claims and admissions go first. Executions of
      // lost workers do not wait.
      const bool cleans_only = report.requeued + report.dead + report.timed_out == 0;
      const Duration breath = cleans_only ? (engine_now() - began) * pause_factor(now) : Duration::zero();
      return now + std::max(breath_min, std::min(breath, options_.interval));
    }
    cleaning_since_ = Time{};
    if (retention) { retention_at_ = now + jittered(options_.retention_interval); }
    return now + jittered(options_.interval);
  } catch (const std::exception& error) { return failed(error.what(), now); }
}

Time Sweeper::failed(std::string_view error, Time now) {
  if (options_.on_failed) { options_.on_failed(error); }
  return now + std::max(options_.interval, backoff_.next());
}

bool end_if_overdue(store::Store& store, const Uuid& id) {
  if (!is_overdue(store, id)) { return false; }
  for (int sweeps = 0; sweeps < overdue_sweeps_at_most; ++sweeps) {
    const model::SweepReport report = store.sweep({.limit = limits::sweep_batch, .retention = false});
    if (!report.more || !is_overdue(store, id)) { break; }
  }
  return true;
}

}  // namespace hapax::engine
