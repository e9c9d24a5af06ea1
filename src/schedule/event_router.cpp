#include "schedule/event_router.hpp"

#include <hapax/error.hpp>

#include "base/limits.hpp"
#include "base/plain_path.hpp"
#include "base/uuid7.hpp"
#include "model/identity.hpp"
#include "schedule/duplicate_log.hpp"
#include "schedule/event_routing.hpp"

#include <algorithm>
#include <utility>

namespace hapax::schedule {

namespace {

constexpr std::chrono::seconds fresh_for{1};

// An extension of the event that CloudEvents defines for distributed tracing (traceparent, tracestate), or empty.
std::string trace_of(const Event& event, std::string_view extension) {
  for (const auto& [name, json] : event.extensions) {
    if (name == extension && json.starts_with('"')) { return json.substr(1, json.size() - 2); }
  }
  return {};
}

}  // namespace

EventRouter::EventRouter(engine::Engine& engine, std::string namespace_name)
    : engine_(engine),
      namespace_name_(std::move(namespace_name)),
      catalogue_(engine.catalogue(namespace_name_)),
      fills_ahead_(!base::takes_plain_path("event-batches")),
      written_at_once_(fills_ahead_ && engine.capabilities().remote ? 2 : 1),
      writes_together_(fills_ahead_ && engine.capabilities().lends_transaction && !engine.capabilities().remote) {}

std::shared_ptr<const EventRouter::Subscribed> EventRouter::subscribed() {
  const std::lock_guard lock(mutex_);
  const auto now = std::chrono::steady_clock::now();
  const std::uint64_t own_changes = engine_.activity_changes();
  if (subscribed_ && now - looked_at_ < fresh_for && own_changes == own_changes_) { return subscribed_; }
  // Read before the activities, so that the next check notices a change that commits in between.
  const std::int64_t generation = engine_.store().activity_generation(namespace_name_);
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
  query.namespace_name = namespace_name_;
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
        all->uuids.push_back(model::activity_uuid(namespace_name_, activity.id));
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
  FiringContext context{.namespace_name = namespace_name_,
                        .catalogue = tasks.get(),
                        .last_result = {},
                        .parent = {},
                        .actor = sender.actor,
                        .traceparent = sender.traceparent,
                        .tracestate = sender.tracestate};
  const auto fired = [&](std::size_t match, const Event& event) {
    context.parent = all->uuids[match];
    if (sender.traceparent.empty()) {
      context.traceparent = trace_of(event, "traceparent");
      context.tracestate = trace_of(event, "tracestate");
    }
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
        DuplicateLog::of_process().add(namespace_name_, answer.activity, answer.run_id);
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
