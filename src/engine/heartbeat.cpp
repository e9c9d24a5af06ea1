#include "engine/heartbeat.hpp"

#include "base/fault.hpp"
#include "base/uuid7.hpp"
#include "engine/step_thread.hpp"

#include <algorithm>
#include <exception>

namespace hapax::engine {

namespace {
constexpr Duration glance_interval = std::chrono::seconds(1);
constexpr Duration progress_interval = std::chrono::seconds(1);
}  // namespace

Heartbeat::Heartbeat(store::WorkStore& store, Session& session, Options options)
    : store_(store), session_(session), options_(std::move(options)) {}

void Heartbeat::open() {
  options_.description.id = base::new_uuid7();
  store_.open_session(options_.description);
  session_.opened(options_.description.id);
}

Time Heartbeat::step(Time now) {
  if (beat_at_ == Time{}) {
    beat_at_ = now + options_.interval;
    glance_at_ = now + glance_interval;
  }
  const bool doubt = beat_requested_.exchange(false);
  if (!session_.is_open()) {
    if (now >= beat_at_ || doubt) { reopen(now); }
    return beat_at_;
  }
  if (doubt || now >= beat_at_ || (now >= progress_at_ && session_.has_progress())) {
    beat(now);
  } else if (now >= glance_at_) {
    look_for_cancellations(now);
  }
  return std::min(beat_at_, glance_at_);
}

void Heartbeat::beat(Time now) {
  const model::Beat sent = session_.beat(options_.description.lease);
  try {
    base::fault_point("engine.beat.before");
    const auto ask = [&] { return store_.beat(sent); };
    const model::BeatReply reply =
        options_.observations != nullptr ? options_.observations->store_call("beat", ask) : ask();
    backoff_.reset();
    beat_at_ = now + options_.interval;
    progress_at_ = now + progress_interval;
    glance_at_ = now + glance_interval;
    apply(reply, sent, now);
  } catch (const std::exception& error) {
    session_.put_back(sent.counts);
    options_.on_trouble(error.what());
    // A failed beat is repeated often enough to succeed within the lease.
    beat_at_ = now + std::min({backoff_.next(), options_.interval / 4, Duration(std::chrono::seconds(1))});
  }
}

void Heartbeat::send_last_counts() {
  if (!session_.is_open()) { return; }
  const model::Beat last = session_.beat(options_.description.lease);
  if (!last.counts.empty()) { (void)store_.beat(last); }
}

void Heartbeat::apply(const model::BeatReply& reply, const model::Beat& sent, Time now) {
  if (reply.session_lost) {
    lost(sent.session);
    reopen(now);
    return;
  }
  cancel(reply.cancel);
  std::vector<RunPtr> gone;
  for (const Uuid& id : reply.lost) {
    const RunPtr run = session_.find(id);
    const auto held = std::ranges::find(sent.held, id, &model::Held::id);
    // The same execution under another fence is a later claim. A run whose outcome is on its way gets that outcome's
    // verdict.
    if (run && held != sent.held.end() && held->fence == run->claim().fence && run->settle()) {
      run->request_stop(StopReason::lease_lost);
      gone.push_back(run);
    }
  }
  if (!gone.empty()) {
    session_.remove(gone);
    if (options_.observations != nullptr) { options_.observations->lost(gone, false); }
    options_.on_lost(gone);
  }
}

void Heartbeat::cancel(const std::vector<Uuid>& ids) {
  for (const Uuid& id : ids) {
    const RunPtr run = session_.find(id);
    if (!run || run->should_stop()) { continue; }
    run->request_stop(StopReason::cancel_requested);
    if (options_.on_cancel) { options_.on_cancel(run); }
  }
}

void Heartbeat::look_for_cancellations(Time now) {
  glance_at_ = now + glance_interval;
  if (session_.held() == 0) { return; }
  try {
    cancel(store_.cancel_requests(session_.id()));
  } catch (const std::exception&) {
    // The beat reports trouble with the store; the next look for cancellations follows in a second.
    return;
  }
}

void Heartbeat::lost(const Uuid& id) {
  sessions_lost_.fetch_add(1);
  const std::vector<RunPtr> runs = session_.lose(id);
  if (options_.observations != nullptr) { options_.observations->lost(runs, true); }
  options_.on_trouble("the session was lost; " + std::to_string(runs.size()) + " executions are given up");
  options_.on_lost(runs);
}

void Heartbeat::reopen(Time now) {
  try {
    open();
    backoff_.reset();
    beat_at_ = now + options_.interval;
    options_.on_opened();
  } catch (const std::exception& error) {
    options_.on_trouble(error.what());
    beat_at_ = now + backoff_.next();
  }
}

}  // namespace hapax::engine
