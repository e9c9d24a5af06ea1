// Lanes: the threads on which workflows run.
//
// A lane takes runs, resumes each until it needs something, and brings what all of them want recorded to the store in one
// call; then it goes on with those. So a run costs a thread only while its own code runs, and many runs share a commit. A
// run that waits is given back as `waiting` and kept in memory, on the lane its fiber belongs to, as long as there is
// room; when it is claimed again under the very next fence, it goes on without its journal being read again.
//
// As few lanes as suffice: two would take turns at the store, and each call bring half as much. Another lane begins when
// those at work have their hands full, or one of them is held up by a function that takes long. Workflows whose steps
// take long go to a lane one at a time. Of a kind that nobody has measured yet one is taken; the others wait until it was
// measured and join its commit, or for a moment. Bodies that wait behind one that takes longer than was thought are run by
// idle lanes; the runs themselves stay, as a fiber belongs to its thread. Questions have a lane of their own: who asks
// wants to know what keeps the others busy.
#pragma once

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
    std::shared_ptr<detail::AppState> app;
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
  // A lane that has been in one function for longer than this is not waited for.
  static constexpr Duration held_up_after = std::chrono::milliseconds(1);

  struct Lane {
    std::condition_variable work;   // something for it to do, or the end
    bool idle = false;              // waits there; guarded by mutex_
    std::deque<RunState> todo;      // claimed again, and its fiber is here; guarded by mutex_
    std::vector<RunState> discard;  // cached here and not wanted any more; guarded by mutex_
    std::deque<RunState> bodies;    // steps to be run, by it or by an idle lane; guarded by mutex_
    std::vector<RunState> ready;    // whose step another lane has run; guarded by mutex_
    int lent = 0;                   // whose step another lane is running; guarded by mutex_
    bool ended = false;             // guarded by mutex_
    bool asks = false;              // takes questions, and nothing else
    std::thread thread;
    // What it is doing, for look().
    std::atomic<std::int64_t> busy_since_us{0};  // 0: not in a function
    std::atomic<std::int64_t> held_since_us{0};  // likewise, bodies of steps included
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
  // What there is to do, for a lane that has so many already. False at the end.
  enum class Taking : std::uint8_t {
    waiting,  // until there is something
    joining,  // those that would not hold up the others for long
    own,      // only those that no other lane can have
  };
  [[nodiscard]] bool take(const LanePtr& lane, std::vector<RunState>& batch, Taking taking, std::size_t held);
  // What a lane gets of those that come, beside so many that it has, so many in all at most. True when it may have its
  // hands full. Holding mutex_.
  [[nodiscard]] bool pick(std::deque<engine::RunPtr>& coming, Taking taking, std::size_t most, std::size_t beside,
                          std::vector<engine::RunPtr>& picked);
  // Does a run that may take long go to a lane that takes so, and has so many? Holding mutex_.
  [[nodiscard]] static bool is_for(const engine::Run& run, Taking taking, std::size_t beside);
  // Has the first waited so long that a lane with so many, slow ones among them, takes it? Holding mutex_.
  [[nodiscard]] static bool must_take(const std::deque<engine::RunPtr>& coming, std::size_t held);
  // Until there is something for this lane; false when that is another lane's bodies. Holding mutex_.
  [[nodiscard]] bool wait_for_work(const LanePtr& lane, std::unique_lock<std::mutex>& lock);
  [[nodiscard]] RunState make(engine::RunPtr run);
  // Reads journals and events of those that need them; what cannot be read is given back.
  void load(std::vector<RunState>& batch);
  void read_histories(std::vector<RunState>& batch);
  // One history for each request. Where one request fails the call, each is asked for alone, and the history that cannot be
  // read is marked unreadable. Throws when the store is away.
  [[nodiscard]] std::vector<model::History> ask_histories(std::span<const model::HistoryRequest> requests);
  [[nodiscard]] model::History ask_history(const model::HistoryRequest& request);
  // Its journal cannot be read here: it is told and tried again later.
  void snooze(const RunState& state, std::string_view why);
  // Goes on with each until all wait, have ended or are given back.
  void run(const LanePtr& lane, std::vector<RunState> batch);
  using Turns = std::vector<std::pair<RunState, Duration>>;  // and how long each took
  // Each until it needs the store, or does not any more. True when all were quick.
  [[nodiscard]] bool go_on_all(const LanePtr& lane, const std::vector<RunState>& batch,
                               std::vector<RunState>& flushing);
  // One run until it needs the store; true when it does, or has a body to run that may take long while others wait.
  [[nodiscard]] bool go_on(const LanePtr& lane, const RunState& state, bool in_company);
  // Entries of all into the store; those that go on remain.
  void flush(std::vector<RunState>& batch);
  void send(std::vector<RunState>& batch);
  void end(const RunState& state);
  void wait(const LanePtr& lane, const RunState& state);
  // Its code and its journal do not agree.
  void put_aside(const RunState& state);
  [[nodiscard]] bool another_build_is_there(const model::Claim& claim);
  void give_back(const RunState& state, std::string_view why);
  // It is somebody else's, or was told to stop.
  void release(const RunState& state);
  void settle(const engine::RunPtr& run, model::Finish finish);
  void announce();
  void drop(const RunState& state);
  void trim(const LanePtr& lane, std::vector<RunState>& mine);
  void wake_idle();
  // Holding mutex_.
  void submit_one(engine::RunPtr run);
  void submit_question(engine::RunPtr run);
  // Are turns of this workflow short, by measure? Holding mutex_.
  [[nodiscard]] bool is_quick(const std::string& workflow) const;
  [[nodiscard]] bool is_unknown(const std::string& workflow) const { return !speeds_.contains(workflow); }
  [[nodiscard]] bool may_take_long(const std::string& workflow) const;
  // Until when another lane will know whether runs of an unknown workflow are quick; past: none will.
  [[nodiscard]] Time known_by(const std::string& workflow) const;
  // Will a lane that is at work take a run of this workflow in a moment? Holding mutex_.
  [[nodiscard]] bool is_soon_looked_after(const std::string& workflow, Time now) const;
  // What turns took. True when none of the batch is slow.
  [[nodiscard]] bool note_speeds(const Turns& took);
  void run_body(const LanePtr& lane, const RunState& state, Time now);
  // After its body: false when the store failed a transactional step, and the run goes on later.
  [[nodiscard]] bool goes_on(const RunState& state);
  // The bodies of those that are flushed, and of those left over; those that other lanes took come back as ready. True when
  // some are left over, as what was done is to be recorded first.
  [[nodiscard]] bool run_bodies(const LanePtr& lane, std::vector<RunState> flushed, std::vector<RunState>& going);
  // A body that waits behind a long one of another lane. False when there is none.
  [[nodiscard]] bool help_out(const LanePtr& lane);
  [[nodiscard]] LanePtr held_up_lane(Time now) const;
  [[nodiscard]] static bool is_stopped(const engine::Run& run);
  void trouble(const std::string& what) const;
  void refresh_cancel(const RunState& state);

  Options options_;
  const std::shared_ptr<StackPool> stacks_;
  std::function<void()> on_settled_;
  std::atomic<bool> news_{false};  // settled and not announced
  mutable std::mutex mutex_;
  std::condition_variable ended_;
  std::deque<engine::RunPtr> fresh_;
  std::deque<engine::RunPtr> asked_;  // questions (model/question.hpp)
  std::vector<LanePtr> lanes_;
  LanePtr asker_;  // one of them, once there was a question
  std::unordered_map<Uuid, Cached> cache_;
  std::list<Uuid> ages_;  // the longest unused first
  std::vector<engine::Settled> settled_;
  bool stopping_ = false;
  std::atomic<bool> holding_{false};
  std::atomic<int> active_{0};
  // A run that the code here does not fit.
  struct Misfit {
    int left = 0;  // to other builds since it was parked
    bool parked = false;
  };
  std::unordered_map<Uuid, Misfit> misfits_;
  std::unordered_map<std::string, double> speeds_;        // seconds that turns of a workflow take; guarded by mutex_
  std::unordered_map<std::string, Time> measured_since_;  // of those without; guarded by mutex_
};

}  // namespace hapax::workflow
