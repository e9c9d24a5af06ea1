#include "model/activity_state.hpp"

namespace hapax::model {

ActivityTally tally(const Uuid& activity, std::span<const NewExecution> items, std::span<const Admission> admissions) {
  ActivityTally tally;
  for (std::size_t i = 0; i < items.size(); ++i) {
    if (items[i].parent != activity) { continue; }
    switch (admissions[i].verdict) {
      case AdmissionVerdict::created: ++tally.counts.started; break;
      case AdmissionVerdict::queue_draining:
        ++tally.counts.refused;
        tally.trouble = "QueueDraining: queue '" + items[i].queue.name + "' is draining and takes nothing new";
        break;
      case AdmissionVerdict::deduplicated:
      case AdmissionVerdict::already_exists:
      case AdmissionVerdict::already_completed:
      case AdmissionVerdict::already_finished:
      case AdmissionVerdict::mismatch: ++tally.counts.duplicates; break;
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
