// A record store under test, and its clock. tests/guard/rigs.cpp lists the stores, one per line.
#pragma once

#include <hapax/guard_store.hpp>

#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

namespace hapax::guard_tests {

// One place for records, new and empty. Each open() returns another client of the place, as another process would be,
// if the store can be shared; otherwise the same client.
class Rig {
 public:
  Rig() = default;
  Rig(const Rig&) = delete;
  Rig& operator=(const Rig&) = delete;
  virtual ~Rig() = default;
  [[nodiscard]] virtual GuardStorePtr open() = 0;
  // Moves the store's time; a store with real time only sleeps.
  virtual void advance(Duration by) = 0;
  // A URL with which another process opens the same place; empty if it cannot.
  [[nodiscard]] virtual std::string url() const { return {}; }
};

struct RigFactory {
  std::string name;
  std::function<std::unique_ptr<Rig>()> make;
  friend void PrintTo(const RigFactory& factory, std::ostream* out) { *out << factory.name; }
};

[[nodiscard]] std::vector<RigFactory> all_rigs();

// A folder below the current one, removed at the end.
class Folder {
 public:
  Folder();
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
  ~Folder();
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  std::string path_;
};

}  // namespace hapax::guard_tests
