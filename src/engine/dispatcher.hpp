// Dispatcher: records outcomes and claims work, with one Store::exchange a turn.
//
// A step takes all outcomes that the pool has decided, sends them together with the next claim if the pool wants more,
// and hands the claimed runs to the pool. A step never waits; step() returns the time of the next step. Outcomes that
// the store could not take are kept and sent again; stale outcomes are dropped. One thread calls step(); any thread may
// call hint().
#pragma once

#include "engine/backoff.hpp"
#include "engine/observations.hpp"
#include "engine/outcome.hpp"
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

class Dispatcher {
 public:
  struct Options {
    std::vector<model::QueueRef> queues;
    std::vector<std::string> tasks;
    int prefetch = 0;
    WorkflowPool* workflows = nullptr;           // runs claimed workflows; none: the pool runs them like tasks
    std::optional<model::QueueRef> questions{};  // queue of questions to workflows (model/question.hpp)
    // Called with outcomes and the store's verdicts, for waiters and displays.
    std::function<void(std::span<const Settled>, std::span<const model::FinishVerdict>)> on_answered;
    // Called with the queues in which outcomes made executions due.
    std::function<void(std::span<const model::QueueRef>)> on_woken;
    std::function<void(std::string_view)> on_trouble;
    const Observations* observations = nullptr;  // null: a worker of a server
    std::function<void()> on_doubt;              // the result of a claim is unknown: send a heartbeat now
  };

  Dispatcher(store::WorkStore& store, Session& session, RunPool& pool, Options options);

  [[nodiscard]] Time step(Time now);

  // Notes that a queue may have work at `due`. Returns true when the dispatcher must be woken for it.
  bool hint(Time due);
  void set_tasks(std::vector<std::string> tasks);
  // After this the dispatcher claims nothing and releases the runs that no thread has started.
  void drain() { draining_.store(true); }
  // True while an execution that was lost before runs alone on this worker, or waits to run alone.
  [[nodiscard]] bool exclusive() const { return exclusive_.load(); }
  [[nodiscard]] bool store_away() const { return away_.load(); }
  // True when no outcome waits to be recorded.
  [[nodiscard]] bool all_sent() const { return unsent_.load() == 0; }
  [[nodiscard]] WorkerStats stats() const;

 private:
  // How long an execution that was lost before waits for the worker to be empty; after that it runs beside others.
  static constexpr Duration suspects_patience = std::chrono::seconds(5);

  struct Plan {
    int limit = 0;  // 0: claim nothing this turn
    bool alone = false;
    bool tasks = true;      // the claim includes tasks
    bool workflows = true;  // the claim includes workflows
  };

  void collect(Time now);
  [[nodiscard]] Plan plan(Time now);
  [[nodiscard]] int wanted(const PoolLoad& load) const;
  [[nodiscard]] Plan plan_kinds(bool due, bool alone);
  [[nodiscard]] std::vector<Settled> next_batch();
  [[nodiscard]] bool exchange(const Plan& plan, Time now);
  void answered(std::span<const Settled> batch, std::span<const model::FinishVerdict> verdicts);
  void send_one_by_one(std::vector<Settled> batch);
  void note_unsent();
  [[nodiscard]] std::vector<std::string> names(const Plan& plan);
  [[nodiscard]] model::ClaimRequest claim_request(const Plan& plan, const ClaimTicket& ticket, Time now);
  void add_questions(model::ClaimRequest& request, Time now);
  void claimed(model::ClaimReply reply, const ClaimTicket& ticket, const Plan& plan, Time now, Time received);
  void hand_out(std::vector<RunPtr> runs);
  void plan_next_claim(const model::ClaimReply& reply, const Plan& plan, Time now);
  void release_unstarted();
  [[nodiscard]] Time next_step(Time now) const;
  void trouble(std::string_view what);
  [[nodiscard]] model::Exchange ask_store(std::span<const model::Finish> finishes, const model::ClaimRequest* claim);

  store::WorkStore& store_;
  Session& session_;
  RunPool& pool_;
  Options options_;

  Time now_{};                    // time of this step
  std::vector<Settled> pending_;  // outcomes decided and not yet recorded
  std::vector<Settled> held_up_;  // outcomes whose rows another open transaction has locked
  Time held_up_at_{};             // when to send held_up_ again
  Backoff backoff_;
  Time retry_at_{};
  Time claim_at_{};              // when to claim next
  Time questions_at_{};          // claims before this leave questions out
  bool questions_left_ = false;  // the last claim left questions out
  bool more_tasks_ = true;       // the last claim of tasks was full, or tasks were due without room
  bool more_workflows_;
  bool tasks_next_ = false;
  bool no_room_ = false;  // a claim is due, but there is no room
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
