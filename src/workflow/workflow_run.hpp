// WorkflowRun: one run of a workflow's function in this process: its fiber, its journal and its present wait.
//
// Two sides use it, both on the thread of its lane. The lane resumes the run, does what the run needs (runs a step's
// body, writes entries to the store, keeps the run until an event comes) and resumes it again. The function, on the
// fiber, calls the run through WorkflowContext. A copied context may keep a WorkflowRun alive after its function has
// ended; calls then throw, as the run has ended.
#pragma once

#include <hapax/workflow_context.hpp>

#include "base/fiber.hpp"
#include "engine/run.hpp"
#include "workflow/host.hpp"
#include "workflow/replay.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

namespace hapax::workflow {

using Function = std::function<std::string(WorkflowContext&, const std::string& input)>;

// Thrown through a workflow's function to unwind it. Only hapax throws and catches it.
struct Unwind {};

// Cancels `children` and, as a child may have continued as new, all other live child workflows that must not outlive
// the run. Call this before the run ends. Blocks; throws what the store throws.
void cancel_children(store::Store& store, const model::Claim& parent, std::vector<Uuid> children);

}  // namespace hapax::workflow

namespace hapax::detail {

class WorkflowRun : public std::enable_shared_from_this<WorkflowRun> {
 public:
  struct Options {
    std::shared_ptr<workflow::Host> app;
    engine::RunPtr run;
    std::shared_ptr<const workflow::Function> function;
    std::shared_ptr<base::StackPool> stacks{};
    std::string build;
    // Replays without running steps, and stops where the journal ends (queries, replay tests).
    bool read_only = false;
  };
  explicit WorkflowRun(Options options);
  WorkflowRun(const WorkflowRun&) = delete;
  WorkflowRun& operator=(const WorkflowRun&) = delete;
  ~WorkflowRun();

  // ---- The lane's side ---------------------------------------------------------------------------------------------
  enum class Need : std::uint8_t {
    step,         // the lane must call run_step(), once all new entries are in the store
    transaction,  // the lane must call run_transaction(), once all new entries are in the store
    wait,         // the run waits for an event, or for the time in wait_finish()
    ended,        // the function has ended; finish() says how
    unwound,      // the function was unwound; the lane records nothing
    stuck,        // the code does not fit the journal; stuck_reason() says why
  };
  // Runs the function until it needs something.
  [[nodiscard]] Need resume();
  void run_step_or_transaction();
  // Takes over the outcome of a step that has run for `other`, which has the same journal and is given up before the
  // outcome was recorded. This run must be new. If its function makes another call than this step, the run is parked.
  void inherit_step(WorkflowRun& other);
  // Returns why the store could not run a transactional step; empty: no trouble. With trouble the run is given back,
  // because the step may have taken effect.
  [[nodiscard]] const std::string& store_trouble() const { return store_trouble_; }
  [[nodiscard]] bool is_continued() const { return continued_ != nullptr; }
  // Returns the function's outcome, with the entries that are not yet in the store.
  [[nodiscard]] model::Finish finish();
  [[nodiscard]] model::Finish wait_finish();
  // Returns the outcome that leaves the run to a worker whose code fits: due again after 250 ms, nothing recorded. A
  // run that was parked before keeps its reason.
  [[nodiscard]] model::Finish leave_finish(bool still_stuck) const;
  // Returns the children that must be cancelled before the run ends.
  [[nodiscard]] std::vector<Uuid> children_to_cancel() const;
  // Throws workflow::Unwind through the function. Returns false when the function does not end; its fiber is then
  // abandoned.
  bool unwind();
  // Takes the new claim of a run that no other worker had in between.
  void reclaimed(engine::RunPtr run);

  [[nodiscard]] workflow::Replay& replay() { return replay_; }
  [[nodiscard]] const engine::RunPtr& run() const { return run_; }
  [[nodiscard]] const model::Claim& claim() const { return run_->claim(); }
  [[nodiscard]] bool begun() const { return fiber_ != nullptr; }
  [[nodiscard]] bool suspended() const { return fiber_ && !fiber_->done(); }
  [[nodiscard]] bool in_catch() const { return fiber_ && !fiber_->done() && fiber_->in_catch(); }
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] std::optional<std::string> answer(std::string_view query, const std::string& question);
  [[nodiscard]] std::vector<std::string> queries() const;
  [[nodiscard]] const std::string& stuck_reason() const { return stuck_; }

  // ---- The function's side -----------------------------------------------------------------------------------------
  [[nodiscard]] const Uuid& id() const { return id_; }
  [[nodiscard]] const std::string& workflow_id();
  [[nodiscard]] bool replaying() const { return replay_.replaying(); }
  [[nodiscard]] bool cancel_asked() const;

