#include "torture/handlers.hpp"
#include "torture/roles.hpp"

#include "base/fault.hpp"
#include "base/uuid7.hpp"
#include "model/retry.hpp"

#include <hapax/error.hpp>

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <mutex>
#include <span>
#include <thread>
#include <utility>
#include <vector>

namespace hapax::torture {
namespace {

constexpr int claim_limit = 12;

// One thread claims and runs, a second one beats and sweeps. One exchange carries outcomes and the next claim. After an
// exchange that threw, the worker repeats the outcomes and gives up the claim, which the store interface allows.
class RawWorker {
 public:
  RawWorker(const Options& options, store::Store& store)
      : options_(options),
        store_(store),
        log_(options.folder, options.role, options.number),
        handlers_(store, options, log_),
        random_(options.seed * 7919 + static_cast<std::uint64_t>(options.number)) {}

  void run() {
    open_session();
    std::jthread beats([this](const std::stop_token& stop) { beat_until(stop); });
    while (!told_to_end()) {
      if (session_lost_.exchange(false)) open_session();
      auto claims = exchange(true);
      if (claims.empty() && outcomes_.empty() && one_in(random_, 4)) claims = born_running();
      for (const auto& claim : claims) run_one(claim);
      if (claims.empty() && outcomes_.empty()) std::this_thread::sleep_for(std::chrono::milliseconds(15));
    }
    while (!outcomes_.empty()) (void)exchange(false);
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

  Uuid session() {
    const std::scoped_lock guard(mutex_);
    return state_.session;
  }

  // Repeats a call after a fault or while the store is unavailable.
  template <class Call>
  void patiently(const Call& call) {
    for (int left = 2000; left > 0; --left) {
      try {
        call();
        return;
      } catch (const StoreUnavailable& error) { log_.write(Event::note, error.name()); } catch (const store::Blocked&) {
        // A transaction that completes the execution itself holds the row, perhaps one of a stopped process.
        log_.write(Event::note, "Blocked");
      } catch (const base::FaultInjected&) { log_.write(Event::note, "FaultInjected"); }
      std::this_thread::sleep_for(std::chrono::milliseconds(15));
    }
    throw StoreUnavailable("the store did not come back");
  }

  void open_session() {
    patiently([&] {
      // A new session ID for each try, even if opening the last one failed.
      store::NewSession session;
      session.id = base::new_uuid7();
      session.worker = "raw-" + std::to_string(options_.number);
      session.host = "torture";
      session.pid = ::getpid();
      session.lease = options_.lease;
      for (const auto& queue : options_.queues) session.queues.push_back({.namespace_name = "default", .name = queue});
      store_.open_session(session);
      const std::scoped_lock guard(mutex_);
      state_ = {.session = session.id};
      claim_number_ = 0;
    });
  }

  std::vector<store::Claim> exchange(bool claim) {
    store::ClaimRequest request;
    for (const auto& queue : options_.queues) request.queues.push_back({.namespace_name = "default", .name = queue});
    std::ranges::rotate(request.queues,
                        request.queues.begin() + below(random_, static_cast<int>(request.queues.size())));
    request.limit = 1 + below(random_, claim_limit);
    store::Exchange answer;
    patiently([&] {
      {
        const std::scoped_lock guard(mutex_);
        request.session = state_.session;
        request.claim_number = ++claim_number_;
        state_.settled = claim_number_ - 1;  // gives up the claim of an earlier try
      }
      answer = store_.exchange(outcomes_, claim ? &request : nullptr);
    });
    for (std::size_t index = 0; index < outcomes_.size(); ++index) {
      handlers_.log_verdict(outcomes_[index], answer.verdicts.at(index));
    }
    outcomes_.clear();
    const std::scoped_lock guard(mutex_);
    state_.settled = claim_number_;
    state_.held.clear();
    for (const auto& one : answer.claim.claims) state_.held.push_back({.id = one.id, .fence = one.fence});
    return std::move(answer.claim.claims);
  }

  // Admits an execution for itself. If the answer is lost, the beat releases it, as with any claim.
  std::vector<store::Claim> born_running() {
    if (told_to_be_quiet(options_)) return {};
    auto item = request(
        "plain", options_.queues[static_cast<std::size_t>(below(random_, static_cast<int>(options_.queues.size())))]);
    std::int64_t number = 0;
    {
      const std::scoped_lock guard(mutex_);
      number = ++claim_number_;
      state_.settled = number - 1;
      item.born_running = store::BornRunning{.session = state_.session, .claim_number = number};
    }
    std::vector<store::Claim> claims;
    try {
      const auto admission = store_.admit(std::span(&item, 1)).at(0);
      log_.write(Event::acknowledged, admission.id, item.task, "", admission.run);
      if (admission.fence) {
        log_.write(Event::note, "born-running");
        store::Claim claim;
        claim.id = admission.id;
        claim.task = item.task;
        claim.fence = *admission.fence;
        claims.push_back(claim);
      }
    } catch (const StoreUnavailable& error) {
      log_.write(Event::note, error.name());
    } catch (const base::FaultInjected&) { log_.write(Event::note, "FaultInjected"); }
    const std::scoped_lock guard(mutex_);
    state_.settled = number;
    state_.held.clear();
    for (const auto& one : claims) state_.held.push_back({.id = one.id, .fence = one.fence});
    return claims;
  }

  void run_one(const store::Claim& claim) {
    const auto begun = std::chrono::steady_clock::now();
    const Done done = handlers_.run(claim);
    const auto ran_for = std::chrono::duration_cast<Duration>(std::chrono::steady_clock::now() - begun);
    store::Finish finish;
    finish.id = claim.id;
    finish.fence = claim.fence;
    finish.ran_for = ran_for;
    switch (done.kind) {
      case Done::Kind::completed: finish.result = done.result; break;
      case Done::Kind::retry:
      case Done::Kind::failed:
        finish = model::finish_failure(
            claim, {.error = Handlers::doom(), .permanent = done.kind == Done::Kind::failed, .retry_after = done.delay},
            random_.fraction(), ran_for);
        break;
      case Done::Kind::snoozed:
        finish.kind = store::FinishKind::snoozed;
        finish.delay = done.delay;
        break;
      case Done::Kind::settled: return;
    }
    outcomes_.push_back(finish);
  }

  void beat_until(const std::stop_token& stop) {
    for (int turn = 0; !stop.stop_requested(); ++turn) {
      std::this_thread::sleep_for(heartbeat / 2);
      try {
        if (turn % 2 == 0) beat();
        (void)store_.sweep({});
      } catch (const StoreUnavailable& error) {
        log_.write(Event::note, error.name());
      } catch (const base::FaultInjected&) { log_.write(Event::note, "FaultInjected"); }
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
    if (reply.released > 0) log_.write(Event::note, "released-by-beat", reply.released);
    // The worker still finishes its lost executions: the store must refuse the outcomes.
    if (!reply.session_lost || now.session != session()) return;
    log_.write(Event::note, "session-lost");
    session_lost_.store(true);
  }

  const Options& options_;
  store::Store& store_;
  Log log_;
  Handlers handlers_;
  base::SeededRandom random_;
  std::vector<store::Finish> outcomes_;
  std::mutex mutex_;  // guards state_ and claim_number_
  Snapshot state_;
  std::int64_t claim_number_ = 0;
  std::atomic<bool> session_lost_{false};
};

}  // namespace

int run_raw_worker(const Options& options) {
  const auto store = open_patiently(options);
  RawWorker(options, *store).run();
  return 0;
}

}  // namespace hapax::torture
