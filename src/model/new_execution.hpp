// A request to run something, and the answer to it. Plain values: no behaviour, no clock, no I/O.
#pragma once

#include <hapax/inspect.hpp>
#include <hapax/policy.hpp>
#include <hapax/status.hpp>
#include <hapax/time.hpp>
#include <hapax/uuid.hpp>

#include "base/sha256.hpp"

#include <compare>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::model {

// Persisted: never renumber.
enum class Kind : std::uint8_t { task = 0, workflow = 1, guard = 2 };

// How a request treats the holder of its identity. Never persisted.
enum class IdentityMode : std::uint8_t {
  hold,
  throttle,   // the holder answers for a time after its admission; then a new run, whatever the holder's status
  debounce,   // a holder that has not started gets the new input and a new delay; else a new run
  keep_last,  // the same, and the new run waits for the holder (the caller gives it an ordered key)
};

// The queue of guards. Workers never claim from it: nothing in it is ever pending.
inline constexpr std::string_view guard_queue = "hapax.guard";

// A queue's name in its namespace.
struct QueueRef {
  std::string namespace_name = "default";
  std::string name = "default";
  friend auto operator<=>(const QueueRef&, const QueueRef&) = default;
};

// The error of a failed attempt. `detail` is for people: a stack, or the end of standard error.
using ErrorInfo = ErrorDetails;

// The identity of a request. The store keeps `hash` unique.
struct IdentityClaim {
  base::Digest hash{};
  std::string key;                          // for people: "payment-123"; used in messages only
  std::optional<base::Digest> fingerprint;  // none: never compared
  Reuse reuse = Reuse::failed_only;
  OnConflict on_conflict = OnConflict::return_existing;  // the store treats `wait` as return_existing
  std::optional<Duration> dedup_window;                  // held at least this long after the end; none: the queue's
  IdentityMode mode = IdentityMode::hold;
  Duration throttle{0};  // for IdentityMode::throttle, from the holder's admission
  // A name that at most one stored identity has (decision 58). A request whose name another identity has is not
  // admitted (AdmissionVerdict::name_taken), unless its own identity is held: then the holder answers.
  std::optional<base::Digest> name{};
};

// A key that executions of a queue share: a limited number of them run at a time or, if ordered, strictly one after the
// other in the order of a store sequence.
struct LimitKey {
  std::string text;
  bool ordered = false;
  friend auto operator<=>(const LimitKey&, const LimitKey&) = default;
};

// Asks the store to admit the execution as already claimed by a session of the caller. The store does so if the queue
// is not paused and has nothing due; otherwise the execution is admitted as pending. A guard always asks for this, and
// is admitted as running or not at all.
struct BornRunning {
  Uuid session;
  std::int64_t claim_number = 0;
};

// Labels that callers attach to an execution. Stored as one JSON object, absent when all are empty.
struct Labels {
  std::vector<std::string> tags;
  std::string metadata;             // a JSON object, or empty
  std::string traceparent;          // W3C, or empty
  std::string tracestate;           // W3C, goes with traceparent; or empty
  std::string actor;                // the actor that enqueued the execution, or empty; later runs keep it
  std::optional<Uuid> forked_from;  // the run that this run, or the first of its chain, was forked from
  friend bool operator==(const Labels&, const Labels&) = default;
};

struct Seed;

// A validated request (engine/admission). The client makes the ID (UUIDv7).
struct NewExecution {
  static constexpr std::int32_t no_catalogue = -1;

  Uuid id;
  QueueRef queue;
  std::string task;
  Kind kind = Kind::task;
  std::string input = "null";  // JSON bytes, never parsed again
  int priority = 0;
  Duration delay{0};           // from the store's now
  std::optional<Time> run_at;  // an absolute instant instead of a delay
  int max_attempts = 4;
  int max_lost = 4;
  std::optional<RetryPolicy> retry;         // none: the default policy
  std::optional<Duration> attempt_timeout;  // of a guard: its session's lease; none: never taken over
  std::optional<Duration> deadline;         // for the whole execution, from admission
  std::optional<IdentityClaim> identity;
  std::optional<std::string> effect_key;  // none: derived (model/effect_key.hpp)
  std::optional<Uuid> parent;
  Labels labels;
  std::optional<BornRunning> born_running;
  std::optional<LimitKey> limit_key;
  int weight = 1;  // under rate limits
  // The catalogue version (StoredCatalogue::version) that the request was made with: the store refuses the request when
  // its catalogue is newer (store::CatalogueChanged). no_catalogue: the catalogue does not affect the request.
  std::int32_t catalogue_version = no_catalogue;
  std::string caller_trace;          // not stored: the traceparent before an observer replaced that of the labels
  std::shared_ptr<const Seed> seed;  // for a forked workflow: the journal entries it takes over
};

// The answer to one admission. Never persisted.
enum class AdmissionVerdict : std::uint8_t {
  created,
  deduplicated,       // `id` is the holder's
  already_exists,     // on_conflict reject, holder pending or running
  already_completed,  // on_conflict reject, holder completed
  already_finished,   // reuse reject, holder failed, cancelled or timed out
  mismatch,           // same key, other fingerprint
  queue_draining,     // nothing admitted
  taken_over,         // the guard's holder had lost its session: the caller runs the guard now, under `fence`
  session_gone,       // the guard's own session is gone or its lease is over; nothing admitted
  name_taken,         // another identity has the request's name (IdentityClaim::name); nothing admitted
};

struct Admission {
  AdmissionVerdict verdict = AdmissionVerdict::created;
  Uuid id;                                // the new execution's or the holder's
  Status status = Status::pending;        // the new execution's or the holder's
  int run = 1;                            // 1 for the first execution under an identity
  std::optional<Time> deduplicated_from;  // not created: the holder's creation time
  std::optional<Time> finished_at;        // for a holder that has ended
  std::optional<std::string> result;      // JSON of a completed holder; none when expired (a tombstone)
  bool expired = false;                   // the holder's record is gone, but its identity is still held
  std::optional<std::int64_t> fence;      // born running or taken over: the claim's fence
  Time created_at{};                      // of a new execution, by the store's clock
  bool holds_name = true;  // not created, with a name in the request: whether the holder's identity has that name
  [[nodiscard]] bool created() const { return verdict == AdmissionVerdict::created; }
};

}  // namespace hapax::model
