// SweepWatch: how the sweeps of this process went, and who is told when they fail or leave rows.
//
// Owned by the hub; any thread may call it. A trouble that lasts is told once a minute, not with each sweep.
#pragma once

#include <hapax/time.hpp>

#include "engine/trouble_listener.hpp"
#include "model/execution.hpp"

#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::engine {

class SweepWatch {
 public:
  // `listener` is told from now on, for as long as its owner keeps it.
  void add(const std::shared_ptr<TroubleListener>& listener);

  // A sweep of which a part failed is told by both, as what it did counts.
  void swept(const model::SweepReport& report, Time now);
  void failed(std::string_view error, Time now);

  // Sweeps in a row that failed, up to the last one.
  [[nodiscard]] int failures() const;

 private:
  // A trouble, and when it was told last.
  struct Told {
    std::string text;
    Time at{};
  };
  void tell(Told& told, std::string text, Time now);

  mutable std::mutex mutex_;
  std::vector<std::weak_ptr<TroubleListener>> listeners_;
  int failures_ = 0;
  Told failure_;
  Told bad_;
};

}  // namespace hapax::engine
