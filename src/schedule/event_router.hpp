// EventRouter: from events to what they start (SPEC S8).
//
// Knows the namespace's activities with an event trigger, and looks once a second whether they are still those. Each event
// starts each activity it matches once: the run's identity says whether it did before, so an event may come as often and
// through as many processes as it likes. An event that matches nothing starts nothing.
//
// Cost: a batch is one bulk admission, as of tasks, and the next is made while it is written; the counts of what was
// started and met again are written about once a second, and when the router goes. A crash may lose counts of the last
// second, never a run. Activities with task instances are changed beside it, one transaction a batch, as their instances
// must start with the run and only with it.
//
// Any thread.
#pragma once

#include "engine/catalogue_cache.hpp"
#include "engine/engine.hpp"
#include "schedule/activity.hpp"
#include "schedule/event.hpp"
#include "schedule/subscriptions.hpp"

#include <chrono>
#include <cstdint>
#include <exception>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace hapax::schedule {

// What became of one event.
struct Routed {
  struct Run {
    std::string activity;
    std::string run_id;
    Uuid execution;  // also of the run that was there before
    bool created = false;
    std::string error;  // neither started nor there already: why
    // What refused it, a hapax::Error: none when it was started, was there already, or its activity is there no more.
    std::exception_ptr refusal;
  };
  std::vector<Run> runs;  // by activity
  // Activities that want it and are paused: there it is dropped. Both empty: nobody subscribes to it.
  std::vector<std::string> paused;
};

class EventRouter {
 public:
  EventRouter(engine::Engine& engine, std::string ns);
  EventRouter(const EventRouter&) = delete;
  EventRouter& operator=(const EventRouter&) = delete;
  // flush(), if the store answers.
  ~EventRouter();

  // Who brings events, for the runs that they start.
  struct Sender {
    std::string actor;
    std::string traceparent;
  };
  // One answer for each, in order. Returns after commit. Throws what the store throws: then some of the batch may be
  // started, and sending it again is safe.
  [[nodiscard]] std::vector<Routed> route(std::span<const Event> events, const Sender& sender);
  [[nodiscard]] std::vector<Routed> route(std::span<const Event> events) { return route(events, {}); }

  // What is done about events without an id in this namespace ([events] require_event_id): for parse_event. At most a
  // second old.
  [[nodiscard]] MissingId missing_id() {
    return catalogue_.all()->require_event_id ? MissingId::refuse : MissingId::hash;
  }

  // Writes the counts that are not yet.
  void flush();

 private:
  struct Subscribed {
    std::vector<Activity> activities;
    std::vector<Uuid> uuids;  // of each
    std::vector<bool> paused;
    Subscriptions index;
  };
  struct Counted {
    model::ActivityCounts counts;
    std::string trouble;
  };
  // One run of one event: where its answer goes, and whose run it is.
  struct Subscriber {
    std::size_t event = 0;
    std::size_t run = 0;    // of the event's answer
    std::size_t match = 0;  // of Subscribed::activities
  };
  class Batch;
  class Together;
  class Routing;

  [[nodiscard]] std::shared_ptr<const Subscribed> subscribed();
  [[nodiscard]] std::shared_ptr<const Subscribed> read();
  void keep(const std::map<std::string, Counted>& counted);
  void flush_if_due();

  engine::Engine& engine_;
  const std::string ns_;
  engine::CatalogueCache catalogue_;
  const std::size_t written_at_once_;  // transactions of one call
  const bool writes_together_;         // several batches in one of them
  std::mutex mutex_;                   // guards what follows
  std::shared_ptr<const Subscribed> subscribed_;
  std::int64_t generation_ = -1;
  std::uint64_t own_changes_ = 0;  // of this process, when it was read
  std::chrono::steady_clock::time_point looked_at_{};
  std::map<std::string, Counted> uncounted_;  // by activity
  std::chrono::steady_clock::time_point counted_at_{};
};

}  // namespace hapax::schedule
