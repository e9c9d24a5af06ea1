// Lanes: the threads on which workflows run.
//
// A lane takes claimed runs, resumes each until it needs something, and writes the journal entries of all these runs to
// the store in one call; then the lane resumes the runs. So a run uses a thread only while its own code runs, and many
// runs share a commit. A run that waits ends its claim with the outcome `waiting` and stays in memory, on the lane that
// owns its fiber, while there is room. If the run is claimed again under the very next fence, the lane resumes it
// without reading its journal again.
//
// As few lanes as possible work: two lanes would take turns at the store, and each call would carry half as many
// entries. Another lane begins when the working lanes are full, or when a function that takes long holds one up. A lane
// takes workflows with slow steps one at a time. Until a workflow has been measured, one run of it is taken; its other
// runs wait for a moment, to join the first run's commit. Bodies that wait behind an unexpectedly long one are run by
// idle lanes; the runs stay at first, because a fiber belongs to its thread. If their lane stays held up, an idle lane
// begins them anew from their journals, and their own lane drops the old fibers later. Questions have a lane of their
// own, because they must be answered while the other lanes are busy.
#pragma once

#include "base/plain_path.hpp"
#include "engine/batcher.hpp"
#include "engine/workflow_pool.hpp"
#include "workflow/workflow_run.hpp"

#include <atomic>
#include <condition_variable>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <thread>
#include <unordered_map>
#include <vector>

namespace hapax::workflow {

using RunState = std::shared_ptr<detail::WorkflowRun>;

class Lanes final : public engine::WorkflowPool, public std::enable_shared_from_this<Lanes> {
 public:
  struct Options {
    std::shared_ptr<Host> app;
    std::function<std::shared_ptr<const Function>(const std::string&)> find;  // by name
    std::function<std::vector<std::string>()> names;
    std::function<std::vector<std::string>()> questions;
    int threads = 1;
    int cached = 1000;  // waiting runs kept in memory
    int active = 1000;  // runs claimed at once
    std::size_t stack_bytes = 256 << 10;
    std::string build;
    std::function<void(std::string_view)> on_trouble;
  };

  explicit Lanes(Options options);
  ~Lanes() override;

  [[nodiscard]] std::vector<std::string> names() const override { return options_.names(); }
  [[nodiscard]] std::vector<std::string> questions() const override { return options_.questions(); }
  void start(std::function<void()> on_settled) override;
  void submit(std::vector<engine::RunPtr> runs) override;
  void collect(std::vector<engine::Settled>& into) override;
  void withdraw(std::vector<engine::RunPtr>& into) override;
  [[nodiscard]] int room() const override;
  [[nodiscard]] int active() const override { return active_.load(); }
  void look(Time now) override;
  void hold() override { holding_.store(true); }
  void stop(Time until) override;

 private:
  // Runs that a lane has at a time, and runs that leave a lane at a time.
  static constexpr std::size_t batch_max = 64;
  // Runs do not wait for a lane that has been in one function for longer than this.
  static constexpr Duration held_up_after = std::chrono::milliseconds(1);
  // Idle lanes take over the runs of a lane that has been in one function for longer than this.
  static constexpr Duration leave_after = std::chrono::milliseconds(100);
  // When the store does not answer while runs are taken over, lanes try again after this.
  static constexpr Duration leave_again_after = std::chrono::seconds(1);

  struct Lane {
    std::condition_variable work;   // there is work for this lane, or the pool stops
    bool idle = false;              // the lane waits on `work`; guarded by mutex_
    std::deque<RunState> todo;      // runs claimed again whose fibers are here; guarded by mutex_
    std::vector<RunState> discard;  // runs cached here that must be dropped; guarded by mutex_
    std::deque<RunState> bodies;    // runs with a step to run, here or on an idle lane; guarded by mutex_
    std::vector<RunState> ready;    // runs whose step has been run, here or on another lane; guarded by mutex_
    int lent = 0;                   // how many steps other lanes run for this lane; guarded by mutex_
    bool ended = false;             // guarded by mutex_
    bool asks = false;              // takes questions only
    std::thread thread;
    // The lane's current activity, for look().
    std::atomic<std::int64_t> busy_since_us{0};  // 0: not in a function
    std::atomic<std::int64_t> held_since_us{0};  // as busy_since_us, bodies of steps included
    std::atomic<bool> reported{false};
    std::mutex name_mutex;
    std::string name;
  };
  using LanePtr = std::shared_ptr<Lane>;

