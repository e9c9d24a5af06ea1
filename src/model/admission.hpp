// Decides what happens to a request whose identity is held: the matrix of docs/guides/reuse.md as a pure function.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string_view>

namespace hapax::model {

// How a live holder differs from a request under debounce or keep_last.
enum class HolderPlace : std::uint8_t {
  same,        // the request's task, queue and limit key
  other_task,  // another task; the request's queue and limit key
  other_key,   // the request's queue; another limit key, or none
  other_queue,
};

[[nodiscard]] HolderPlace place_of(const Execution& live, const NewExecution& request);

// The execution that holds an identity, as the store found it in the admitting transaction.
struct Holder {
  Uuid id;
  Status status = Status::pending;
  int run = 1;
  Time created_at{};
  std::optional<Time> finished_at;
  std::optional<base::Digest> fingerprint;
  std::optional<std::string> result;
  // For a live holder: more than 0 once it has been claimed, also if the attempt was released since.
  std::int64_t fence = 0;
  bool expired = false;  // its record is deleted or past its expiry
  HolderPlace place = HolderPlace::same;
  // A guard without a live session, which may be taken over.
  bool abandoned = false;
};

// The store's next step for the request.
enum class AdmissionStep : std::uint8_t {
  answer,                 // `admission` is the answer; nothing is written
  new_run,                // admit with run = holder.run + 1 and make the new run the holder
  terminate_and_new_run,  // the same, after cancelling the live holder
  replace,                // the pending holder takes all of the request but its ID and identity; `admission` answers
  take_over,              // the request takes over the running holder under the next fence; `admission` answers
};

struct AdmissionDecision {
  AdmissionStep step = AdmissionStep::answer;
  Admission admission;
  // With new_run: the holder goes on running but is out of date. If it would become pending again, it ends as cancelled
  // for the reason below.
  bool overtakes = false;
};

inline constexpr std::string_view overtaken_reason = "overtaken by a newer request";

// The cancel reason of a holder ended by AdmissionStep::terminate_and_new_run.
inline constexpr std::string_view terminated_reason = "terminated by a newer request";

// Whether ending a live holder for this request gets an audit line. Only terminate_existing by a named actor does;
// debounce and keep_last do not.
[[nodiscard]] inline bool audits_termination(const NewExecution& request) {
  return !request.labels.actor.empty() && request.identity &&
         request.identity->on_conflict == OnConflict::terminate_existing &&
         request.identity->mode == IdentityMode::hold;
}

// Whether the request may displace the holder of its identity, live or ended. Displacing one takes several steps,
// during which the identity stays locked.
[[nodiscard]] inline bool may_displace(const NewExecution& item) {
  return item.identity &&
         (item.identity->reuse == Reuse::allow || item.identity->on_conflict == OnConflict::terminate_existing ||
          item.identity->mode != IdentityMode::hold);
}

// Whether the latest request's input replaces the holder's (debounce, keep_last). The decision then needs
// Holder::place.
[[nodiscard]] inline bool latest_counts(IdentityMode mode) {
  return mode == IdentityMode::debounce || mode == IdentityMode::keep_last;
}

// The decision for one request. Pure: `now` is the store's time.
[[nodiscard]] AdmissionDecision decide_admission(const Holder& holder, const IdentityClaim& request, Time now);

}  // namespace hapax::model
