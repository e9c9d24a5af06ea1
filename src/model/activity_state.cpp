#include "model/activity_state.hpp"

#include <map>

namespace hapax::model {

std::vector<std::optional<std::size_t>> dependants(std::span<const NewExecution* const> items) {
  std::vector<std::optional<std::size_t>> of(items.size());
  std::map<Uuid, std::size_t> places;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i]->parent) {
      if (const auto found = places.find(*items[i]->parent); found != places.end()) { of[i] = found->second; }
    }
    places.emplace(items[i]->id, i);
  }
  return of;
}

ActivityTally tally(const Uuid& activity, std::span<const NewExecution> items, std::span<const Admission> admissions) {
  ActivityTally tally;
  bool run_created = false;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool is_run = items[i].parent == activity;
    if (is_run) { run_created = admissions[i].created(); }
    switch (admissions[i].verdict) {
      case AdmissionVerdict::created: tally.counts.started += is_run ? 1 : 0; break;
      case AdmissionVerdict::queue_draining:
        if (!is_run && !run_created) { break; }
        ++tally.counts.refused;
        tally.trouble = "QueueDraining: queue '" + items[i].queue.name + "' is draining and takes nothing new";
        break;
      case AdmissionVerdict::deduplicated:
      case AdmissionVerdict::already_exists:
      case AdmissionVerdict::already_completed:
      case AdmissionVerdict::already_finished:
      case AdmissionVerdict::taken_over:
      case AdmissionVerdict::session_gone:
      case AdmissionVerdict::mismatch: tally.counts.duplicates += is_run ? 1 : 0; break;
      case AdmissionVerdict::name_taken: break;  // the event router submits the run again under another name
    }
  }
  return tally;
}

ActivityCounts& operator+=(ActivityCounts& counts, const ActivityCounts& more) {
  counts.started += more.started;
  counts.duplicates += more.duplicates;
  counts.missed += more.missed;
  counts.overlapped += more.overlapped;
  counts.refused += more.refused;
  return counts;
}

}  // namespace hapax::model
