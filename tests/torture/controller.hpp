// The controller: starts children, injects faults, lets all work end, and runs the checker.
//
// Single-threaded. The seed decides the faults and their order, the machine the interleaving: two runs of one seed are
// alike but never the same.
#pragma once

#include "torture/check.hpp"
#include "torture/children.hpp"
#include "torture/options.hpp"
#include "torture/own_writes.hpp"
#include "torture/place.hpp"

#include "base/random.hpp"
#include "store/open.hpp"

#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace hapax::torture {

class Controller {
 public:
  explicit Controller(const Options& options);
  ~Controller();
  Controller(const Controller&) = delete;
  Controller& operator=(const Controller&) = delete;

  // Returns the exit code: 0 if no promise was broken.
  int run();

 private:
  // Kills and stops children at random until enough were killed or the time is over.
  void chaos();
  void hurt_somebody();
  void restart_server();
  // Runs without faults until nothing is pending or running.
  void settle();
  void end_children(const std::string& role);

  // Small fixed scenarios, one after the other, each on its own queue (scenes.cpp).
  void scenes();
  void poison_scene(const std::string& role);
  void zombie_scene(const std::string& role);
  void recovery_scene(const std::string& role);
  void lost_reply_scene(const std::string& role);
  [[nodiscard]] std::vector<store::Execution> executions_in(const std::string& queue);
  void admit(const std::vector<store::NewExecution>& items);
  [[nodiscard]] bool wait_until(Duration at_most, const std::function<bool()>& condition);
  [[nodiscard]] bool is_idle(const std::vector<std::string>& queues);
  // Whether the handler of a living child, other than child `not_by`, has begun this execution.
  [[nodiscard]] bool was_started(const Uuid& id, int not_by);

  void keep_up_numbers(bool with_faults);
  void note_ended(const std::vector<Ended>& ended);
  void look();
  void progress(const char* phase, bool now);
  [[nodiscard]] std::vector<Child*> those(const std::string& role_ending);

  Options options_;
  Place place_;
  std::unique_ptr<store::Store> store_;
  std::unique_ptr<OwnWrites> writes_;
  std::unique_ptr<Children> children_;
  base::SeededRandom random_;
  Findings findings_;
  int kills_ = 0;
  Ticks::time_point begun_ = Ticks::now();
  Ticks::time_point last_look_{};
  Ticks::time_point last_progress_{};
};

}  // namespace hapax::torture
