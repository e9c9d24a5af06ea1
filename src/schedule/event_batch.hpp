// The batches in which EventRouter::route() admits runs: one batch a transaction, or several in a shared one. Internal
// to EventRouter.
#pragma once

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "schedule/duplicate_log.hpp"
#include "schedule/event_router.hpp"
#include "schedule/firing.hpp"
#include "schedule/tick.hpp"

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <map>
#include <mutex>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace hapax::schedule {

// The executions of some events, admitted together. All executions of a run are in the same batch.
class EventRouter::Batch {
 public:
  static constexpr std::size_t batch_bytes = 32 << 20;  // of inputs in one transaction

  // Holds at most `most` executions. `expected` sizes the memory that is reserved.
  Batch(std::size_t most, std::size_t expected) : most_(most) {
    requests_.reserve(std::min(most, expected));
    places_.reserve(std::min(most, expected));
  }

  [[nodiscard]] std::size_t most() const { return most_; }
  [[nodiscard]] bool has_room_for(const RunRequests& run) const {
    return executions_ == 0 || (executions_ + run.requests.size() <= most_ && bytes_ <= batch_bytes);
  }

  // Whether an execution has a limit key. Admission order counts then, so no other batch may be written concurrently.
  [[nodiscard]] bool in_order() const { return in_order_; }

  void add(const Subscriber& subscriber, const Activity& activity, RunRequests run) {
    const bool alone = run.requests.size() == 1;
    std::vector<model::NewExecution>& requests = alone ? requests_ : changes_[activity.id].admit;
    places_.push_back({.subscriber = subscriber, .request = requests.size(), .alone = alone});
    executions_ += run.requests.size();
    for (model::NewExecution& request : run.requests) {
      bytes_ += request.input.size();
      in_order_ = in_order_ || request.limit_key;
      requests.push_back(std::move(request));
    }
  }

  [[nodiscard]] std::size_t executions() const { return executions_; }
  [[nodiscard]] std::size_t bytes() const { return bytes_; }
  // Whether the batch has only runs without task instances.
  [[nodiscard]] bool is_plain() const { return changes_.empty(); }
  [[nodiscard]] std::span<model::NewExecution> requests() { return requests_; }
  void admitted(std::vector<model::Admission> admissions) { admissions_ = std::move(admissions); }

  // Uses only the batch and the engine, so another thread may fill another batch meanwhile.
  void admit(engine::Engine& engine, const std::string& namespace_name) {
    if (executions_ == 0) { return; }
    base::fault_point("router.admit.before");
    if (!requests_.empty()) { admissions_ = engine.admit_bulk(requests_); }
    if (!changes_.empty()) { change(engine, namespace_name); }
    base::fault_point("router.admit.after");
  }

  // Call this after admit(). Fills in the answers. Adds to `renamed` the subscribers whose run is stored under its
  // marked ID, or must be submitted again with it.
  void settle(std::vector<Routed>& answers, std::map<std::string, Counted>& counted,
              std::vector<Subscriber>& renamed) const {
    for (const Place& place : places_) {
      if (!settle(place, answers[place.subscriber.event].runs[place.subscriber.run], counted)) {
        renamed.push_back(place.subscriber);
      }
    }
  }

 private:
  // Where a run's answer goes, and the index of its target's request.
  struct Place {
    Subscriber subscriber;
    std::size_t request = 0;
    bool alone = true;  // the request is in requests_; otherwise in its activity's change
  };

  // Admits the runs with task instances. The store counts these runs itself.
  void change(engine::Engine& engine, const std::string& namespace_name) {
    std::vector<model::ActivityChange> changes;
    for (auto& [activity, change] : changes_) {
      change.namespace_name = namespace_name;
      change.id = activity;
      changes.push_back(change);
    }
    std::vector<model::ActivityReply> replies = engine.store().change_activities(changes);
    std::vector<model::QueueRef> queues;
    for (std::size_t i = 0; i < changes.size(); ++i) {
      for (const model::NewExecution& request : changes[i].admit) {
        if (std::ranges::find(queues, request.queue) == queues.end()) { queues.push_back(request.queue); }
      }
      replies_.emplace(changes[i].id, std::move(replies[i]));
    }
    engine.wake_workers(queues);
  }

