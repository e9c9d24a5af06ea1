// One identity as a state machine: the answers that each operation on it may give. Derived from the documented rules
// for identities (docs/concepts) and the store interface, not from any store's code.
#pragma once

#include "model/execution.hpp"

#include <cstdint>
#include <limits>
#include <set>
#include <string>

namespace hapax::herd {

// An execution of the identity, numbered from 1 in the order in which the history mentions it; 0 is none.
using Name = std::uint8_t;

enum class Act : std::uint8_t { admit, claim, finish, cancel, retry, holder, get, release };

inline constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

struct Operation {
  Act act = Act::holder;
  std::int64_t begun = 0;      // both times are of one clock that all processes share
  std::int64_t ended = never;  // without an answer: the latest time at which the operation can have happened
  bool answered = true;        // false: the operation may or may not have happened

  // The request.
  Name subject = 0;  // the execution acted on; for an admission, the one to create
  Name created = 0;  // retry: the run to create
  OnConflict on_conflict = OnConflict::return_existing;
  Reuse reuse = Reuse::failed_only;
  int input = 0;
  int session = 0;         // claim, release
  std::int64_t fence = 0;  // finish: in the request; claim: in the answer
  model::FinishKind kind = model::FinishKind::completed;
  std::int64_t result = 0;  // finish: in the request; admission: in the answer, 0 for none

  // The answer.
  model::AdmissionVerdict admission = model::AdmissionVerdict::created;
  model::FinishVerdict finish = model::FinishVerdict::accepted;
  model::CancelVerdict cancel = model::CancelVerdict::cancelled;
  model::RetryVerdict retry = model::RetryVerdict::created;
  Name answer = 0;  // the execution in the answer
  Status status = Status::pending;
  int run = 1;
};

class State {
 public:
  // Applies the operation if it may happen now with the answer it got. Returns false, and may leave the state changed,
  // if not.
  [[nodiscard]] bool apply(const Operation& operation);
  // Equal fingerprints mean equal answers to everything.
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
  std::string statuses_ = "-";  // by name; '-' for an execution that was not created
  std::string retried_ = std::string(1, '\0');
  std::set<int> closed_;  // closed sessions, which run nothing any more
};

}  // namespace hapax::herd
