// The matrix of SPEC I9 as a pure function: what a request meets when its identity has a holder.
#pragma once

#include "model/execution.hpp"

#include <optional>

namespace hapax::model {

// The execution an identity points to, as the store found it in the admitting transaction.
struct Holder {
  Uuid id;
  Status status = Status::pending;
  int run = 1;
  Time created_at{};
  std::optional<Time> finished_at;
  std::optional<base::Digest> fingerprint;
  std::optional<std::string> result;
  int attempt = 0;       // of a live one: more than 0 once it has started
  bool expired = false;  // its record is gone, or as good as gone
};

enum class AdmissionStep : std::uint8_t {
  answer,                 // `admission` is the whole answer; nothing is written
  new_run,                // admit with run = holder.run + 1 and repoint the identity
  terminate_and_new_run,  // the same, after cancelling the live holder
  replace,                // the pending holder gets the request's input, run_at and fingerprint; `admission` answers
};

struct AdmissionDecision {
  AdmissionStep step = AdmissionStep::answer;
  Admission admission;
};

[[nodiscard]] AdmissionDecision decide_admission(const Holder& holder, const IdentityClaim& request, Time now);

}  // namespace hapax::model
