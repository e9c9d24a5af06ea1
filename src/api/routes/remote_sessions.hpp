// RemoteSessions: the workers that claim over HTTP.
//
// Sessions and leases live in the store, so that any server of a store can answer any call of a worker. This object
// keeps only facts that save work and may be lost: when a session was last renewed, which claims were handed out (so
// that an outcome needs no read), and which calls wait for work.
//
// Any thread may call. claim(), open(), close(), extend(), take_back(), and prepare() unless is_known(), block and are
// for store threads.
#pragma once

#include "engine/batcher.hpp"
#include "engine/engine.hpp"
#include "engine/wakeups.hpp"
#include "http/signal.hpp"

#include <atomic>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace hapax::api {

class Pollers;

// A worker's request for claims.
struct ClaimOrder {
  Uuid session;
  bool is_new = false;  // the session was made for this call
  std::string worker;
  std::string peer;
  std::vector<model::QueueRef> queues;
  std::vector<std::string> tasks;  // empty: any
  int limit = 1;
  Duration lease = std::chrono::seconds(30);
};

// A worker's report on one execution.
struct ReportedOutcome {
  enum class Status : std::uint8_t { completed, failed, snoozed, released, cancelled };
  Uuid id;
  std::int64_t fence = 0;
  Status status = Status::completed;
  std::string result = "null";
  model::ErrorInfo error;
  bool has_error = false;
  std::optional<Duration> retry_after;
  bool permanent = false;
};

class RemoteSessions {
 public:
  explicit RemoteSessions(engine::Engine& engine);
  RemoteSessions(const RemoteSessions&) = delete;
  RemoteSessions& operator=(const RemoteSessions&) = delete;
  ~RemoteSessions();

  // Called for executions that were claimed or have an outcome. Set before any other call.
  using OnChange = std::function<void(const model::QueueRef&, const Uuid&)>;
  void set_on_change(OnChange on_change) { on_change_ = std::move(on_change); }

  // The claims due now; without claims, when to claim again, if that is known.
  struct Claimed {
    std::vector<model::Claim> claims;
    std::optional<Duration> next_due;
    bool passed_over = false;  // a task whose worker died is due, which only a session that holds nothing may claim
  };
  [[nodiscard]] Claimed claim(const ClaimOrder& order);
  // Opens or renews the session, without a claim.
  void open(const ClaimOrder& order);
  // Releases what the session holds. Ignores an unknown session.
  void close(const Uuid& session);

  // The calls that wait for work: see Pollers.
  [[nodiscard]] const std::shared_ptr<Pollers>& shared_pollers() const { return pollers_; }

  // Turns a report into an outcome for the store by the task's own rules. Returns none when the namespace has no such
  // execution, so the report is stale. Reads from the store only if another server, or this server before a restart,
  // handed out the claim.
  struct Prepared {
    model::Finish finish;
    model::QueueRef queue;
    bool is_limited = false;
    Uuid session;
    std::shared_ptr<const model::Claim> claim;  // for the observer, without its input; null without an observer
  };
  [[nodiscard]] std::optional<Prepared> prepare(const std::string& namespace_name, ReportedOutcome outcome);
  // Whether prepare() needs no store read.
  [[nodiscard]] bool is_known(const std::string& namespace_name, const ReportedOutcome& outcome);

  // Records the outcome in a batch with others. The callback runs on another thread, after the commit.
  void finish_async(Prepared prepared, std::function<void(model::FinishVerdict, std::exception_ptr)> callback);

  // Renews the session. Reports as lost, once each, the executions that it no longer holds, of those handed out here or
  // named in `beat`.
  [[nodiscard]] model::BeatReply extend(model::Beat beat);

  // Releases claims whose answer did not reach the worker: pending again at once, without spending an attempt.
  void take_back(const ClaimOrder& order, std::span<const model::Claim> claims);

  void stop();

 private:
  struct Known {
    Duration lease{0};
    Time renewed{};
    std::unordered_map<Uuid, std::int64_t> held;  // fences of claims handed out here, without an outcome yet
  };
  struct Given {
    model::Claim claim;  // without its input
    Time at{};
    Uuid session;
  };

  void ensure_open(const ClaimOrder& order);
  [[nodiscard]] model::ClaimReply claim_once(const ClaimOrder& order);
  void put_back_workflows(std::vector<model::Claim>& claims);
  void remember_claims(const ClaimOrder& order, std::span<const model::Claim> claims);
  [[nodiscard]] std::optional<Given> given(const std::string& namespace_name, const ReportedOutcome& outcome);
  [[nodiscard]] std::optional<Given> read_given(const std::string& namespace_name, const ReportedOutcome& outcome);
  [[nodiscard]] std::vector<model::FinishVerdict> flush(std::span<Prepared> items);
  [[nodiscard]] std::vector<model::FinishVerdict> record(std::span<Prepared* const> items);
  void recorded(std::span<Prepared* const> items, const model::Exchange& exchange);
  void forget(const Prepared& item);
  void count(const Prepared& item);
  void add_handed_out(model::Beat& beat);
  [[nodiscard]] Time report_counts(Time now);

  engine::Engine& engine_;
  OnChange on_change_;
  std::shared_ptr<Pollers> pollers_;
  std::unique_ptr<engine::Batcher<Prepared, model::FinishVerdict>> finishes_;
  std::atomic<std::int64_t> last_claim_number_{0};
  std::mutex mutex_;
  std::unordered_map<Uuid, Known> sessions_;  // guarded by mutex_, like the members below
  std::unordered_map<Uuid, Given> given_;
  std::deque<Uuid> given_order_;
  std::map<model::QueueRef, model::QueueCount> counts_;
  std::optional<Uuid> own_session_;  // session under which throughput figures are reported
  std::unique_ptr<engine::StepThread> thread_;
  bool stopping_ = false;
};

// Calls that wait for work, by queue. When work becomes ready, the first call of the queue is woken, and the next one
// when the call before it got as many claims as it asked for. The first call also claims again now and then without a
// wakeup, because notifications may be lost.
class Pollers : public engine::LocalWorker {
 public:
  class Ticket {
   public:
    Ticket(std::shared_ptr<Pollers> pollers, std::vector<model::QueueRef> queues);
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket();

    [[nodiscard]] http::Signal& signal() { return *signal_; }
    // How long the call waits at most before it claims again without a wakeup.
    [[nodiscard]] Duration patience() const;
    // Wakes the next call, because this call got as many claims as it asked for and there may be more work.
    void wake_next();
    // Wakes the call behind this one, because this call was woken for work that it cannot take. A wakeup passes through
    // the line at most once.
    void pass_wakeup_on();

   private:
    std::shared_ptr<Pollers> pollers_;
    std::vector<model::QueueRef> queues_;
    std::shared_ptr<http::Signal> signal_ = std::make_shared<http::Signal>();
  };

  void queue_changed(const model::QueueRef& queue, Duration in) override;
  void something_changed() override;
  [[nodiscard]] std::optional<model::BornRunning> reserve(const model::QueueRef&, std::string_view,
                                                          model::Kind) override {
    return std::nullopt;
  }
  void reserved(std::span<const engine::Reservation>) override {}

 private:
  using Line = std::list<std::shared_ptr<http::Signal>>;
  void enter(const std::vector<model::QueueRef>& queues, const std::shared_ptr<http::Signal>& signal);
  void leave(const std::vector<model::QueueRef>& queues, const std::shared_ptr<http::Signal>& signal);

  mutable std::mutex mutex_;
  std::map<model::QueueRef, Line> lines_;  // guarded by mutex_
};

}  // namespace hapax::api
