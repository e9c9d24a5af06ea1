// EventRouter: writes counts separately from the runs, about once a second. The counts leave out runs with task
// instances, which the store counts in the transaction that admits them.
#include <hapax/error.hpp>

#include "schedule/deferred_jobs.hpp"
#include "schedule/event_router.hpp"

#include <utility>

namespace hapax::schedule {

namespace {

constexpr std::chrono::seconds counted_every{1};

}  // namespace

EventRouter::~EventRouter() {
  try {
    flush();
  } catch (const std::exception&) {
    // The counts are lost; the runs are not.
  }
  DeferredJobs::of_process().forget(this);
}

// The counts are written within a second, even if no further event arrives.
void EventRouter::keep(const std::map<std::string, Counted>& counted) {
  if (counted.empty()) { return; }
  {
    const std::lock_guard lock(mutex_);
    for (const auto& [activity, more] : counted) {
      Counted& kept = uncounted_[activity];
      kept.counts += more.counts;
      if (!more.trouble.empty()) { kept.trouble = more.trouble; }
    }
  }
  DeferredJobs::of_process().run(this, [this] { flush(); });
}

void EventRouter::flush_if_due() {
  {
    const std::lock_guard lock(mutex_);
    if (std::chrono::steady_clock::now() - counted_at_ < counted_every) { return; }
  }
  try {
    flush();
  } catch (const Error&) {
    // The events themselves are committed; the next flush writes the counts.
  }
}

void EventRouter::flush() {
  std::map<std::string, Counted> counted;
  {
    const std::lock_guard lock(mutex_);
    counted.swap(uncounted_);
    counted_at_ = std::chrono::steady_clock::now();
  }
  std::vector<model::ActivityChange> changes;
  for (const auto& [activity, more] : counted) {
    if (more.counts == model::ActivityCounts{} && more.trouble.empty()) { continue; }
    model::ActivityChange& change = changes.emplace_back();
    change.namespace_name = namespace_name_;
    change.id = activity;
    change.add = more.counts;
    change.trouble = more.trouble;
  }
  if (changes.empty()) { return; }
  try {
    static_cast<void>(engine_.store().change_activities(changes));
  } catch (...) {
    keep(counted);
    throw;
  }
}

}  // namespace hapax::schedule
