// Observer: sees what an app does, for metrics, traces and logs.
//
//   struct Count : hapax::Observer {
//     void on_attempt_ended(const hapax::AttemptEnd& end) override { ++outcomes[end.outcome]; }
//   };
//   auto app = hapax::open("sqlite:orders.db", {.observer = std::make_shared<Count>()});
//
// hapax/prometheus.hpp and hapax/otlp.hpp have observers that are ready to use. An app without an observer reads no
// clock and allocates nothing for observers.
#pragma once

#include <hapax/inspect.hpp>
#include <hapax/log.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace hapax {

// The events refer to values that live until the callback returns.

// The W3C trace context of a request or an attempt; both empty: there is none.
struct TraceContext {
  std::string traceparent{};
  std::string tracestate{};
};

// The names of an execution, and its trace context.
struct ObservedTask {
  Uuid id{};
  std::string_view namespace_name{};
  std::string_view queue{};
  std::string_view task{};
  bool workflow = false;
  // The trace context that the execution keeps.
  std::string_view traceparent{};
  std::string_view tracestate{};
};

// The store's answer to one request for an execution.
enum class AdmissionOutcome {
  created,
  deduplicated,       // the execution that holds the key answered
  already_exists,     // refused: the holder is pending or running
  already_completed,  // refused: the holder completed
  already_finished,   // refused: the holder failed, was cancelled or timed out
  mismatch,           // refused: the same key with another input
  queue_draining,     // refused
  taken_over,         // a guard took over from a lost one
  session_gone,       // refused: the guard's session is over
  name_taken,         // refused: another identity has the name
};
[[nodiscard]] std::string_view to_string(AdmissionOutcome outcome);

struct ObservedAdmission {
  ObservedTask task{};  // of the request: `id` is the id that the request would get
  AdmissionOutcome outcome = AdmissionOutcome::created;
  Uuid execution{};                 // that answers: the new one, or the holder of the key
  std::string_view caller_trace{};  // the traceparent that the request came with
};

// Requests that one call of the store answered together.
struct AdmissionBatch {
  std::span<const ObservedAdmission> admissions{};
  std::optional<Duration> took{};  // of the store; none: in a transaction of the caller's
};

// Executions that one claim handed to a worker.
struct ClaimBatch {
  std::span<const ObservedTask> tasks{};
  Duration took{0};  // of the store; outcomes may have been recorded in the same call
};

struct AttemptBegin {
  ObservedTask task{};
  int attempt = 1;
  std::int64_t fence = 0;
  Duration waited{0};  // since the execution was due
};

enum class AttemptOutcome {
  completed,
  failed,  // for good: a dead letter
  cancelled,
  timed_out,  // the execution's deadline passed
  retried,    // failed, and is tried again
  snoozed,    // the handler asked to run later
  released,   // given back without an outcome
  waiting,    // a workflow waits for an event or an instant
  continued,  // a workflow goes on as a new run
  stale,      // refused by the store: the lease was lost before, and another worker may have the execution
  lost,       // the worker learned that its lease is lost, before the attempt had an outcome
};
[[nodiscard]] std::string_view to_string(AttemptOutcome outcome);

// An attempt whose outcome the store has answered. A workflow has one attempt from each claim to its next wait.
struct AttemptEnd {
  ObservedTask task{};
  int attempt = 1;
  std::int64_t fence = 0;
  AttemptOutcome outcome = AttemptOutcome::completed;
  Duration waited{0};  // since the execution was due
  Duration ran_for{0};
  Duration ended_ago{0};          // how long before this call the handler ended
  std::string_view error_type{};  // of a failed attempt
};

// Outcomes that one call of the store recorded.
struct OutcomeBatch {
  std::size_t outcomes = 0;
  Duration took{0};
};

// A step of a workflow whose body was run here. Steps that a replay reads from the journal are not reported.
struct StepEnd {
  ObservedTask task{};
  std::int64_t fence = 0;
  std::string_view step{};
  bool failed = false;
  std::string_view error_type{};
  Duration ran_for{0};
};

// A worker has learned that it lost the leases of executions that it held.
struct LeaseLoss {
  std::size_t executions = 0;
  bool session = false;  // its whole session was lost
};

struct StoreCall {
  std::string_view verb{};  // admit, exchange, advance, journal, beat, sweep, activities
  Duration took{0};
  bool failed = false;
};

// One pass of the background sweep of this process. A pass that failed in part is told twice: what it did, and that it
// failed.
struct SweepEnd {
  bool failed = false;    // the counts are then 0
  int lost_sessions = 0;  // whose lease was over
  int requeued = 0;       // executions of lost sessions
  int dead = 0;           // executions that were lost too often
  int timed_out = 0;      // executions whose deadline passed
  int expired = 0;        // records deleted
  int bad_rows = 0;       // left as they are: the sweep could neither read nor change them
};

// The app as an observer sees it: its namespace, and a question that the observer may ask.
struct ObservedApp {
  std::string_view namespace_name{};
  // The queues of the app's namespace. It reads the store, so it blocks; it throws StoreUnavailable, also after the app
  // is gone. The observer may keep it.
  std::function<std::vector<QueueStats>()> queues{};
};

// Threads of the library and callers' threads call an observer, several at once and outside of the library's locks. A
// callback delays the work it reports, so it must return soon and must not call the app. An exception of a callback is
// dropped, as the work has been done. The app shares the observer and calls it until the app, its handles and its
// workers are gone.
class Observer {
 public:
  Observer() = default;
  Observer(const Observer&) = delete;
  Observer& operator=(const Observer&) = delete;
  virtual ~Observer() = default;

  // hapax::open() has opened the store.
  virtual void on_open(const ObservedApp& app) { (void)app; }

  virtual void on_admissions(const AdmissionBatch& batch) { (void)batch; }
  virtual void on_claims(const ClaimBatch& batch) { (void)batch; }
  virtual void on_attempt_begun(const AttemptBegin& begin) { (void)begin; }
  virtual void on_attempt_ended(const AttemptEnd& end) { (void)end; }
  virtual void on_outcomes(const OutcomeBatch& batch) { (void)batch; }
  virtual void on_step_ended(const StepEnd& end) { (void)end; }
  virtual void on_leases_lost(const LeaseLoss& loss) { (void)loss; }
  virtual void on_store_call(const StoreCall& call) { (void)call; }
  virtual void on_sweep(const SweepEnd& sweep) { (void)sweep; }
  // A line of the structured log, also when OpenOptions::on_log is set.
  virtual void on_log(LogLevel level, std::string_view message, const LogFields& fields) {
    (void)level, (void)message, (void)fields;
  }

  // The trace context that a new execution keeps, and its handler gets. Called before the request is admitted, with the
  // caller's context or none; unchanged, that context is kept.
  virtual void trace_request(const Uuid& id, TraceContext& trace) { (void)id, (void)trace; }
  // The trace context that the handler of an attempt gets, and what a workflow starts. Called before the attempt begins,
  // with the execution's context or none.
  virtual void trace_attempt(const Uuid& id, std::int64_t fence, TraceContext& trace) {
    (void)id, (void)fence, (void)trace;
  }
};

// An observer that calls each of these in turn, without those that are null.
[[nodiscard]] std::shared_ptr<Observer> observe_with(std::vector<std::shared_ptr<Observer>> observers);

}  // namespace hapax
