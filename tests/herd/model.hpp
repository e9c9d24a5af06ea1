// One identity as a state machine: what each operation on it may answer. Written from SPEC I9 and the seam's rules, not
// from the code of any store.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <limits>
#include <set>
#include <string>

namespace hapax::herd {

// An execution under the identity, numbered from 1 as the history mentions them; 0 is none.
using Name = std::uint8_t;

enum class Act : std::uint8_t { admit, claim, finish, cancel, retry, holder, get, release };

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct Operation {
  Act act = Act::holder;
  std::int64_t begun = 0;      // both by one clock that all processes share
  std::int64_t ended = never;  // without an answer: the last instant at which it can have happened
  bool answered = true;        // otherwise it may have happened or not

  // What was asked.
  Name subject = 0;  // the execution acted on; of an admission the one it would create
  Name created = 0;  // retry: the run it would create
  OnConflict on_conflict = OnConflict::return_existing;
  Reuse reuse = Reuse::failed_only;
  int input = 0;
  int session = 0;         // claim, release
  std::int64_t fence = 0;  // finish: asked with; claim: answered
  model::FinishKind kind = model::FinishKind::completed;
  std::int64_t result = 0;  // finish: given; admission: answered with, 0 for none

  // What was answered.
  model::AdmissionVerdict admission = model::AdmissionVerdict::created;
  model::FinishVerdict finish = model::FinishVerdict::accepted;
  model::CancelVerdict cancel = model::CancelVerdict::cancelled;
  model::RetryVerdict retry = model::RetryVerdict::created;
  Name answer = 0;  // the execution named
  Status status = Status::pending;
  int run = 1;
};

class State {
 public:
  // True when the operation may happen now with the answer it got; then it has happened.
  [[nodiscard]] bool apply(const Operation& operation);
  // Equal states answer everything alike.
  [[nodiscard]] std::string fingerprint() const;

 private:
  [[nodiscard]] bool admit(const Operation& operation);
  [[nodiscard]] bool claim(const Operation& operation);
  [[nodiscard]] bool finish(const Operation& operation);
  [[nodiscard]] bool cancel(const Operation& operation);
  [[nodiscard]] bool retry(const Operation& operation);
  void release(const Operation& operation);

  [[nodiscard]] bool exists(Name name) const { return name < statuses_.size() && statuses_[name] != '-'; }
  [[nodiscard]] Status status(Name name) const { return static_cast<Status>(statuses_[name] - '0'); }
  [[nodiscard]] bool live() const { return holder_ != 0 && !is_terminal(status(holder_)); }
  void set(Name name, Status status);
  void create(Name name, int input);
  void stop_running(Status otherwise);

  Name holder_ = 0;
  int run_ = 0;
  int input_ = 0;
  int session_ = 0;
  std::int64_t fence_ = 0;
  std::int64_t result_ = 0;
  bool cancel_requested_ = false;
  std::string statuses_ = "-";  // by name; '-' for one that was not created
  std::string retried_ = std::string(1, '\0');
  std::set<int> closed_;  // sessions: nothing runs under them any more
};

}  // namespace hapax::herd
