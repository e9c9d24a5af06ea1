// ExecutionStore: guard records as executions of a hapax store (SQLite, PostgreSQL, or its memory store).
//
// No mechanism of its own: a call is an execution of kind guard, admitted born running for a session of this process, met
// by its identity, finished under its fence (store/store.hpp has the rules). A call that meets a record costs one read;
// a first call one read, which is left out where it is a round trip and likely to be in vain, and two commits, which calls
// of other threads share.
//
// Owned by shared_ptr. Any thread. In a forked child the parent's store is left alone and another is opened; not of
// SQLite, which refuses with UsageError.
#pragma once

#include <hapax/guard_store.hpp>

#include "engine/batcher.hpp"
#include "guard/caller_session.hpp"
#include "guard/foresight.hpp"
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
  // Called for each process that uses it: once, and once more in a forked child, where it may throw.
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
  // What belongs to one process.
  struct Place {
    explicit Place(std::shared_ptr<store::Store> opened);

    using Session = std::shared_ptr<CallerSession>;
    // Under which calls begin now.
    [[nodiscard]] Session session(const std::optional<Duration>& takeover_after, const std::string& owner);
    // All under which something may be held.
    [[nodiscard]] std::vector<Session> all_sessions();
    void doubt(const Uuid& id);
    // Unlocks what may have been begun and not answered. Throws what the store throws.
    void settle_doubts();

    const std::uint64_t generation;
    const std::shared_ptr<store::Store> store;
    engine::Batcher<model::NewExecution, model::Admission> admissions;
    engine::Batcher<model::Finish, model::FinishVerdict> outcomes;
    std::mutex mutex;
    std::map<Duration, Session> sessions;  // by lease; under mutex
    std::vector<Session> lapsed;           // that still hold something; under mutex
    // Executions of begins whose commit nobody knows: they may be there, and nobody runs them. Under mutex.
    std::vector<Uuid> doubts;
    std::atomic<bool> has_doubts{false};
    Foresight foresight;
  };

  [[nodiscard]] Place& place();

  const Open open_;
  std::atomic<Place*> place_;
  GuardStoreInfo info_;
  bool reads_far_ = false;  // a look at a record is a round trip to a server
};

}  // namespace hapax::guard
