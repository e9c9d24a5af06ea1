// Engine: a store with everything around it that one process shares: group commit for admissions, wake-ups of local
// workers, waiting for outcomes, and the sweeper.
//
// One per process and store. Any thread may call it. Background threads start when first needed and end with it.
#pragma once

#include "base/random.hpp"
#include "engine/batcher.hpp"
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
class Waiters;
class WakeHub;

class Engine {
 public:
  explicit Engine(std::shared_ptr<store::Store> store);
  Engine(const Engine&) = delete;
  Engine& operator=(const Engine&) = delete;
  ~Engine();

  [[nodiscard]] store::Store& store() { return *store_; }
  [[nodiscard]] const store::Capabilities& capabilities() const { return capabilities_; }
  [[nodiscard]] base::Random& random() { return random_; }

  // ---- Admission -------------------------------------------------------------------------------------------------
  // Checks the request (throws before anything is written), admits it together with whatever else is waiting, and wakes
  // workers. A local worker that is idle may get it at once (born running). Returns after commit.
  [[nodiscard]] model::Admission admit(model::NewExecution request);
  // The same, answered on another thread: (admission, nullptr) or ({}, error). What the checks throw is thrown here.
  using AdmitCallback = std::function<void(model::Admission, std::exception_ptr)>;
  void admit_async(model::NewExecution request, AdmitCallback callback);
  // While it lives, requests that come by admit_async are many at once and share a call.
  using AdmissionBurst = Batcher<model::NewExecution, model::Admission>::Burst;
  [[nodiscard]] AdmissionBurst admission_burst() { return AdmissionBurst(*admissions_); }
  // One transaction of at most limits::bulk_batch requests that were checked already, not joined with others.
  [[nodiscard]] std::vector<model::Admission> admit_bulk(std::span<model::NewExecution> requests);
  // The same for several batches, of any size, in one transaction: those that `next` gives, until it gives an empty one.
  // They are written while the next are made, and must stay until the call has returned. `next` must not use the store.
  // Throws Unsupported without the capability to lend a transaction.
  using BulkSource = std::function<std::span<model::NewExecution>()>;
  [[nodiscard]] std::vector<std::vector<model::Admission>> admit_bulk(const BulkSource& next);
  // The store's verb, and wakes workers for the runs that were admitted.
  [[nodiscard]] std::vector<model::ActivityReply> change_activities(std::span<const model::ActivityChange> changes);
  // For admissions made elsewhere (a caller's transaction, after its commit).
  void wake_workers(std::span<const model::QueueRef> queues);

  // Appends together with whatever else is waiting.
  [[nodiscard]] model::FinishVerdict journal(model::JournalEntry entry);

  // A workflow's entries, for several runs, together with whatever else is waiting.
  [[nodiscard]] std::vector<model::AdvanceReply> advance(std::vector<model::Advance> turns);

  // ---- Waiting ---------------------------------------------------------------------------------------------------
  [[nodiscard]] Waiters& waiters() { return *waiters_; }
  [[nodiscard]] WakeHub& hub() { return *hub_; }
  // How often what has expired is deleted: so often, or as the namespace's setting in the store says, or else hourly.
  struct Cleanup {
    std::optional<Duration> interval;
    std::string ns;
  };
  // The shortest interval asked for counts. Settings that change are followed.
  void start_sweeper(const Cleanup& cleanup);
  // A step of another room that runs on a thread of its own for as long as the engine lives; one of each name. `make` is
  // called if there is none of that name yet.
  void start_background(const std::string& name, const std::function<StepThread::Step()>& make);
  // Ends the sweeper and those threads, when what they use or tell goes before the engine does.
  void stop_background();
  // Its next step is now.
  void wake_background(const std::string& name);
  // Definitions of activities were changed by this process, so often so far: what it keeps of them is out of date.
  void activities_changed() { activity_changes_.fetch_add(1); }
  [[nodiscard]] std::uint64_t activity_changes() const { return activity_changes_.load(); }
  // Runs what waits on real time again now: virtual time has moved.
  void nudge();

 private:
  // Other processes are told of what becomes ready within this; of the rest they learn by looking.
  static constexpr Duration announce_within = std::chrono::seconds(2);

  [[nodiscard]] std::vector<std::vector<model::AdvanceReply>> flush_turns(
      std::span<std::vector<model::Advance>> requests);
  void reserve(model::NewExecution& request);
  // A reservation whose request has failed.
  void forget(const model::BornRunning& place);
  void admitted(std::span<model::NewExecution> requests, std::span<model::Admission> admissions);
  // Queues in which something new becomes ready, and is not a worker's already.
  class Woken;
  [[nodiscard]] Duration cleanup_interval();

  std::shared_ptr<store::Store> store_;
  const store::Capabilities capabilities_;
  base::SystemRandom random_;
  std::unique_ptr<WakeHub> hub_;
  std::unique_ptr<Waiters> waiters_;
  std::unique_ptr<Batcher<model::NewExecution, model::Admission>> admissions_;
  std::unique_ptr<Batcher<model::JournalEntry, model::FinishVerdict>> journal_;
  std::unique_ptr<Batcher<std::vector<model::Advance>, std::vector<model::AdvanceReply>>> turns_;
  std::mutex background_mutex_;
  std::vector<Cleanup> cleanups_;  // under background_mutex_
  std::unique_ptr<BackgroundSweeper> sweeper_;
  std::atomic<std::uint64_t> activity_changes_{0};
  std::map<std::string, std::unique_ptr<StepThread>> background_;  // under background_mutex_
};

}  // namespace hapax::engine
