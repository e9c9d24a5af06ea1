// One call of EventRouter::route(), with the batches that it fills and writes. Internal to EventRouter.
#pragma once

#include "schedule/event_batch.hpp"
#include "schedule/tick.hpp"

#include <algorithm>
#include <cstddef>
#include <deque>
#include <exception>
#include <future>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace hapax::schedule {

// One call of route(): while full batches are written, the next one is filled. If the store is a server, up to two
// batches are written at once, each in its own transaction. With a single writer (SQLite) batches follow each other in
// one shared transaction while they fit, as a commit writes almost every page of identities, whatever the batch's size.
// A call with a single batch uses no other thread.
class EventRouter::Routing {
 public:
  Routing(EventRouter& router, std::size_t events)
      : router_(router),
        answers_(events),
        filling_(std::make_unique<Batch>(router.fills_ahead_ ? first_executions : most_alone, events)) {}
  Routing(const Routing&) = delete;
  Routing& operator=(const Routing&) = delete;

  void start(std::size_t event, std::size_t match, const Activity& activity, RunRequests run) {
    next_ = event;
    if (!filling_->has_room_for(run)) { write(); }
    std::vector<Routed::Run>& runs = answers_[event].runs;
    runs.push_back(
        {.activity = activity.id, .run_id = run.run_id, .execution = {}, .created = false, .error = {}, .refusal = {}});
    filling_->add({.event = event, .run = runs.size() - 1, .match = match}, activity, std::move(run));
  }

  // Call after finish(). The subscribers whose run is stored under its marked ID, or must be submitted again with it.
  [[nodiscard]] std::vector<Subscriber> take_renamed() { return std::exchange(renamed_, {}); }
  [[nodiscard]] Routed::Run& answer(const Subscriber& subscriber) {
    return answers_[subscriber.event].runs[subscriber.run];
  }
  void start_again(const Subscriber& subscriber, const Activity& activity, RunRequests run) {
    if (!filling_->has_room_for(run)) { write(); }
    answer(subscriber).run_id = run.run_id;
    filling_->add(subscriber, activity, std::move(run));
  }

  void refuse(std::size_t event, const Activity& activity, const InvalidArgument& error) {
    refuse(answers_[event].runs.emplace_back(Routed::Run{
               .activity = activity.id, .run_id = {}, .execution = {}, .created = false, .error = {}, .refusal = {}}),
           error);
  }
  void refuse(Routed::Run& run, const InvalidArgument& error) {
    run.run_id.clear();
    run.error = trouble_of(error);
    run.refusal = std::current_exception();
    Counted& counted = counted_[run.activity];
    ++counted.counts.refused;
    counted.trouble = run.error;
  }

  void drop(std::size_t event, const Activity& activity) {
    answers_[event].paused.push_back(activity.id);
    ++counted_[activity.id].counts.missed;
  }

  void finish() {
    if (writing_.empty()) {
      start_writing(std::launch::deferred);
    } else if (filling_->executions() > 0) {
      write();
    }
    wait_for(0);
  }

  [[nodiscard]] const std::map<std::string, Counted>& counted() const { return counted_; }
  [[nodiscard]] std::vector<Routed> answers() && { return std::move(answers_); }

 private:
  // Executions in a batch with its own transaction. Identities are random, written sorted: a larger batch has more per
  // page.
  static constexpr std::size_t most_alone = limits::bulk_batch;
  static constexpr std::size_t most_beside_others =
      SharedTransaction::most_together / 2;  // executions in one batch of a shared transaction
  // Executions in the first batch; each further batch has twice as many. So the store soon has work.
  static constexpr std::size_t first_executions = limits::events_per_batch;

  // One transaction.
  struct Writing {
    std::vector<std::unique_ptr<Batch>> batches;
    std::unique_ptr<SharedTransaction> shared;  // null: the transaction has one batch
    std::future<void> written;                  // last member: its destructor waits before the batches are destroyed

    ~Writing() {
      if (shared) { shared->close(); }
    }
  };

  // Writes the filled batch: in the open shared transaction if there is room, otherwise in a new transaction as soon as
  // another one may start.
  void write() {
    if (!writing_.empty() && writing_.back().shared && filling_->is_plain() &&
        writing_.back().shared->has_room_for(*filling_)) {
      hand_over();
      return;
    }
    const bool alone = filling_->in_order() || (!writing_.empty() && writing_.back().batches.back()->in_order());
    wait_for(alone ? 0 : router_.written_at_once_ - 1);
    start_writing(std::launch::async);
    if (!router_.fills_ahead_) { wait_for(0); }
  }

  void hand_over() {
    Writing& writing = writing_.back();
    if (writing.shared->put(*filling_)) {
      keep_filled(writing);
      return;
    }
    wait_for(0);  // throws if the transaction failed
    start_writing(std::launch::async);
  }

  void start_writing(std::launch how) {
    Writing& writing = writing_.emplace_back();
    if (how == std::launch::async && router_.writes_together_ && filling_->is_plain()) {
      writing.shared = std::make_unique<SharedTransaction>();
      writing.shared->put(*filling_);
      keep_filled(writing);
      writing.written = std::async(how, [this, shared = writing.shared.get()] { shared->write(router_.engine_); });
      return;
    }
    keep_filled(writing);
    writing.written = std::async(
        how, [this, batch = writing.batches.back().get()] { batch->admit(router_.engine_, router_.namespace_name_); });
  }

  // Keeps the filled batch until it is written, and begins another.
  void keep_filled(Writing& writing) {
    writing.batches.push_back(std::move(filling_));
    fill_another(*writing.batches.back());
  }

  void fill_another(const Batch& after) {
    const std::size_t most = router_.writes_together_ ? most_beside_others : most_alone;
    filling_ = std::make_unique<Batch>(std::min(2 * after.most(), most), answers_.size() - next_);
  }

  // Waits until at most `left` transactions are being written, and fills in the answers of the finished ones. If one
  // fails, waits for all and rethrows the first error.
  void wait_for(std::size_t left) {
    std::exception_ptr error;
    while (writing_.size() > (error ? 0 : left)) {
      Writing& first = writing_.front();
      if (first.shared) { first.shared->close(); }
      try {
        first.written.get();
        for (const std::unique_ptr<Batch>& batch : first.batches) { batch->settle(answers_, counted_, renamed_); }
      } catch (...) { error = error ? error : std::current_exception(); }
      writing_.pop_front();
    }
    if (error) { std::rethrow_exception(error); }
  }

  EventRouter& router_;
  std::vector<Routed> answers_;
  std::map<std::string, Counted> counted_;
  std::vector<Subscriber> renamed_;
  std::size_t next_ = 0;  // index of the event being routed
  std::unique_ptr<Batch> filling_;
  std::deque<Writing> writing_;  // last member: its destructor waits for the writes before other members are destroyed
};

}  // namespace hapax::schedule
