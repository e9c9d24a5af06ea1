// Engine: a store and the parts that one process shares around the store: group commit for admissions, wakeups of local
// workers, waiting for outcomes, and the sweeper.
//
// One Engine per process and store. Any thread may call it. Background threads start when first needed and end with the
// Engine.
#pragma once

#include "base/random.hpp"
#include "engine/batcher.hpp"
#include "engine/observations.hpp"
#include "engine/step_thread.hpp"
#include "model/turn.hpp"
#include "store/store.hpp"

#include <atomic>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::engine {

class BackgroundSweeper;
class CatalogueCache;
class Waiters;
class Wakeups;

class Engine {
 public:
  explicit Engine(std::shared_ptr<store::Store> store);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] const store::Capabilities& capabilities() const { return capabilities_; }
  [[nodiscard]] base::Random& random() { return random_; }
  // The observer and the log, which are set before the engine is used.
  [[nodiscard]] Observations& observations() { return observations_; }
  // Returns the one cache of a namespace's catalogue in this process. The engine must outlive the cache.
  [[nodiscard]] std::shared_ptr<CatalogueCache> catalogue(const std::string& namespace_name);

  // Admits a checked request (engine/build_request.hpp) together with other waiting requests, and wakes workers. An idle
  // local worker may get the execution at once (born running). Returns after commit.
  [[nodiscard]] model::Admission admit(model::NewExecution request);
  // As admit(), but a callback gets the result on another thread: (admission, nullptr) or ({}, error).
  using AdmitCallback = std::function<void(model::Admission, std::exception_ptr)>;
  void admit_async(model::NewExecution request, AdmitCallback callback);
  // While the burst lives, requests of admit_async wait for each other, for a moment, and share a call.
  using AdmissionBurst = Batcher<model::NewExecution, model::Admission>::Burst;
  [[nodiscard]] AdmissionBurst admission_burst() { return AdmissionBurst(*admissions_); }
  // Admits at most limits::bulk_batch checked requests in one transaction of their own.
  [[nodiscard]] std::vector<model::Admission> admit_bulk(std::span<model::NewExecution> requests);
  // Admits several batches of any size in one transaction. `next` returns each batch, and an empty one at the end; it
  // may wait for another thread that makes the batches, but must not use the store. All batches must stay valid until
  // this call returns. Throws Unsupported when the store cannot lend a transaction.
  using BulkSource = std::function<std::span<model::NewExecution>()>;
  [[nodiscard]] std::vector<std::vector<model::Admission>> admit_bulk(const BulkSource& next);
  // Calls Store::change_activities, and wakes workers for the runs that it admitted.
  [[nodiscard]] std::vector<model::ActivityReply> change_activities(std::span<const model::ActivityChange> changes);
  // Wakes workers for executions that were not admitted by admit(), such as those of a caller's transaction after its
  // commit.
  void wake_workers(std::span<const model::QueueRef> queues);

  // Appends a journal entry; waiting entries of other callers share the store call.
  [[nodiscard]] model::FinishVerdict journal(model::JournalEntry entry);

  // Appends journal entries of several workflow runs; waiting entries of other callers share the store call.
  [[nodiscard]] std::vector<model::AdvanceReply> advance(std::vector<model::Advance> turns);

  // ---- Waiting ---------------------------------------------------------------------------------------------------
  [[nodiscard]] Waiters& waiters() { return *waiters_; }
  [[nodiscard]] Wakeups& wakeups() { return *wakeups_; }
  // How often expired rows are deleted: by `interval`, else by the namespace's setting in the store, else hourly.
  struct Cleanup {
    std::optional<Duration> interval;
    std::string namespace_name;
  };
  // The shortest interval of all callers counts. A changed setting takes effect while the sweeper runs.
  void start_sweeper(const Cleanup& cleanup);
  // Runs a step of another module on a thread of its own for as long as the engine lives, one thread per name. `make`
  // is called only when the name has no thread yet.
  void start_background(const std::string& name, const std::function<StepThread::Step()>& make);
  // Ends the sweeper and the background threads. Call this before objects that these threads use are destroyed, if the
  // engine outlives the objects.
  void stop_background();
  // Makes the next step of the thread `name` run now.
  void wake_background(const std::string& name);
  // Counts the changes that this process has made to activity definitions, so that its caches of definitions know when
  // they are stale.
  void activities_changed() { activity_changes_.fetch_add(1); }
  [[nodiscard]] std::uint64_t activity_changes() const { return activity_changes_.load(); }
  // Wakes background steps, workers and waiters now, after virtual time moved or an operator changed something that
  // they may wait for.
  void wake_all();

 private:
  // Other processes are notified of executions that become ready within this time; polling finds executions that become
  // ready later.
  static constexpr Duration announce_within = std::chrono::seconds(2);

  [[nodiscard]] std::vector<std::vector<model::AdvanceReply>> flush_turns(
      std::span<std::vector<model::Advance>> requests);
  void reserve(model::NewExecution& request);
  // Ends a reservation whose request has failed.
  void end_reservation(const model::BornRunning& place);
  void admitted(std::span<model::NewExecution> requests, std::span<model::Admission> admissions);
  // Wakes workers for new executions that no worker has claimed yet.
  class PendingWakeups;
  [[nodiscard]] Duration cleanup_interval();

  std::shared_ptr<store::Store> store_;
  const store::Capabilities capabilities_;
  base::SystemRandom random_;
  Observations observations_;
  std::unique_ptr<Wakeups> wakeups_;
  std::unique_ptr<Waiters> waiters_;
  std::unique_ptr<Batcher<model::NewExecution, model::Admission>> admissions_;
  std::unique_ptr<Batcher<model::JournalEntry, model::FinishVerdict>> journal_;
  std::unique_ptr<Batcher<std::vector<model::Advance>, std::vector<model::AdvanceReply>>> turns_;
  std::mutex background_mutex_;
  std::vector<Cleanup> cleanups_;  // guarded by background_mutex_
  std::unique_ptr<BackgroundSweeper> sweeper_;
  std::atomic<std::uint64_t> activity_changes_{0};
  std::mutex catalogues_mutex_;
  std::map<std::string, std::weak_ptr<CatalogueCache>> catalogues_;  // the caches in use; guarded by catalogues_mutex_
  std::map<std::string, std::unique_ptr<StepThread>> background_;    // guarded by background_mutex_
};

}  // namespace hapax::engine
