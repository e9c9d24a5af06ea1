#include "schedule/event_router.hpp"

#include <hapax/error.hpp>

#include "base/fault.hpp"
#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "schedule/duplicate_log.hpp"
#include "schedule/tick.hpp"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <future>
#include <utility>

namespace hapax::schedule {

namespace {

constexpr std::chrono::seconds fresh_for{1};
constexpr std::size_t batch_bytes = 32 << 20;  // of inputs in one transaction
// Executions in a batch with its own transaction. Identities are random, written sorted: a larger batch has more per
// page.
constexpr std::size_t most_alone = limits::bulk_batch;
// Executions of all batches in a shared transaction. Other writers wait for it meanwhile: about 100 ms on SQLite.
constexpr std::size_t most_together = 20'000;
constexpr std::size_t most_beside_others = most_together / 2;  // executions in one batch of a shared transaction
// Executions in the first batch; each further batch has twice as many. So the store soon has work.
constexpr std::size_t first_executions = limits::events_per_batch;
constexpr std::size_t batches_ahead = 3;  // batches that wait behind the one being written
// Longest wait of a shared transaction for its next batch: other writers wait too, and the events left may start
// nothing.
constexpr std::chrono::milliseconds longest_wait{20};

// The event's traceparent extension (CloudEvents distributed tracing), or empty.
std::string traceparent_of(const Event& event) {
  for (const auto& [name, json] : event.extensions) {
    if (name == "traceparent" && json.starts_with('"')) { return json.substr(1, json.size() - 2); }
  }
  return {};
}

}  // namespace

// The executions of some events, admitted together. All executions of a run are in the same batch.
class EventRouter::Batch {
 public:
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
  void admit(engine::Engine& engine, const std::string& ns) {
    if (executions_ == 0) { return; }
    base::fault_point("router.admit.before");
    if (!requests_.empty()) { admissions_ = engine.admit_bulk(requests_); }
    if (!changes_.empty()) { change(engine, ns); }
    base::fault_point("router.admit.after");
  }

