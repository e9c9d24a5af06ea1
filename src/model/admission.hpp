// The matrix of SPEC I9 as a pure function: what a request meets when its identity has a holder.
#pragma once

#include "model/execution.hpp"

#include <optional>
#include <string_view>

namespace hapax::model {

// Where a live holder stands, as a request sees it whose latest input counts.
enum class HolderPlace : std::uint8_t {
  same,        // of the request's task, queue and limit key
  other_task,  // of another task, but in the request's queue and under its limit key
  other_key,   // in the request's queue, under another limit key or none
  other_queue,
};

[[nodiscard]] HolderPlace place_of(const Execution& live, const NewExecution& request);

// The execution an identity points to, as the store found it in the admitting transaction.
struct Holder {
  Uuid id;
  Status status = Status::pending;
  int run = 1;
  Time created_at{};
  std::optional<Time> finished_at;
  std::optional<base::Digest> fingerprint;
  std::optional<std::string> result;
  // Of a live one: more than 0 once it has started, whether the attempt was given back since or not.
  std::int64_t fence = 0;
  bool expired = false;  // its record is gone, or as good as gone
  HolderPlace place = HolderPlace::same;
  // A guard that runs under no live session, and may be taken over.
  bool abandoned = false;
};

enum class AdmissionStep : std::uint8_t {
  answer,                 // `admission` is the whole answer; nothing is written
  new_run,                // admit with run = holder.run + 1 and repoint the identity
  terminate_and_new_run,  // the same, after cancelling the live holder
  replace,                // the pending holder gets what the request has but its id and identity; `admission` answers
  take_over,              // the running holder is the request's from now on, under the next fence; `admission` answers
};

struct AdmissionDecision {
  AdmissionStep step = AdmissionStep::answer;
  Admission admission;
  // With new_run: the holder runs on, but is out of date. Should it have to go back into the line, it ends as cancelled
  // for the reason below.
  bool overtakes = false;
};

inline constexpr std::string_view overtaken_reason = "overtaken by a newer request";

// Why a live holder that made way ended.
inline constexpr std::string_view terminated_reason = "terminated by a newer request";

// Whether ending a live holder for this request is somebody's act, to be told like any other cancel (SPEC X8): not what a
// mode does by itself, and not what nobody's name is on.
[[nodiscard]] inline bool is_told_termination(const NewExecution& request) {
  return !request.labels.actor.empty() && request.identity &&
         request.identity->on_conflict == OnConflict::terminate_existing &&
         request.identity->mode == IdentityMode::hold;
}

// Whether such a request's latest input counts, rather than its holder's: it has to know Holder::place.
// Whether a holder may have to make way for it: that takes steps, during which the identity is locked.
[[nodiscard]] inline bool may_displace(const NewExecution& item) {
  return item.identity &&
         (item.identity->reuse == Reuse::allow || item.identity->on_conflict == OnConflict::terminate_existing ||
          item.identity->mode != IdentityMode::hold);
}

[[nodiscard]] inline bool latest_counts(IdentityMode mode) {
  return mode == IdentityMode::debounce || mode == IdentityMode::keep_last;
}

[[nodiscard]] AdmissionDecision decide_admission(const Holder& holder, const IdentityClaim& request, Time now);

}  // namespace hapax::model
