// Generated workflows on worker processes that are killed, by the controller and at crash points. When all have ended,
// the oracle (tests/workflow/oracle.hpp) says what must be in the ledger.
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

// Operations of a program, about.
inline constexpr int program_size = 6;

// The controller of such a run. One thread.
class Workflows {
 public:
  explicit Workflows(const Options& options);
  Workflows(const Workflows&) = delete;
  Workflows& operator=(const Workflows&) = delete;
  ~Workflows();

  // Returns the exit code: 0 when every program did what it should.
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
  // A call of what the store had recorded before.
  void check_never_again(const generated::Program& program, const generated::Observed& observed);
  [[nodiscard]] std::optional<Time> recorded_at(const generated::EffectKey& key, const Uuid& execution);
  void note_ended(const std::vector<Ended>& ended);
  void note_killed(const Child& child);
  void progress(const char* phase, bool now);

  Options options_;
  Place place_;
  std::unique_ptr<store::Store> store_;  // what the app's doors do not show
  std::optional<App> app_;
  std::optional<LedgerTail> tail_;
  generated::MemoryLedger ledger_;
  std::optional<generated::Outside> outside_;
  std::unique_ptr<Children> children_;
  base::SeededRandom random_;
  Findings findings_;
  std::vector<int> killed_;  // processes
  int started_ = 0;
  std::size_t live_ = 0;
  int kills_ = 0;
  int hits_ = 0;  // kills of a process that had something in hand
  // What the controller does for the programs stops when it has come: one call after the other, they take seconds on a busy
  // machine, and there would be one kill in a pass of all of them.
  Ticks::time_point next_kill_ = Ticks::time_point::max();
  std::set<std::uint64_t> programs_hit_;
  Ticks::time_point begun_ = Ticks::now();
  Ticks::time_point last_look_{};
  Ticks::time_point last_progress_{};
};

}  // namespace hapax::torture