  struct Cached {
    RunState state;
    LanePtr lane;
    std::list<Uuid>::iterator age;
  };

  void loop(const LanePtr& lane);
  // Takes work for a lane that holds `held` runs already. Returns false when the pool stops.
  enum class Taking : std::uint8_t {
    waiting,  // waits until there is work
    joining,  // takes runs that do not hold up the others for long
    own,      // takes only runs that no other lane can have
  };
  [[nodiscard]] bool take(const LanePtr& lane, std::vector<RunState>& batch, Taking taking, std::size_t held);
  // Holding mutex_: moves runs from `coming` to `picked`, for a lane that holds `beside` runs, up to `most` in all.
  // Returns true when other lanes should take the rest.
  [[nodiscard]] bool pick(std::deque<engine::RunPtr>& coming, Taking taking, std::size_t most, std::size_t beside,
                          std::vector<engine::RunPtr>& picked);
  // Holding mutex_: whether a lane that holds `beside` runs takes a run that may take long.
  [[nodiscard]] static bool is_for(const engine::Run& run, Taking taking, std::size_t beside);
  // Holding mutex_: whether the first run has waited so long that even a lane with slow runs takes it.
  [[nodiscard]] static bool must_take(const std::deque<engine::RunPtr>& coming, std::size_t held);
  // Holding mutex_: waits until there is work for this lane. Returns false when that work is another lane's bodies.
  [[nodiscard]] bool wait_for_work(const LanePtr& lane, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] RunState make(engine::RunPtr run);
  // Reads the journals and events of the runs that need them. A run whose journal cannot be read is snoozed.
  void load(std::vector<RunState>& batch);
  void read_histories(std::vector<RunState>& batch);
  // Returns one history for each request. If a request fails the call, each is asked for alone, and a history that
  // cannot be read is marked unreadable. Throws when the store is away.
  [[nodiscard]] std::vector<model::History> ask_histories(std::span<const model::HistoryRequest> requests);
  [[nodiscard]] model::History ask_history(const model::HistoryRequest& request);
  // Snoozes a run whose journal cannot be read here, and reports it.
  void snooze(const RunState& state, std::string_view why);
  [[nodiscard]] bool has_bodies(const LanePtr& lane) const;
  // Runs the batch, and runs whose bodies wait on this lane, until all wait, have ended or are given back.
  void run(const LanePtr& lane, std::vector<RunState> batch);
  using Turns = std::vector<std::pair<RunState, Duration>>;  // each run with the time it took
  // Resumes each run until it needs the store, waits or has ended; runs that need the store are added to `flushing`.
  // Returns true when all were quick.
  [[nodiscard]] bool go_on_all(const LanePtr& lane, const std::vector<RunState>& batch,
                               std::vector<RunState>& flushing);
  // Resumes one run. Returns true when it needs the store, or has a body to run while others wait.
  [[nodiscard]] bool go_on(const LanePtr& lane, const RunState& state, bool in_company);
  // Writes the entries of all runs to the store; runs that go on remain in `batch`.
  void flush(std::vector<RunState>& batch);
  void send(std::vector<RunState>& batch);
  void end(const RunState& state);
  void wait(const LanePtr& lane, const RunState& state);
  // For a run whose journal does not fit the code here: leaves it to another build, or parks it.
  void put_aside(const RunState& state);
  [[nodiscard]] bool another_build_is_there(const model::Claim& claim);
  void give_back(const RunState& state, std::string_view why);
  // Releases a run that this worker has lost or that was asked to stop.
  void release(const RunState& state);
  void settle(const engine::RunPtr& run, model::Finish finish);
  void announce();
  void drop(const RunState& state);
  void trim(const LanePtr& lane, std::vector<RunState>& mine);
  void wake_idle();
  // The caller holds mutex_.
  void submit_one(engine::RunPtr run);
  void submit_question(engine::RunPtr run);
  // Holding mutex_: whether turns of this workflow were measured to be short.
  [[nodiscard]] bool is_quick(const std::string& workflow) const;
  [[nodiscard]] bool is_unknown(const std::string& workflow) const { return measures_ && !speeds_.contains(workflow); }
  // When a lane will know whether runs of an unmeasured workflow are quick; a past time: no lane measures it.
  [[nodiscard]] Time known_by(const std::string& workflow) const;
  // Holding mutex_: whether a working lane will soon take a run of this workflow.
  [[nodiscard]] bool is_soon_looked_after(const std::string& workflow, Time now) const;
  // Records what turns took. Returns true when no workflow among them is slow.
  [[nodiscard]] bool note_speeds(const Turns& took);
  void run_body(const LanePtr& lane, const RunState& state, Time now);
  // Called after a body. Returns false when the store failed a transactional step; a later claim then resumes the run.
  [[nodiscard]] bool goes_on(const RunState& state);
  // Runs the bodies of flushed runs, and bodies left over from before. Runs whose bodies other lanes take return in
  // Lane::ready. Returns true when bodies are left over, because finished ones must be recorded first.
  [[nodiscard]] bool run_bodies(const LanePtr& lane, std::vector<RunState> flushed, std::vector<RunState>& going);
  // For an idle lane: takes runs from a lane that is held up, or runs one of their bodies.
  void help_out(const LanePtr& lane);
  // Returns a lane that an idle lane can help, or null. The caller holds mutex_.
  [[nodiscard]] LanePtr held_up_lane(Time now) const;
  // Holding mutex_: whether the lane is held up for so long that idle lanes take over its runs. Questions stay, because
  // their functions return the answer only at their end.
  [[nodiscard]] bool is_left(const Lane& lane, Time now) const;
  [[nodiscard]] static bool is_held_up(const Lane& lane, Time now, Duration since);
  [[nodiscard]] static bool may_leave(const RunState& state);
  struct Leaving {
    std::vector<RunState> ready;   // runs whose steps have run
    std::vector<RunState> bodies;  // runs whose steps have yet to run
  };
  // Holding mutex_: lends up to batch_max runs that are between two calls, of a lane that stays held up.
  [[nodiscard]] static Leaving lend_leaving(Lane& held);
  // Holding mutex_: gives runs that were claimed again, and wait for a lane that stays held up, to any lane.
  [[nodiscard]] bool free_claimed(Lane& held);
  // Continues runs of another lane, anew from their journals. A step that has run does not run again. The old fibers
  // stay on the other lane, to be dropped there. Runs whose journals cannot be read now go back to that lane.
  void adopt(const LanePtr& lane, const LanePtr& held, Leaving leaving);
  // Makes a new run for one that leaves its lane; the new run takes the history. Returns null when the run was given
  // back instead.
  [[nodiscard]] RunState adopted(const RunState& left, model::History& history);
  // Gives back a run whose transactional step the store has failed, so that a later claim resumes it.
  void settle_trouble(const RunState& state);
  [[nodiscard]] static bool is_stopped(const engine::Run& run);
  void trouble(const std::string& what) const;
  void refresh_cancel(const RunState& state);