  // Call after admit(). Fills in the answers. Adds to `renamed` the subscribers whose run is stored under its marked
  // ID, or must be submitted again with it.
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
  void change(engine::Engine& engine, const std::string& ns) {
    std::vector<model::ActivityChange> changes;
    for (auto& [activity, change] : changes_) {
      change.ns = ns;
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
      DuplicateLog::of_process().add(request.queue.ns, run.activity, run.run_id);
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
class EventRouter::Together {
 public:
  [[nodiscard]] bool has_room_for(const Batch& batch) const {
    return executions_ + batch.executions() <= most_together && bytes_ + batch.bytes() <= batch_bytes;
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

// One call of route(): while full batches are written, the next one is filled. If the store is a server, up to two
// batches are written at once, each in its own transaction. With a single writer (SQLite) batches follow each other in
// one shared transaction while they fit, as a commit writes almost every page of identities, whatever the batch's size.
// A call with a single batch uses no other thread.
class EventRouter::Routing {
 public:
  Routing(EventRouter& router, std::size_t events) : router_(router), answers_(events) {}
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
  // One transaction.
  struct Writing {
    std::vector<std::unique_ptr<Batch>> batches;
    std::unique_ptr<Together> together;  // null: the transaction has one batch
    std::future<void> written;           // last member: its destructor waits before the batches are destroyed

    ~Writing() {
      if (together) { together->close(); }
    }
  };

  // Writes the filled batch: in the open shared transaction if there is room, otherwise in a new transaction as soon as
  // another one may start.
  void write() {
    if (!writing_.empty() && writing_.back().together && filling_->is_plain() &&
        writing_.back().together->has_room_for(*filling_)) {
      hand_over();
      return;
    }
    const bool alone = filling_->in_order() || (!writing_.empty() && writing_.back().batches.back()->in_order());
    wait_for(alone ? 0 : router_.written_at_once_ - 1);
    start_writing(std::launch::async);
  }

  void hand_over() {
    Writing& writing = writing_.back();
    if (writing.together->put(*filling_)) {
      keep_filled(writing);
      return;
    }
    wait_for(0);  // throws if the transaction failed
    start_writing(std::launch::async);
  }

  void start_writing(std::launch how) {
    Writing& writing = writing_.emplace_back();
    if (how == std::launch::async && router_.writes_together_ && filling_->is_plain()) {
      writing.together = std::make_unique<Together>();
      writing.together->put(*filling_);
      keep_filled(writing);
      writing.written =
          std::async(how, [this, together = writing.together.get()] { together->write(router_.engine_); });
      return;
    }
    keep_filled(writing);
    writing.written =
        std::async(how, [this, batch = writing.batches.back().get()] { batch->admit(router_.engine_, router_.ns_); });
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
      if (first.together) { first.together->close(); }
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
  std::unique_ptr<Batch> filling_ = std::make_unique<Batch>(first_executions, answers_.size());
  std::deque<Writing> writing_;  // last member: its destructor waits for the writes before other members are destroyed
};

EventRouter::EventRouter(engine::Engine& engine, std::string ns)
    : engine_(engine),
      ns_(std::move(ns)),
      catalogue_(engine.catalogue(ns_)),
      written_at_once_(engine.capabilities().remote ? 2 : 1),
      writes_together_(engine.capabilities().lends_transaction && !engine.capabilities().remote) {}

std::shared_ptr<const EventRouter::Subscribed> EventRouter::subscribed() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t own_changes = engine_.activity_changes();
  if (subscribed_ && now - looked_at_ < fresh_for && own_changes == own_changes_) { return subscribed_; }
  // Read before the activities, so that the next check notices a change that commits in between.
  const std::int64_t generation = engine_.store().activity_generation(ns_);
  if (!subscribed_ || generation != generation_) {
    subscribed_ = read();
    generation_ = generation;
  }
  looked_at_ = now;
  own_changes_ = own_changes;
  return subscribed_;
}

std::shared_ptr<const EventRouter::Subscribed> EventRouter::read() {
  auto all = std::make_shared<Subscribed>();
  model::ActivityQuery query;
  query.ns = ns_;
  query.kind = model::ActivityKind::event;
  query.limit = limits::list_page;
  while (true) {
    const std::vector<model::ActivityState> page = engine_.store().activities(query);
    if (page.empty()) { break; }
    query.after = page.back().id;
    for (const model::ActivityState& state : page) {
      try {
        Activity activity = parse_stored_activity(state.definition);
        if (activity.event() == nullptr) { continue; }
        all->uuids.push_back(model::activity_uuid(ns_, activity.id));
        all->activities.push_back(std::move(activity));
        all->paused.push_back(state.paused);
      } catch (const Error& error) {
        uncounted_[state.id].trouble = "this build cannot read the definition: " + trouble_of(error);
      }
    }
  }
  std::vector<const EventTrigger*> triggers;
  triggers.reserve(all->activities.size());
  for (const Activity& activity : all->activities) { triggers.push_back(activity.event()); }
  all->index = Subscriptions(triggers);
  return all;
}

std::vector<Routed> EventRouter::route(std::span<const Event> events, const Sender& sender) {
  const std::shared_ptr<const Subscribed> all = subscribed();
  const std::shared_ptr<const model::Catalogue> tasks = catalogue_->all();
  FiringContext context{.ns = ns_,
                        .catalogue = tasks.get(),
                        .last_result = {},
                        .parent = {},
                        .actor = sender.actor,
                        .traceparent = sender.traceparent};
  const auto fired = [&](std::size_t match, const Event& event) {
    context.parent = all->uuids[match];
    context.traceparent = sender.traceparent.empty() ? traceparent_of(event) : sender.traceparent;
    return run_requests(all->activities[match], EventReason{event}, context, base::new_uuid7);
  };
  Routing routing(*this, events.size());
  try {
    for (std::size_t i = 0; i < events.size(); ++i) {
      for (const std::size_t match : all->index.matching(events[i])) {
        const Activity& activity = all->activities[match];
        if (all->paused[match]) {
          routing.drop(i, activity);
          continue;
        }
        RunRequests run;
        try {
          run = fired(match, events[i]);
        } catch (const InvalidArgument& error) {
          routing.refuse(i, activity, error);
          continue;
        }
        routing.start(i, match, activity, std::move(run));
      }
    }
    routing.finish();
    for (const Subscriber& subscriber : routing.take_renamed()) {
      const Activity& activity = all->activities[subscriber.match];
      const Event& event = events[subscriber.event];
      Routed::Run& answer = routing.answer(subscriber);
      if (answer.execution != Uuid{}) {  // a duplicate; its run has the marked ID
        answer.run_id = run_id(activity.id, EventReason{event}, true);
        DuplicateLog::of_process().add(ns_, answer.activity, answer.run_id);
        continue;
      }
      context.names_source = true;
      try {
        routing.start_again(subscriber, activity, fired(subscriber.match, event));
      } catch (const InvalidArgument& error) { routing.refuse(answer, error); }
    }
    routing.finish();
  } catch (...) {
    keep(routing.counted());
    throw;
  }
  keep(routing.counted());
  flush_if_due();
  return std::move(routing).answers();
}

}  // namespace hapax::schedule
