// Shared by all scenes: a store for the run, child processes with a folder for each scene, and the findings.
#pragma once

#include "herd/gate.hpp"
#include "herd/options.hpp"

#include "base/random.hpp"
#include "store/open.hpp"
#include "torture/check.hpp"
#include "torture/children.hpp"
#include "torture/log.hpp"
#include "torture/place.hpp"

#include <nlohmann/json.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace hapax::herd {

class Stage {
 public:
  explicit Stage(const Options& options);

  [[nodiscard]] const Options& options() const { return options_; }
  [[nodiscard]] const std::string& folder() const { return place_.folder; }
  [[nodiscard]] const std::string& url() const { return place_.url; }
  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] torture::Findings& findings() { return findings_; }
  [[nodiscard]] base::Random& random() { return random_; }
  // Cuts about one in `one_in` connections of the PostgreSQL store. Does nothing on SQLite.
  void cut_connections(int one_in);
  // Closes the store and removes the folder of a run that passed.
  void close();

 private:
  Options options_;
  torture::Place place_;
  std::unique_ptr<store::Store> store_;
  base::SeededRandom random_;
  torture::Findings findings_;
};

// One scene: its folder with the children's logs, the `plan` that the children read, and a gate.
class Scene {
 public:
  Scene(Stage& stage, const std::string& name, const nlohmann::json& plan);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::string& folder() const { return folder_; }
  [[nodiscard]] torture::Children& children() { return *children_; }
  [[nodiscard]] Gate& gate() { return *gate_; }
  [[nodiscard]] std::vector<torture::Record> records() const { return torture::read_logs(folder_); }

  void violation(const std::string& words) { stage_.findings().violation(name_, words); }
  // Waits for `condition`. Meanwhile a child that ends in any other way than it should is a violation.
  [[nodiscard]] bool wait_until(Duration at_most, const std::function<bool()>& condition);
  void reap();
  // Waits until all children of a role have ended by themselves.
  void wait_for(const std::string& role, Duration at_most);
  void end(const std::string& role);
  void signal(const std::string& name) const;  // children read it with was_signalled()

 private:
  void note(const std::vector<torture::Ended>& ended);

  Stage& stage_;
  std::string name_;
  std::string folder_;
  torture::Options child_options_;
  std::unique_ptr<torture::Children> children_;
  std::unique_ptr<Gate> gate_;
};

// Called by children.
[[nodiscard]] nlohmann::json read_plan(const std::string& folder);
[[nodiscard]] bool was_signalled(const std::string& folder, const std::string& name);

// Nanoseconds of a clock that all processes of the machine share.
[[nodiscard]] std::int64_t ticks();

}  // namespace hapax::herd