  std::string step(std::string_view name, const StepOptions& options, const std::function<std::string()>& body);
  std::string transaction(std::string_view name, const std::function<std::string(Transaction&)>& body);
  std::int32_t start_task(const TaskSpec& task, std::string input, const RunOptions& options);
  std::int32_t start_child(const TaskSpec& spec, std::string input, const ChildOptions& options);
  std::int32_t timer(Duration duration);
  std::int32_t expect_signal(std::string_view name, const std::string& data = "{}");
  // Returns the entry that got the signal; none when no signal came in time.
  std::optional<std::int32_t> wait_signal(std::string_view name, Duration timeout);
  std::string await(std::int32_t position);
  void await_all(const std::vector<std::int32_t>& positions);
  std::size_t await_any(const std::vector<std::int32_t>& positions);
  std::size_t race(const std::vector<std::int32_t>& positions);
  [[nodiscard]] Time now();
  [[nodiscard]] std::uint64_t random_bits();
  [[nodiscard]] Uuid uuid();
  [[nodiscard]] bool patched(std::string_view change_id);
  [[noreturn]] void continue_as_new(std::string input);
  void progress(double fraction, std::string_view message);
  void set_attribute(std::string_view name, std::string_view value);
  void add_query(std::string_view name, std::function<std::string(const std::string&)> answer);
  // Throws an error: the value of the entry at `position` (a signal, task or child) does not convert to the type that
  // the function asks for.
  [[noreturn]] void invalid(std::int32_t position, const Unfit& unfit);
  // As invalid(), for the result of the step that the function called last.
  [[noreturn]] void invalid_step(const Unfit& unfit);

 private:
  struct Instant {
    std::optional<Duration> in;
    std::optional<Time> at;
  };

  void body();
  [[nodiscard]] std::string stuck_reason_of_exception() const;
  void run_step();
  void run_transaction();
  // Every context call begins with one of the next two functions. Calls that may write to the journal are counted,
  // because a cancellation is recorded with the number of the call that threw it. A change of the code may add or
  // remove uncounted calls.
  void enter(const char* what);
  void enter_uncounted(const char* what);
  // Suspends the function until the lane has done `need`.
  void suspend_for(Need need);
  [[noreturn]] void diverge(std::string reason);
  void throw_if_cancelled();
  void throw_cancelled();
  [[nodiscard]] bool is_ready(std::int32_t position) const;
  void wait_until(const std::function<bool()>& ready, const std::vector<std::int32_t>& positions);
  void add_instant(std::int32_t position, Duration after);
  [[nodiscard]] Time ended_at(std::int32_t position) const;
  // The position of the next entry if the run replays it; none when the call is new. Diverges if the journal has another.
  [[nodiscard]] std::optional<std::int32_t> replayed(workflow::Entry kind, std::string_view name);
  // Starts a task, or a child with what its end means for the run's.
  std::int32_t start(workflow::Entry kind, const TaskSpec& spec, std::string input, EnqueueOptions options,
                     std::optional<ParentClose> close = std::nullopt);
  [[nodiscard]] std::string next_key(std::string_view prefix, const std::string& name);
  // Parks the run: a recorded value does not fit the code's type, but the code that wrote the journal could read it.
  [[noreturn]] void misfit(std::string_view what, const std::string& why);
  [[noreturn]] void record_invalid(std::int32_t position, const Unfit& unfit);
  // Throws the error that the journal has next, if the value of the entry at `position` did not convert.
  void throw_if_invalid(std::int32_t position);
  [[nodiscard]] std::string take_result(const model::JournalEntry& entry);
  [[noreturn]] void throw_failed(const model::JournalEntry& entry, const model::Event& event) const;

  const std::shared_ptr<workflow::Host> app_;
  engine::RunPtr run_;
  const std::shared_ptr<const workflow::Function> function_;
  const std::shared_ptr<base::StackPool> stacks_;  // outlives the fiber
  const std::string build_;
  const bool read_only_;
  const Uuid id_;
  const std::string name_;
  std::optional<std::string> workflow_id_;  // read at the first call of workflow_id()
  workflow::Replay replay_;
  std::unique_ptr<base::Fiber> fiber_;
  std::thread::id thread_;
  std::atomic<bool> in_step_{false};
  std::atomic<bool> has_ended_{false};
  int caught_unwinds_ = 0;

  Need need_ = Need::ended;
  const std::function<std::string()>* step_body_ = nullptr;
  const std::function<std::string(Transaction&)>* transaction_body_ = nullptr;
  std::string step_name_;  // the name of the step or transaction that runs
  std::string store_trouble_;
  engine::Ending step_ending_;
  Duration step_ran_for_{0};
  bool step_ran_ = false;            // a step has run, and neither function nor journal has its outcome yet
  std::int32_t last_step_ = -1;      // the entry of the step that was called last
  bool last_step_ran_here_ = false;  // the step's result comes from this code, not from the journal
  Instant instant_;

  std::int64_t call_ = 0;
  bool unwinding_ = false;
  bool cancel_delivered_ = false;
  std::string stuck_;
  engine::Ending ending_;
  std::shared_ptr<model::NewExecution> continued_;
  std::map<std::string, int> indexes_;                // counters for the keys that hapax makes
  std::map<std::int32_t, std::size_t> signal_turns_;  // the number of the signal that an entry takes
  std::map<std::string, bool, std::less<>> patches_;
  std::map<std::string, std::function<std::string(const std::string&)>, std::less<>> queries_;
};

}  // namespace hapax::detail
