// ExecutionStore: guard records as executions of a hapax store (SQLite, PostgreSQL, or its memory store).
//
// ExecutionStore adds no mechanism of its own: a guarded call is an execution of kind guard. The store admits it as
// running under a session of this process, finds it by its identity and finishes it under its fence (rules:
// store/store.hpp).
// Cost: a call that finds a record takes one read. A first call takes two commits, which calls of other threads share,
// and one read; the read is skipped when it is a round trip that would likely find nothing.
//
// Owned by shared_ptr. Any thread. A forked child leaves the parent's store alone and opens another one; on SQLite a
// forked child gets UsageError.
#pragma once

#include <hapax/guard_store.hpp>

#include "base/plain_path.hpp"
#include "engine/batcher.hpp"
#include "guard/caller_session.hpp"
#include "guard/first_call_guess.hpp"
#include "store/busy_if_blocked.hpp"
#include "store/store.hpp"

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace hapax::guard {

class ExecutionStore final : public GuardStore {
 public:
  // Called once per process that uses the store, so again in a forked child, where it may throw.
  using Open = std::function<std::shared_ptr<store::Store>()>;

  explicit ExecutionStore(Open open);
  ~ExecutionStore() override;

  [[nodiscard]] GuardAnswer begin(const GuardBegin& request) override;
  [[nodiscard]] std::vector<std::size_t> beat(std::span<const GuardHold> held) override;
  [[nodiscard]] GuardVerdict finish(const GuardHold& hold, const GuardFinish& finish) override;
  [[nodiscard]] std::optional<GuardRecord> read(const GuardKey& key) override;
  [[nodiscard]] GuardPage list(const GuardQuery& query) override;
  GuardForgotten forget(const GuardKey& key, bool even_in_progress) override;
  std::size_t sweep(std::size_t limit) override;
  [[nodiscard]] GuardStoreInfo info() const override;

 private:
  // The state of one process.
  struct Place {
    explicit Place(std::shared_ptr<store::Store> opened);

    using Session = std::shared_ptr<CallerSession>;
    // One call of the store, which calls of other threads share.
    [[nodiscard]] model::Admission admit(model::NewExecution item) {
      return batches ? admissions.submit(std::move(item)) : store->admit({&item, 1}).front();
    }
    [[nodiscard]] model::FinishVerdict finish(model::Finish finish) {
      return batches ? outcomes.submit(std::move(finish)) : store::busy_if_blocked([&] {
                                                              return store->finish({&finish, 1});
                                                            }).front();
    }
    // The session under which calls begin now.
    [[nodiscard]] Session session(const std::optional<Duration>& takeover_after, const std::string& owner);
    // All sessions that may hold a call.
    [[nodiscard]] std::vector<Session> all_sessions();
    // Notes a begin whose commit is unknown.
    void add_doubt(const Uuid& id);
    // Unlocks the executions of begins whose commit is unknown. Throws what the store throws.
    void settle_doubts();

    const std::uint64_t generation;
    const std::shared_ptr<store::Store> store;
    const bool batches = !base::takes_plain_path("guard-batches");
    engine::Batcher<model::NewExecution, model::Admission> admissions;
    engine::Batcher<model::Finish, model::FinishVerdict> outcomes;
    std::mutex mutex;
    std::map<Duration, Session> sessions;  // by lease; under mutex
    std::vector<Session> lapsed;           // sessions that still hold something; under mutex
    // Executions of begins whose commit is unknown: the store may have them, and nobody runs them. Under mutex.
    std::vector<Uuid> doubts;
    std::atomic<bool> has_doubts{false};
    FirstCallGuess first_call_guess;
  };

  [[nodiscard]] Place& place();

  const Open open_;
  std::atomic<Place*> place_;
  GuardStoreInfo info_;
  bool reads_over_network_ = false;  // reading a record is a round trip to a server
};

}  // namespace hapax::guard
