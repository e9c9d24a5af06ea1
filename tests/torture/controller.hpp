// The controller: starts the children, hurts them, lets everything end, and asks the checker.
//
// One thread. A seed decides what is done and in which order; the machine decides how it interleaves, so that two runs
// of a seed are alike and never the same.
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

  // Returns the exit code: 0 when every promise held.
  int run();

 private:
  // Kills and stops at random until enough were killed or the time is over.
  void chaos();
  void hurt_somebody();
  void restart_server();
  // Nobody is hurt any more: until nothing is pending or running.
  void settle();
  void end_children(const std::string& role);

  // Small fixed plays beside the chaos, each on a queue of its own (scenes.cpp).
  void scenes();
  void poison_scene(const std::string& role);
  void zombie_scene(const std::string& role);
  void recovery_scene(const std::string& role);
  void lost_reply_scene(const std::string& role);
  [[nodiscard]] std::vector<store::Execution> executions_in(const std::string& queue);
  void admit(const std::vector<store::NewExecution>& items);
  [[nodiscard]] bool wait_until(Duration at_most, const std::function<bool()>& condition);
  [[nodiscard]] bool is_idle(const std::vector<std::string>& queues);
  // A handler of a living child began this execution, of any child but one.
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