  // Fills in one answer. False: the run is stored under its marked ID, or must be submitted again with it.
  bool settle(const Place& place, Routed::Run& run, std::map<std::string, Counted>& counted) const {
    if (!place.alone && !replies_.at(run.activity).applied) {
      run.error = "NotFound: the activity was removed";
      return true;
    }
    const model::NewExecution& request =
        place.alone ? requests_[place.request] : changes_.at(run.activity).admit[place.request];
    const model::Admission& admission =
        place.alone ? admissions_[place.request] : replies_.at(run.activity).admissions[place.request];
    const model::ActivityTally tally = model::tally(request.parent.value_or(Uuid{}), {&request, 1}, {&admission, 1});
    if (admission.verdict == model::AdmissionVerdict::name_taken) { return false; }
    run.execution = admission.id;
    run.created = admission.created();
    run.error = tally.trouble;
    if (admission.verdict == model::AdmissionVerdict::queue_draining) {
      run.refusal = std::make_exception_ptr(
          QueueDraining("queue '" + request.queue.name + "' is draining and takes nothing new"));
    }
    if (tally.counts.duplicates > 0 && admission.holds_name) {
      DuplicateLog::of_process().add(request.queue.namespace_name, run.activity, run.run_id);
    }
    if (place.alone) {
      Counted& mine = counted[run.activity];
      mine.counts += tally.counts;
      if (!tally.trouble.empty()) { mine.trouble = tally.trouble; }
    }
    return admission.created() || admission.holds_name;
  }

  std::size_t most_ = 0;
  std::vector<model::NewExecution> requests_;  // runs without task instances
  std::vector<model::Admission> admissions_;
  std::map<std::string, model::ActivityChange> changes_;  // runs with task instances, by activity
  std::map<std::string, model::ActivityReply> replies_;
  std::vector<Place> places_;
  std::size_t executions_ = 0;
  std::size_t bytes_ = 0;
  bool in_order_ = false;
};

// Several batches in one shared transaction. One thread fills batches and hands them over, another writes them.
class EventRouter::SharedTransaction {
 public:
  // The most executions of all batches in a shared transaction. Other writers wait meanwhile: about 100 ms on SQLite.
  static constexpr std::size_t most_together = 20'000;

  [[nodiscard]] bool has_room_for(const Batch& batch) const {
    return executions_ + batch.executions() <= most_together && bytes_ + batch.bytes() <= Batch::batch_bytes;
  }
  // Hands a batch over; waits while batches_ahead batches are waiting. False: the transaction takes no more batches,
  // because it failed or had waited longer than longest_wait.
  bool put(Batch& batch) {
    std::unique_lock lock(mutex_);
    condition_.wait(lock, [this] { return ended_ || waiting_.size() < batches_ahead; });
    if (ended_) { return false; }
    executions_ += batch.executions();
    bytes_ += batch.bytes();
    waiting_.push_back(&batch);
    condition_.notify_all();
    return true;
  }
  void close() {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    condition_.notify_all();
  }

  // Called by the writing thread. Returns after commit.
  void write(engine::Engine& engine) {
    std::vector<Batch*> written;
    try {
      base::fault_point("router.admit.before");
      std::vector<std::vector<model::Admission>> admissions = engine.admit_bulk([&] {
        Batch* const batch = next();
        if (batch == nullptr) { return std::span<model::NewExecution>(); }
        written.push_back(batch);
        return batch->requests();
      });
      for (std::size_t i = 0; i < written.size(); ++i) { written[i]->admitted(std::move(admissions[i])); }
      base::fault_point("router.admit.after");
    } catch (...) {
      end();
      throw;
    }
    end();
  }

 private:
  static constexpr std::size_t batches_ahead = 3;  // batches that wait behind the one being written
  // The longest wait of a shared transaction for its next batch: other writers wait too, and the remaining events may
  // start no run.
  static constexpr std::chrono::milliseconds longest_wait{20};

  Batch* next() {
    std::unique_lock lock(mutex_);
    condition_.wait_for(lock, longest_wait, [this] { return closed_ || !waiting_.empty(); });
    if (waiting_.empty()) {
      ended_ = true;
      return nullptr;
    }
    Batch* const batch = waiting_.front();
    waiting_.pop_front();
    condition_.notify_all();
    return batch;
  }
  void end() {
    const std::lock_guard lock(mutex_);
    ended_ = true;
    condition_.notify_all();
  }

  std::size_t executions_ = 0;  // used only by the thread that hands over, as is bytes_
  std::size_t bytes_ = 0;
  std::mutex mutex_;
  std::condition_variable condition_;
  std::deque<Batch*> waiting_;
  bool closed_ = false;
  bool ended_ = false;
};

}  // namespace hapax::schedule
