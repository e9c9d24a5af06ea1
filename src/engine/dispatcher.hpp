// Dispatcher: outcomes out, claims in, one Store::exchange a turn.
//
// A step takes everything the pool has decided, sends it together with the next claim when the pool wants more, and
// hands what came to the pool. It never waits: it says when it wants to be called again. Outcomes the store could not
// take are kept and sent again; a stale one is dropped. One thread calls step(); wake hints may come from any.
#pragma once

#include "engine/pool.hpp"
#include "engine/session.hpp"
#include "engine/step_thread.hpp"
#include "engine/worker.hpp"
#include "engine/workflow_pool.hpp"
#include "store/store.hpp"

#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::engine {

// After a store call failed: 50 ms, doubling to 5 s.
class Backoff {
 public:
  [[nodiscard]] Duration next();
  void reset() { failures_ = 0; }
  [[nodiscard]] bool active() const { return failures_ > 0; }

 private:
  int failures_ = 0;
};

class Dispatcher {
 public:
  struct Options {
    std::vector<model::QueueRef> queues;
    std::vector<std::string> tasks;
    int prefetch = 0;
    WorkflowPool* workflows = nullptr;           // where workflows go; none: they are run like tasks
    std::optional<model::QueueRef> questions{};  // where those are asked from afar
    bool remote = false;                         // the store's capability
    // Outcomes the store answered: who waits for them is told, and a display.
    std::function<void(std::span<const Settled>, std::span<const model::FinishVerdict>)> on_answered;
    // Queues in which outcomes made something due.
    std::function<void(std::span<const model::QueueRef>)> on_woken;
    std::function<void(std::string_view)> on_trouble;
    std::function<void()> on_doubt;  // something is amiss with the session: beat now
  };

  Dispatcher(store::Store& store, Session& session, RunPool& pool, Options options);

  [[nodiscard]] Time step(Time now);

  // ---- Any thread ------------------------------------------------------------------------------------------------
  // A queue may have work at `due`. True when the dispatcher should be woken for it.
  bool hint(Time due);
  void set_tasks(std::vector<std::string> tasks);
  // From now on nothing is claimed and what no thread has started is released.
  void drain() { draining_.store(true); }
  // A lost-before execution has the worker to itself, or waits for that.
  [[nodiscard]] bool exclusive() const { return exclusive_.load(); }
  [[nodiscard]] bool store_away() const { return away_.load(); }
  // Nothing is on its way to the store.
  [[nodiscard]] bool all_sent() const { return unsent_.load() == 0; }
  [[nodiscard]] WorkerStats stats() const;

 private:
  struct Plan {
    int limit = 0;  // 0: claim nothing this turn
    bool alone = false;
    bool tasks = true;      // there is room for tasks,
    bool workflows = true;  // and for workflows
  };

  void collect(Time now);
  [[nodiscard]] Plan plan(Time now);
  [[nodiscard]] int wanted(const PoolLoad& load) const;
  [[nodiscard]] Plan plan_kinds(bool due, bool alone);
  [[nodiscard]] bool all_ended_at_once();
  [[nodiscard]] bool waits_for_company(Time now);
  void note_crowd(std::span<const Settled> sent, Time now, Duration took);
  [[nodiscard]] std::vector<Settled> next_batch();
  [[nodiscard]] bool exchange(const Plan& plan, Time now);
  void answered(std::span<const Settled> batch, std::span<const model::FinishVerdict> verdicts);
  void send_one_by_one(std::vector<Settled> batch);
  void note_unsent();
  [[nodiscard]] std::vector<std::string> names(const Plan& plan);
  void add_questions(model::ClaimRequest& request, Time now);
  void hand_out(std::vector<RunPtr> runs);
  void claimed(model::ClaimReply reply, const Plan& plan, Time now);
  void release_unstarted();
  [[nodiscard]] Time next_step(Time now) const;
  void trouble(std::string_view what);

  store::Store& store_;
  Session& session_;
  RunPool& pool_;
  Options options_;

  Time now_{};                    // of this step
  std::vector<Settled> pending_;  // decided, not yet recorded
  std::vector<Settled> held_up_;  // somebody's open transaction has their rows
  Time held_up_at_{};             // when to try them again
  Backoff backoff_;
  Time retry_at_{};
  std::size_t workflows_lately_ = 0;  // at once, at most
  Time crowd_at_{};                   // when most of them were sent together
  Duration company_wait_{0};          // how long the call took
  Time company_until_ = never;        // the few that are pending wait for more of them; never: they do not
  Time claim_at_{};                   // when to look for work
  Time questions_at_{};               // not for questions before that
  bool questions_left_ = false;       // the last claim was before that
  bool more_tasks_ = true;            // the last claim that asked for them was full, or they were due and had no room
  bool more_workflows_;
  bool tasks_next_ = false;
  bool no_room_ = false;  // it is time to look, but the pool is full
  Duration idle_wait_{0};
  std::size_t rotation_ = 0;
  bool suspects_due_ = false;
  Time suspects_since_{};
  RunPtr suspect_;
  Time suspect_since_{};
  PoolLoad load_;

  std::mutex tasks_mutex_;
  std::vector<std::string> tasks_;  // guarded by tasks_mutex_
  std::atomic<std::int64_t> hint_us_{INT64_MAX};
  std::atomic<bool> draining_{false};
  std::atomic<bool> exclusive_{false};
  std::atomic<bool> away_{false};
  std::atomic<std::int64_t> unsent_{0};
  mutable std::mutex stats_mutex_;
  WorkerStats stats_;  // guarded by stats_mutex_
};

}  // namespace hapax::engine
