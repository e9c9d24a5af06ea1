// SweepWatch: counts failures of this process's sweeps and reports trouble with them.
//
// Owned by the Wakeups; any thread may call it. Trouble that lasts is reported once a minute, not with each sweep.
#pragma once

#include <hapax/time.hpp>

#include "engine/trouble_listener.hpp"
#include "model/execution.hpp"

#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace hapax::engine {

class SweepWatch {
 public:
  // Reports to `listener` from now on, for as long as its owner keeps it.
  void add(const std::shared_ptr<TroubleListener>& listener);

  // Reports to `log` too. Set once, before the engine is used. It is called outside of all locks.
  void log_to(std::function<void(std::string_view)> log) { log_ = std::move(log); }

  // A sweep that failed in part calls both functions, because its other parts count.
  void swept(const model::SweepReport& report, Time now);
  void failed(std::string_view error, Time now);

  // How many of the latest sweeps failed in a row.
  [[nodiscard]] int failures() const;

 private:
  // A trouble, and when it was last reported.
  struct Reported {
    std::string text;
    Time at{};
  };
  void report_trouble(Reported& reported, std::string text, Time now);

  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<TroubleListener>> listeners_;
  std::function<void(std::string_view)> log_;
  int failures_ = 0;
  Reported failure_;
  Reported bad_;
};

}  // namespace hapax::engine
