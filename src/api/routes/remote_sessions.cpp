#include "api/routes/remote_sessions.hpp"

#include "base/limits.hpp"
#include "base/random.hpp"
#include "base/uuid7.hpp"
#include "engine/outcome.hpp"
#include "engine/waiters.hpp"
#include "store/busy_if_blocked.hpp"

#include <algorithm>
#include <chrono>
#include <set>

namespace hapax::api {

namespace {

// A claim for any task also gets workflows, which HTTP workers cannot run: the server releases each workflow and delays
// it by this long, for a worker that has its function.
constexpr Duration workflow_pause = std::chrono::seconds(1);
constexpr std::size_t given_most = 100'000;
constexpr std::size_t sessions_most = 100'000;

// Claim numbers must grow, also from one server to the next, so they are microseconds of the system clock.
std::int64_t now_us() {
  return std::chrono::duration_cast<std::chrono::microseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace

RemoteSessions::RemoteSessions(engine::Engine& engine) : engine_(engine), pollers_(std::make_shared<Pollers>()) {
  engine_.wakeups().add(pollers_);
  finishes_ = std::make_unique<engine::Batcher<Prepared, model::FinishVerdict>>(
      engine::Batcher<Prepared, model::FinishVerdict>::Options{
          .flush = [this](std::span<Prepared> items) { return flush(items); },
          .flush_alone =
              [this](std::span<Prepared> items) { return store::busy_if_blocked([&] { return flush(items); }); },
          .size = [](const Prepared& item) { return item.finish.result.size() + 256; },
          .policy = {.max_items = limits::admit_batch}});
}

RemoteSessions::~RemoteSessions() { stop(); }

void RemoteSessions::stop() {
  std::unique_ptr<engine::StepThread> thread;
  {
    const std::lock_guard lock(mutex_);
    if (stopping_) { return; }
    stopping_ = true;
    thread = std::move(thread_);
  }
  thread.reset();
  engine_.wakeups().remove(pollers_.get());
  finishes_.reset();
  (void)report_counts(Time{});
  if (own_session_) {
    try {
      engine_.store().close_session(*own_session_);
    } catch (const std::exception&) {
      // The session ends when its lease expires.
    }
  }
}

// ---- Claims ---------------------------------------------------------------------------------------------------------

void RemoteSessions::ensure_open(const ClaimOrder& order) {
  const Time now = engine::engine_now();
  {
    const std::lock_guard lock(mutex_);
    const auto known = sessions_.find(order.session);
    if (known != sessions_.end() && known->second.lease == order.lease &&
        now - known->second.renewed < order.lease / 3) {
      return;
    }
  }
  engine_.store().open_session({.id = order.session,
                                .worker = order.worker,
                                .host = order.peer,
                                .pid = 0,
                                .lease = order.lease,
                                .queues = order.queues,
                                .tasks = order.tasks,
                                .build = {}});
  const std::lock_guard lock(mutex_);
  if (sessions_.size() >= sessions_most) {
    std::erase_if(sessions_, [&](const auto& each) { return now - each.second.renewed > each.second.lease; });
  }
  Known& known = sessions_[order.session];
  known.lease = order.lease;
  known.renewed = now;
}

void RemoteSessions::open(const ClaimOrder& order) { ensure_open(order); }

void RemoteSessions::close(const Uuid& session) {
  engine_.store().close_session(session);
  {
    const std::lock_guard lock(mutex_);
    sessions_.erase(session);
  }
  // The released executions are ready for other workers at once.
  engine_.wakeups().everything_changed();
}

model::ClaimReply RemoteSessions::claim_once(const ClaimOrder& order) {
  std::int64_t last = last_claim_number_.load();
  std::int64_t number = 0;
  do { number = std::max(now_us(), last + 1); } while (!last_claim_number_.compare_exchange_weak(last, number));
  const model::ClaimRequest request{
      .session = order.session,
      .claim_number = number,
      .queues = order.queues,
      .tasks = order.tasks,
      .limit = order.limit,
      .idle = order.limit,
      .alone = true,
      // A session that was just made holds nothing. For any other session the store decides, because several servers
      // may serve it.
      .by_holdings = !order.is_new};
  const engine::Observations& observations = engine_.observations();
  Duration took{0};
  model::ClaimReply reply = observations.store_call(
      "exchange", [&] { return store::busy_if_blocked([&] { return engine_.store().claim(request); }); }, &took);
  observations.claimed(reply.claims, took);
  return reply;
}

RemoteSessions::Claimed RemoteSessions::claim(const ClaimOrder& order) {
  engine_.wakeups().listen();
  ensure_open(order);
  model::ClaimReply reply = claim_once(order);
  put_back_workflows(reply.claims);
  remember_claims(order, reply.claims);
  for (const model::Claim& each : reply.claims) { engine_.observations().begun(each, Duration::zero()); }
  return {.claims = std::move(reply.claims), .next_due = reply.next_due, .passed_over = reply.suspects_due};
}

void RemoteSessions::put_back_workflows(std::vector<model::Claim>& claims) {
  std::vector<model::Finish> back;
  for (const model::Claim& claim : claims) {
    if (claim.kind != model::Kind::workflow) { continue; }
    model::Finish finish;
    finish.id = claim.id;
    finish.fence = claim.fence;
    finish.kind = model::FinishKind::snoozed;
    finish.delay = workflow_pause;
    back.push_back(std::move(finish));
  }
  if (back.empty()) { return; }
  (void)store::busy_if_blocked([&] { return engine_.store().finish(back); });
  std::erase_if(claims, [](const model::Claim& claim) { return claim.kind == model::Kind::workflow; });
}

void RemoteSessions::remember_claims(const ClaimOrder& order, std::span<const model::Claim> claims) {
  if (claims.empty()) { return; }
  const Time now = engine::engine_now();
  {
    const std::lock_guard lock(mutex_);
    Known& known = sessions_[order.session];
    for (const model::Claim& claim : claims) {
      known.held[claim.id] = claim.fence;
      model::Claim kept = claim;
      kept.input.clear();
      if (given_.insert_or_assign(claim.id, Given{std::move(kept), now, order.session}).second) {
        given_order_.push_back(claim.id);
      }
    }
    while (given_order_.size() > given_most) {
      given_.erase(given_order_.front());
      given_order_.pop_front();
    }
  }
  if (!on_change_) { return; }
  for (const model::Claim& claim : claims) { on_change_(claim.queue, claim.id); }
}

// ---- Beats ----------------------------------------------------------------------------------------------------------

model::BeatReply RemoteSessions::extend(model::Beat beat) {
  const bool says_all = beat.settled_claim_number > 0;
  if (!says_all) { add_handed_out(beat); }
  model::BeatReply reply = engine_.store().beat(beat);
  const std::lock_guard lock(mutex_);
  const auto known = sessions_.find(beat.session);
  if (reply.session_lost) {
    for (const model::Held& held : beat.held) { reply.lost.push_back(held.id); }
    if (known != sessions_.end()) { sessions_.erase(known); }
    return reply;
  }
  if (known != sessions_.end()) {
    known->second.renewed = engine::engine_now();
    if (beat.lease > Duration::zero()) { known->second.lease = beat.lease; }
    // Each loss is reported once.
    for (const Uuid& id : reply.lost) { known->second.held.erase(id); }
  }
  return reply;
}

// Adds the claims handed out here, so that a worker that names none of its executions still learns of its losses.
void RemoteSessions::add_handed_out(model::Beat& beat) {
  const std::lock_guard lock(mutex_);
  const auto known = sessions_.find(beat.session);
  if (known == sessions_.end()) { return; }
  std::unordered_set<Uuid> named;
  for (const model::Held& held : beat.held) { named.insert(held.id); }
  for (const auto& [id, fence] : known->second.held) {
    if (!named.contains(id)) { beat.held.push_back({.id = id, .fence = fence}); }
  }
}

// ---- Answers that were not taken --------------------------------------------------------------------------------------

void RemoteSessions::take_back(const ClaimOrder& order, std::span<const model::Claim> claims) {
  std::vector<model::Finish> back;
  std::set<model::QueueRef> queues;
  for (const model::Claim& claim : claims) {
    model::Finish finish;
    finish.id = claim.id;
    finish.fence = claim.fence;
    finish.kind = model::FinishKind::released;
    back.push_back(std::move(finish));
    queues.insert(claim.queue);
  }
  (void)store::busy_if_blocked([&] { return engine_.store().finish(back); });
  {
    const std::lock_guard lock(mutex_);
    const auto known = sessions_.find(order.session);
    for (const model::Claim& claim : claims) {
      if (known != sessions_.end()) { known->second.held.erase(claim.id); }
    }
  }
  const std::vector<model::QueueRef> woken(queues.begin(), queues.end());
  engine_.wake_workers(woken);
  if (!on_change_) { return; }
  for (const model::Claim& claim : claims) { on_change_(claim.queue, claim.id); }
}

}  // namespace hapax::api
