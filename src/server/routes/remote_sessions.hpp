// RemoteSessions: the workers that claim over HTTP.
//
// The store has the truth about sessions and leases, so that any server of a store can answer any call of a worker. What is
// kept here saves work and may be lost: when a session was renewed last, which claims were handed out (so that an outcome
// needs no read), and who waits for work.
//
// Any thread; claim(), open(), close(), settle() and extend() block and are for store threads.
#pragma once

#include "engine/batcher.hpp"
#include "engine/engine.hpp"
#include "engine/hub.hpp"
#include "server/routes/api_metrics.hpp"
#include "server/signal.hpp"

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

namespace hapax::server {

class Pollers;

// What a worker asks for.
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

// What a worker says of one execution.
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
  RemoteSessions(engine::Engine& engine, ApiMetrics& metrics);
  RemoteSessions(const RemoteSessions&) = delete;
  RemoteSessions& operator=(const RemoteSessions&) = delete;
  ~RemoteSessions();

  // Told of executions that were claimed or have an outcome. Set before anything else.
  using OnChange = std::function<void(const model::QueueRef&, const Uuid&)>;
  void set_on_change(OnChange on_change) { on_change_ = std::move(on_change); }

  // One look: what is due now, and else when to look again, if that is known.
  struct Claimed {
    std::vector<model::Claim> claims;
    std::optional<Duration> next_due;
    bool passed_over = false;  // something is due that is for a session that holds nothing
  };
  [[nodiscard]] Claimed claim(const ClaimOrder& order);
  // The session alone, opened or renewed.
  void open(const ClaimOrder& order);
  // Gives back what it holds. Unknown ones are passed over.
  void close(const Uuid& session);

  // Who waits for work: see Pollers.
  [[nodiscard]] const std::shared_ptr<Pollers>& shared_pollers() const { return pollers_; }

  // An outcome made ready for the store by the task's own rules; nothing: it is of no execution of that namespace, and so
  // stale. Reads only what was not handed out here.
  struct Prepared {
    model::Finish finish;
    model::QueueRef queue;
    bool is_limited = false;
    Uuid session;
  };
  [[nodiscard]] std::optional<Prepared> prepare(const std::string& ns, ReportedOutcome outcome);
  // Whether prepare() can do without the store.
  [[nodiscard]] bool is_known(const std::string& ns, const ReportedOutcome& outcome);

  // Together with whatever else is to be recorded. The callback comes on another thread, after commit.
  void finish_async(Prepared prepared, std::function<void(model::FinishVerdict, std::exception_ptr)> callback);

  // A beat of the session, and what of all that it was handed here or names it has lost: each is told once.
  [[nodiscard]] model::BeatReply extend(model::Beat beat);

  // Claims whose answer did not get to the worker: pending again at once, the attempt not spent.
  void take_back(const ClaimOrder& order, std::span<const model::Claim> claims);

  void stop();

 private:
  struct Known {
    Duration lease{0};
    Time renewed{};
    std::unordered_map<Uuid, std::int64_t> held;  // what was handed to it here and has no outcome: its fence
  };
  struct Given {
    model::Claim claim;  // without its input
    Time at{};
    Uuid session;
  };

  void ensure_open(const ClaimOrder& order);
  [[nodiscard]] model::ClaimReply claim_once(const ClaimOrder& order);
  void put_back_workflows(std::vector<model::Claim>& claims);
  void book(const ClaimOrder& order, std::span<const model::Claim> claims);
  [[nodiscard]] std::optional<Given> given(const std::string& ns, const ReportedOutcome& outcome);
  [[nodiscard]] std::optional<Given> read_given(const std::string& ns, const ReportedOutcome& outcome);
  [[nodiscard]] std::vector<model::FinishVerdict> flush(std::span<Prepared> items);
  [[nodiscard]] std::vector<model::FinishVerdict> record(std::span<Prepared* const> items);
  void recorded(std::span<Prepared* const> items, const model::Exchange& exchange);
  void forget(const Prepared& item);
  void count(const Prepared& item);
  void add_handed_out(model::Beat& beat);
  [[nodiscard]] Time tell_counts(Time now);

  engine::Engine& engine_;
  ApiMetrics& metrics_;
  OnChange on_change_;
  std::shared_ptr<Pollers> pollers_;
  std::unique_ptr<engine::Batcher<Prepared, model::FinishVerdict>> finishes_;
  std::atomic<std::int64_t> last_claim_number_{0};
  std::mutex mutex_;
  std::unordered_map<Uuid, Known> sessions_;  // guarded by mutex_, like what follows
  std::unordered_map<Uuid, Given> given_;
  std::deque<Uuid> given_order_;
  std::map<model::QueueRef, model::QueueCount> counts_;
  std::optional<Uuid> own_session_;  // throughput figures are told under it
  std::unique_ptr<engine::StepThread> thread_;
  bool stopping_ = false;
};

// Calls that wait for work, by queue. One of a queue is woken when something of it becomes ready, and the next when the one
// before took as much as it could; the first in line also looks now and then by itself, as hints may be lost.
class Pollers : public engine::LocalWorker {
 public:
  class Ticket {
   public:
    Ticket(std::shared_ptr<Pollers> pollers, std::vector<model::QueueRef> queues);
    Ticket(const Ticket&) = delete;
    Ticket& operator=(const Ticket&) = delete;
    ~Ticket();

    [[nodiscard]] Signal& signal() { return *signal_; }
    // How long to wait at most before it looks by itself.
    [[nodiscard]] Duration patience() const;
    // It took all it asked for: there may be more for the next.
    void pass_on();
    // It was woken and what is ready is not for it: those behind it may want it. Each of them passes it on in turn, so a
    // wake-up goes once through the line at most.
    void pass_back();

   private:
    std::shared_ptr<Pollers> pollers_;
    std::vector<model::QueueRef> queues_;
    std::shared_ptr<Signal> signal_ = std::make_shared<Signal>();
  };

  void queue_changed(const model::QueueRef& queue, Duration in) override;
  void something_changed() override;
  [[nodiscard]] std::optional<model::BornRunning> reserve(const model::QueueRef&, std::string_view,
                                                          model::Kind) override {
    return std::nullopt;
  }
  void reserved(std::span<const engine::Reservation>) override {}

 private:
  using Line = std::list<std::shared_ptr<Signal>>;
  void enter(const std::vector<model::QueueRef>& queues, const std::shared_ptr<Signal>& signal);
  void leave(const std::vector<model::QueueRef>& queues, const std::shared_ptr<Signal>& signal);

  mutable std::mutex mutex_;
  std::map<model::QueueRef, Line> lines_;  // guarded by mutex_
};

}  // namespace hapax::server
