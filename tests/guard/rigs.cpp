#include "server_rigs.hpp"

#include "base/clock.hpp"
#include "custom_store.hpp"
#include "guard/file_store.hpp"
#include "guard/memory_store.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

namespace hapax::guard_tests {

namespace {

const Time start = Time(std::chrono::sys_days(std::chrono::year(2026) / 3 / 1));

class MemoryRig final : public Rig {
 public:
  GuardStorePtr open() override { return store_; }
  void advance(Duration by) override { clock_.advance(by); }

 private:
  base::ManualClock clock_{start};
  GuardStorePtr store_ = std::make_shared<guard::MemoryGuardStore>(MemoryGuardOptions{}, &clock_);
};

class CustomRig final : public Rig {
 public:
  GuardStorePtr open() override { return store_; }
  void advance(Duration by) override { clock_.advance(by); }

 private:
  base::ManualClock clock_{start};
  GuardStorePtr store_ = std::make_shared<CustomStore>(clock_);
};

class ManualMachine final : public guard::MachineClock {
 public:
  [[nodiscard]] Time now() const override { return clock.now(); }
  [[nodiscard]] Duration since_boot() const override { return clock.now() - start; }
  [[nodiscard]] std::string boot() const override { return "this boot"; }
  base::ManualClock clock{start};
};

class FileRig final : public Rig {
 public:
  GuardStorePtr open() override {
    return std::make_shared<guard::FileGuardStore>(folder_.path(), FileGuardOptions{}, machine_);
  }
  void advance(Duration by) override { machine_->clock.advance(by); }
  [[nodiscard]] std::string url() const override { return "file:" + folder_.path(); }

 private:
  Folder folder_;
  std::shared_ptr<ManualMachine> machine_ = std::make_shared<ManualMachine>();
};

}  // namespace

Folder::Folder() {
  std::string name = std::filesystem::temp_directory_path() / "hapax-guard.XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) { throw std::runtime_error("mkdtemp: " + name); }
  path_ = name;
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<RigFactory> all_rigs() {
  std::vector<RigFactory> rigs{
      {"memory", [] { return std::make_unique<MemoryRig>(); }},
      {"file", [] { return std::make_unique<FileRig>(); }},
      {"custom", [] { return std::make_unique<CustomRig>(); }},
  };
  for (RigFactory& rig : server_rigs()) { rigs.push_back(std::move(rig)); }
  return rigs;
}

}  // namespace hapax::guard_tests
