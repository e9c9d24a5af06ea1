#include "herd/roles.hpp"
#include "herd/stage.hpp"

#include "base/uuid7.hpp"
#include "torture/plan.hpp"
#include "torture/roles.hpp"

#include <hapax/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <mutex>
#include <thread>

namespace hapax::herd {
namespace {

using torture::below;
using torture::Event;

// The stores' clock: all processes run on one machine.
std::int64_t wall_clock() {
  return std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()).time_since_epoch().count();
}

// Claims, works for a moment and finishes; a second thread beats and sweeps. After it was stopped and continued, it
// still finishes its old claims: the store must refuse them.
class Claimer {
 public:
  Claimer(const torture::Options& options, store::Store& store)
      : options_(options),
        store_(store),
        log_(options.folder, options.role, options.number),
        random_(options.seed * 7919 + static_cast<std::uint64_t>(options.number)) {}

  void run() {
    open_session();
    std::jthread beats([this](const std::stop_token& stop) { beat_until(stop); });
    while (!torture::told_to_end()) {
      if (session_lost_.exchange(false)) open_session();
      const auto claims = claim();
      for (const auto& one : claims) {
        work(one);
        finish(one);
      }
      if (claims.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(5 + below(random_, 15)));
    }
    beats.request_stop();
    beats.join();
    patiently([&] { store_.close_session(session()); });
  }

 private:
  struct Snapshot {
    Uuid session;
    std::int64_t settled = 0;
    std::vector<store::Held> held;
  };

  template <class Call>
  void patiently(const Call& call) {
    for (int left = 500;; --left) {
      try {
        return call();
      } catch (const StoreUnavailable& error) {
        log_.write(Event::note, error.name());
        if (left == 0) throw;
      }
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
    }
  }

  Uuid session() {
    const std::scoped_lock guard(mutex_);
    return state_.session;
  }

  void open_session() {
    patiently([&] {
      store::NewSession session;
      session.id = base::new_uuid7();
      session.worker = options_.role + "-" + std::to_string(options_.number);
      session.pid = ::getpid();
      session.lease = options_.lease;
      for (const auto& queue : options_.queues) session.queues.push_back({.namespace_name = "default", .name = queue});
      store_.open_session(session);
      const std::scoped_lock guard(mutex_);
      state_ = {.session = session.id};
      claim_number_ = 0;
    });
  }

  std::vector<store::Claim> claim() {
    store::ClaimRequest request;
    for (const auto& queue : options_.queues) request.queues.push_back({.namespace_name = "default", .name = queue});
    std::ranges::rotate(request.queues,
                        request.queues.begin() + below(random_, static_cast<int>(request.queues.size())));
    request.limit = request.idle = 1 + below(random_, 3);
    std::vector<store::Claim> claims;
    patiently([&] {
      {
        const std::scoped_lock guard(mutex_);
        request.session = state_.session;
        request.claim_number = ++claim_number_;
        state_.settled = claim_number_ - 1;  // gives up the claim of an earlier try
      }
      claims = store_.claim(request).claims;
    });
    for (const auto& one : claims) {
      log_.write(Event::started, one.id, one.fence, one.attempt, one.claimed_at.time_since_epoch().count(),
                 wall_clock());
    }
    const std::scoped_lock guard(mutex_);
    state_.settled = claim_number_;
    for (const auto& one : claims) state_.held.push_back({.id = one.id, .fence = one.fence});
    return claims;
  }

  void work(const store::Claim&) { std::this_thread::sleep_for(std::chrono::milliseconds(1 + below(random_, 20))); }

  void finish(const store::Claim& claim) {
    store::Finish finish;
    finish.id = claim.id;
    finish.fence = claim.fence;
    finish.result = std::to_string(options_.number);
    const int draw = below(random_, 100);
    if (draw < 25) finish.kind = draw < 20 ? store::FinishKind::retry : store::FinishKind::failed;
    if (draw < 25) finish.error = model::ErrorInfo{"Doomed", "by lot", ""};
    if (draw < 10) finish.delay = std::chrono::milliseconds(below(random_, 100));
    log_.write(Event::offered, finish.id, finish.fence, claim.attempt, wall_clock());
    auto verdict = store::FinishVerdict::stale;
    patiently([&] { verdict = store_.finish(std::span(&finish, 1)).at(0); });
    const bool accepted = verdict == store::FinishVerdict::accepted;
    log_.write(Event::finished, finish.id, finish.fence, claim.attempt, accepted ? "accepted" : "stale");
    const std::scoped_lock guard(mutex_);
    std::erase_if(state_.held, [&](const store::Held& held) { return held.id == claim.id; });
  }

  void beat_until(const std::stop_token& stop) {
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      std::this_thread::sleep_for(torture::heartbeat / 2);
      try {
        if (turn % 2 == 0) beat();
        (void)store_.sweep({});
      } catch (const StoreUnavailable& error) { log_.write(Event::note, error.name()); }
    }
  }

  void beat() {
    Snapshot now;
    {
      const std::scoped_lock guard(mutex_);
      now = state_;
    }
    store::Beat beat;
    beat.session = now.session;
    beat.lease = options_.lease;
    beat.settled_claim_number = now.settled;
    beat.held = now.held;
    const auto reply = store_.beat(beat);
    if (reply.session_lost && now.session == session()) session_lost_.store(true);
  }

  const torture::Options& options_;
  store::Store& store_;
  torture::Log log_;
  base::SeededRandom random_;
  std::mutex mutex_;  // guards state_ and claim_number_
  Snapshot state_;
  std::int64_t claim_number_ = 0;
  std::atomic<bool> session_lost_{false};
};

}  // namespace

int run_claimer(const torture::Options& options) {
  const auto store = torture::open_patiently(options);
  Claimer(options, *store).run();
  return 0;
}

int run_feeder(const torture::Options& options) {
  const auto store = torture::open_patiently(options);
  const nlohmann::json plan = read_plan(options.folder);
  const int keys = plan.at("keys");
  const auto pace = std::chrono::milliseconds(plan.at("pace_ms").get<int>());
  torture::Log log(options.folder, options.role, options.number);
  base::SeededRandom random(options.seed * 104729 + static_cast<std::uint64_t>(options.number));
  while (!torture::told_to_end()) {
    std::vector<store::NewExecution> items;
    for (const auto& queue : options.queues) {
      auto item = torture::request("limited", queue);
      item.limit_key =
          model::LimitKey{.text = "k" + std::to_string(below(random, keys)), .ordered = queue == "ordered"};
      item.priority = below(random, 5);
      items.push_back(std::move(item));
    }
    const std::int64_t asked = ticks();
    try {
      const auto admissions = store->admit(items);
      const std::int64_t acknowledged = ticks();
      for (std::size_t index = 0; index < items.size(); ++index) {
        if (!admissions.at(index).created()) throw std::runtime_error("a fresh execution was not created");
        log.write(Event::note, "fed", admissions[index].id, asked, acknowledged);
      }
    } catch (const StoreUnavailable& error) { log.write(Event::note, error.name()); }
    std::this_thread::sleep_for(pace / 2 +
                                std::chrono::microseconds(below(random, static_cast<int>(pace.count()) * 1000)));
  }
  return 0;
}

}  // namespace hapax::herd
