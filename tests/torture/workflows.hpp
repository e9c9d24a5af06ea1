// Generated workflows on worker processes that are killed, by the controller and at crash points. When all workflows
// have ended, the oracle (tests/workflow/oracle.hpp) computes what the ledger must contain.
#pragma once

#include "torture/check.hpp"
#include "torture/children.hpp"
#include "torture/file_ledger.hpp"
#include "torture/options.hpp"
#include "torture/place.hpp"

#include "base/random.hpp"
#include "store/open.hpp"
#include "workflow/memory_ledger.hpp"
#include "workflow/outside.hpp"

#include <memory>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace hapax::torture {

// Approximate number of operations in a program.
inline constexpr int program_size = 6;

// The controller of such a run. Single-threaded.
class Workflows {
 public:
  explicit Workflows(const Options& options);
  Workflows(const Workflows&) = delete;
  Workflows& operator=(const Workflows&) = delete;
  ~Workflows();

  // Returns the exit code: 0 if no program broke a rule.
  int run();

 private:
  void chaos();
  void settle();
  void keep_up_numbers(bool with_faults);
  [[nodiscard]] bool kill_is_due() const { return Ticks::now() >= next_kill_; }
  void kill_somebody();
  [[nodiscard]] std::vector<ExecutionRecord> running();
  void start_programs();
  void look_after();
  void check();
  // Finds calls of effects that the store had recorded before.
  void check_never_again(const generated::Program& program, const generated::Observed& observed);
  [[nodiscard]] std::optional<Time> recorded_at(const generated::EffectKey& key, const Uuid& execution);
  void note_ended(const std::vector<Ended>& ended);
  void note_killed(const Child& child);
  void progress(const char* phase, bool now);

  Options options_;
  Place place_;
  std::unique_ptr<store::Store> store_;  // for reads that App does not offer
  std::optional<App> app_;
  std::optional<LedgerTail> tail_;
  generated::MemoryLedger ledger_;
  std::optional<generated::Outside> outside_;
  std::unique_ptr<Children> children_;
  base::SeededRandom random_;
  Findings findings_;
  std::vector<int> killed_;  // process numbers
  int started_ = 0;
  std::size_t live_ = 0;
  int kills_ = 0;
  int hits_ = 0;  // kills of a process that was executing something
  // When this time has come, the controller stops sending signals and cancellations: a pass over all programs takes
  // seconds on a busy machine, which would leave one kill per pass.
  Ticks::time_point next_kill_ = Ticks::time_point::max();
  std::set<std::uint64_t> programs_hit_;
  Ticks::time_point begun_ = Ticks::now();
  Ticks::time_point last_look_{};
  Ticks::time_point last_progress_{};
};

}  // namespace hapax::torture
