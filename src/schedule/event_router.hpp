// EventRouter: starts the runs of the activities that an event matches.
//
// The router caches the namespace's activities with an event trigger and checks once a second whether they have
// changed. Each event starts each matching activity once: the run's identity makes an event that arrives again, through
// whatever process, a duplicate. An event that matches no activity starts nothing.
//
// Cost: each batch of runs is one bulk admission, as for tasks; the next batch is built while the store writes the
// previous one. Counts of started runs and duplicates are written about once a second, and by the destructor. A crash
// may lose counts of the last second, never a run. Activities with task instances are changed separately, one
// transaction per batch, as the instances must start with their run or not at all.
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

// The outcome of one event.
struct Routed {
  struct Run {
    std::string activity;
    std::string run_id;
    Uuid execution;  // of the new run, or of the run that existed before
    bool created = false;
    std::string error;  // why no run was started or found; empty: there is one
    // The hapax::Error that refused the run. None if the run was started, existed already, or the activity was removed.
    std::exception_ptr refusal;
  };
  std::vector<Run> runs;  // one per matching activity
  // Matching activities that are paused: for them the event is dropped. If this and `runs` are empty, no activity
  // matches.
  std::vector<std::string> paused;
};

class EventRouter {
 public:
  EventRouter(engine::Engine& engine, std::string namespace_name);
  EventRouter(const EventRouter&) = delete;
  EventRouter& operator=(const EventRouter&) = delete;
  // Calls flush(); if the store fails, the counts are lost.
  ~EventRouter();

  // The sender of events, recorded with the runs that they start.
  struct Sender {
    std::string actor;
    std::string traceparent;
    std::string tracestate;
  };
  // One answer per event, in order. Returns after commit. Throws the store's errors; then some runs may have been
  // started, and sending the events again is safe.
  [[nodiscard]] std::vector<Routed> route(std::span<const Event> events, const Sender& sender);
  [[nodiscard]] std::vector<Routed> route(std::span<const Event> events) { return route(events, {}); }

  // The namespace's setting for events without an id ([events] require_event_id), to be passed to parse_event. At most
  // a second old.
  [[nodiscard]] MissingId missing_id() {
    return catalogue_->all()->require_event_id ? MissingId::refuse : MissingId::hash;
  }

  // Writes the counts that are not written yet.
  void flush();

 private:
  struct Subscribed {
    std::vector<Activity> activities;
    std::vector<Uuid> uuids;  // of each activity
    std::vector<bool> paused;
    Subscriptions index;
  };
  struct Counted {
    model::ActivityCounts counts;
    std::string trouble;
  };
  // One run of one event, by indexes: the event, the run in the event's answer, and the activity.
  struct Subscriber {
    std::size_t event = 0;
    std::size_t run = 0;    // in Routed::runs
    std::size_t match = 0;  // in Subscribed::activities
  };
  class Batch;
  class SharedTransaction;
  class Routing;

  [[nodiscard]] std::shared_ptr<const Subscribed> subscribed();
  [[nodiscard]] std::shared_ptr<const Subscribed> read();
  void keep(const std::map<std::string, Counted>& counted);
  void flush_if_due();

  engine::Engine& engine_;
  const std::string namespace_name_;
  const std::shared_ptr<engine::CatalogueCache> catalogue_;
  const bool fills_ahead_;             // while a batch is written, the next one is filled
  const std::size_t written_at_once_;  // concurrent transactions of one route() call
  const bool writes_together_;         // one transaction may take several batches
  std::mutex mutex_;                   // guards the members below
  std::shared_ptr<const Subscribed> subscribed_;
  std::int64_t generation_ = -1;
  std::uint64_t own_changes_ = 0;  // engine_.activity_changes() when subscribed_ was read
  std::chrono::steady_clock::time_point looked_at_{};
  std::map<std::string, Counted> uncounted_;  // counts to be written, by activity
  std::chrono::steady_clock::time_point counted_at_{};
};

}  // namespace hapax::schedule
