#include "schedule/duplicate_log.hpp"

#include "base/text.hpp"
#include "schedule/deferred_jobs.hpp"

namespace hapax::schedule {

namespace {

constexpr std::size_t duplicates_named = 20;  // run IDs in one line
constexpr std::size_t run_id_bytes = 200;     // of each run ID
constexpr std::size_t activities_kept =
    1000;  // per half second; duplicates of further activities are counted, not logged

}  // namespace

DuplicateLog& DuplicateLog::of_process() {
  static DuplicateLog& log = *new DuplicateLog();
  return log;
}

void DuplicateLog::add(const std::string& namespace_name, const std::string& activity, const std::string& run_id) {
  if (!is_heard_) { return; }
  {
    const std::lock_guard lock(mutex_);
    if (unlogged_.size() >= activities_kept && !unlogged_.contains({namespace_name, activity})) { return; }
    Duplicates& mine = unlogged_[{namespace_name, activity}];
    if (mine.run_ids.size() < duplicates_named) { mine.run_ids.push_back(run_id); }
    if (++mine.count > 1) { return; }
  }
  DeferredJobs::of_process().run(this, [this] { tell(); });
}

void DuplicateLog::listen(Listener listener) {
  tell();
  const std::lock_guard lock(mutex_);
  listener_ = std::move(listener);
  is_heard_ = listener_ != nullptr;
}

void DuplicateLog::tell() {
  const std::lock_guard lock(mutex_);
  if (listener_) {
    for (const auto& [of, duplicates] : unlogged_) { listener_(line_of(of.first, of.second, duplicates)); }
  }
  unlogged_.clear();
}

std::string DuplicateLog::line_of(const std::string& namespace_name, const std::string& activity,
                                  const Duplicates& duplicates) {
  std::string line = "activity '" + activity + "' of namespace '" + namespace_name +
                     "': " + std::to_string(duplicates.count) +
                     (duplicates.count == 1 ? " duplicate event was" : " duplicate events were") + " not run again: ";
  std::string_view comma;
  for (const std::string& run_id : duplicates.run_ids) {
    line.append(comma).append(base::printable(base::keep_head(run_id, run_id_bytes)));
    comma = ", ";
  }
  const std::int64_t more = duplicates.count - static_cast<std::int64_t>(duplicates.run_ids.size());
  return more > 0 ? line + " and " + std::to_string(more) + " more" : line;
}

}  // namespace hapax::schedule