  Options options_;
  const bool measures_ = !base::takes_plain_path("lane-measuring");  // if not, all workflows count as quick
  const std::size_t runs_at_a_time_ = base::takes_plain_path("lane-batches") ? 1 : batch_max;
  const std::shared_ptr<base::StackPool> stacks_;
  std::function<void()> on_settled_;
  std::atomic<bool> news_{false};  // some outcomes are settled and not announced
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<engine::RunPtr> fresh_;
  std::deque<engine::RunPtr> asked_;  // questions (model/question.hpp)
  std::vector<LanePtr> lanes_;
  LanePtr asker_;  // the lane for questions, started by the first one
  std::unordered_map<Uuid, Cached> cache_;
  std::list<Uuid> ages_;  // the longest unused first
  std::vector<engine::Settled> settled_;
  bool stopping_ = false;
  Time no_leaving_before_{};  // guarded by mutex_
  std::atomic<bool> holding_{false};
  std::atomic<int> active_{0};
  // A run whose journal does not fit the code here.
  struct Misfit {
    int left = 0;  // times left to other builds since it was last parked
    bool parked = false;
  };
  std::unordered_map<Uuid, Misfit> misfits_;
  std::unordered_map<std::string, double> speeds_;        // seconds that turns of a workflow take; guarded by mutex_
  std::unordered_map<std::string, Time> measured_since_;  // when a workflow's first run began; guarded by mutex_
};

}  // namespace hapax::workflow
