// A guard's options on a new store, its warnings, and the number of runs of its function.
#pragma once

#include "rig.hpp"

#include <hapax/guard.hpp>

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

namespace hapax::guard_tests {

class GuardTest : public testing::TestWithParam<RigFactory> {
 protected:
  GuardOptions options() {
    GuardOptions made;
    made.store = store_;
    made.on_warning = [this](const GuardWarning& warning) {
      const std::lock_guard lock(mutex_);
      warnings_.push_back(warning.message);
    };
    return made;
  }
  std::vector<std::string> warnings() {
    const std::lock_guard lock(mutex_);
    return warnings_;
  }

  std::unique_ptr<Rig> rig_ = GetParam().make();
  GuardStorePtr store_ = rig_->open();
  std::atomic<int> runs_{0};
  std::mutex mutex_;
  std::vector<std::string> warnings_;
};

}  // namespace hapax::guard_tests
