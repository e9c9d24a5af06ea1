// SetAside: the rows that sweeps of this process could not read or change.
//
// A sweep passes over these rows for limits::sweep_set_aside_for and then tries them again. So one bad row does not
// stop the sweep of the others, nor fail in every sweep. A store owns the SetAside; any thread may call it.
#pragma once

#include "base/limits.hpp"
#include "base/text.hpp"
#include "model/execution.hpp"

#include <mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace hapax::store {

class SetAside {
 public:
  // Forgets the rows whose time is over at `now`. Called before a sweep looks for rows.
  void forget_old(Time now) {
    const std::lock_guard lock(mutex_);
    // Rows whose time is too far ahead are forgotten too: the store's clock was set back.
    std::erase_if(
        until_, [now](const auto& one) { return one.second <= now || one.second > now + limits::sweep_set_aside_for; });
    if (until_.empty()) { first_error_.clear(); }
  }

  void add(const Uuid& row, Time now, std::string_view error) {
    const std::lock_guard lock(mutex_);
    if (until_.size() >= limits::sweep_set_aside) { until_.clear(); }
    until_[row] = now + limits::sweep_set_aside_for;
    if (first_error_.empty()) {
      first_error_ = base::keep_head(base::escape_invalid(error), limits::sweep_error_bytes);
    }
  }

  [[nodiscard]] bool contains(const Uuid& row) const {
    const std::lock_guard lock(mutex_);
    return until_.contains(row);
  }

  [[nodiscard]] std::vector<Uuid> rows() const {
    const std::lock_guard lock(mutex_);
    std::vector<Uuid> rows;
    rows.reserve(until_.size());
    for (const auto& [row, until] : until_) { rows.push_back(row); }
    return rows;
  }

  [[nodiscard]] int size() const {
    const std::lock_guard lock(mutex_);
    return static_cast<int>(until_.size());
  }

  // Adds the rows to the sweep's report.
  void add_to(model::SweepReport& report) const {
    const std::lock_guard lock(mutex_);
    report.bad += static_cast<int>(until_.size());
    if (report.first_error.empty()) { report.first_error = first_error_; }
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<Uuid, Time> until_;
  std::string first_error_;  // of a row in until_
};

}  // namespace hapax::store
