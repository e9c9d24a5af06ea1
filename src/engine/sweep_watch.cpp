#include "engine/sweep_watch.hpp"

#include "base/limits.hpp"
#include "base/text.hpp"

#include <utility>

namespace hapax::engine {

namespace {

constexpr Duration repeat_after = std::chrono::minutes(1);

}  // namespace

void SweepWatch::add(const std::shared_ptr<TroubleListener>& listener) {
  const std::lock_guard lock(mutex_);
  std::erase_if(listeners_, [](const auto& one) { return one.expired(); });
  listeners_.push_back(listener);
}

void SweepWatch::swept(const model::SweepReport& report, Time now) {
  {
    const std::lock_guard lock(mutex_);
    if (report.failure.empty()) {
      failures_ = 0;
      failure_ = {};
    }
    if (report.bad == 0) { bad_ = {}; }
  }
  if (report.bad == 0) { return; }
  report_trouble(bad_,
                 "the sweep leaves " + std::to_string(report.bad) +
                     (report.bad == 1 ? " row that it cannot read or change" : " rows that it cannot read or change") +
                     "; the first error: " + report.first_error,
                 now);
}

void SweepWatch::failed(std::string_view error, Time now) {
  {
    const std::lock_guard lock(mutex_);
    ++failures_;
  }
  report_trouble(failure_,
                 "the sweep failed, so executions of lost workers, deadlines and retention wait: " +
                     base::keep_head(base::escape_invalid(error), limits::sweep_error_bytes),
                 now);
}

int SweepWatch::failures() const {
  const std::lock_guard lock(mutex_);
  return failures_;
}

void SweepWatch::report_trouble(Reported& reported, std::string text, Time now) {
  std::vector<std::shared_ptr<TroubleListener>> listeners;
  {
    const std::lock_guard lock(mutex_);
    if (reported.text == text && now - reported.at < repeat_after) { return; }
    reported = {.text = text, .at = now};
    for (const auto& listener : listeners_) {
      if (auto one = listener.lock()) { listeners.push_back(std::move(one)); }
    }
  }
  for (const auto& listener : listeners) { listener->tell(text); }
  if (log_) { log_(text); }
}

}  // namespace hapax::engine
