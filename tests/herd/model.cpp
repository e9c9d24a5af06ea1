#include "herd/model.hpp"

namespace hapax::herd {

using model::AdmissionVerdict;
using model::CancelVerdict;
using model::FinishKind;
using model::FinishVerdict;
using model::RetryVerdict;

void State::set(Name name, Status status) {
  if (statuses_.size() <= name) {
    statuses_.resize(name + 1U, '-');
    retried_.resize(name + 1U, '\0');
  }
  statuses_[name] = static_cast<char>('0' + static_cast<int>(status));
}

void State::create(Name name, int input) {
  set(name, Status::pending);
  holder_ = name;
  run_ += 1;
  input_ = input;
  session_ = 0;
  fence_ = 0;
  result_ = 0;
  cancel_requested_ = false;
}

// The execution stops running: cancelled if a cancellation was requested, otherwise as given.
void State::stop_running(Status otherwise) {
  set(holder_, cancel_requested_ ? Status::cancelled : otherwise);
  session_ = 0;
}

bool State::apply(const Operation& operation) {
  switch (operation.act) {
    case Act::admit: return admit(operation);
    case Act::claim: return claim(operation);
    case Act::finish: return finish(operation);
    case Act::cancel: return cancel(operation);
    case Act::retry: return retry(operation);
    case Act::holder: return operation.answer == holder_;
    case Act::get: return exists(operation.subject) && status(operation.subject) == operation.status;
    case Act::release: release(operation); return true;
  }
  return false;
}

bool State::admit(const Operation& asked) {
  const auto answers = [&](AdmissionVerdict verdict, Name id) {
    if (!asked.answered) return true;
    if (asked.admission != verdict || asked.answer != id || asked.status != status(id) || asked.run != run_) {
      return false;
    }
    const bool tells_result = status(id) == Status::completed && verdict != AdmissionVerdict::mismatch;
    return verdict == AdmissionVerdict::created || asked.result == (tells_result ? result_ : 0);
  };
  if (holder_ != 0 && holder_ == asked.subject)
    return answers(AdmissionVerdict::created, holder_);  // a repeated request
  const bool ended = holder_ != 0 && !live();
  const bool completed = ended && status(holder_) == Status::completed;
  const bool follows = ended && (asked.reuse == Reuse::allow || (asked.reuse == Reuse::failed_only && !completed));
  const bool replaces = live() && asked.on_conflict == OnConflict::terminate_existing;
  if (holder_ == 0 || follows || replaces) {
    if (replaces) set(holder_, Status::cancelled);
    create(asked.subject, asked.input);
    return answers(AdmissionVerdict::created, holder_);
  }
  const bool rejects = asked.on_conflict == OnConflict::reject;
  AdmissionVerdict verdict = AdmissionVerdict::deduplicated;
  if (asked.input != input_) {
    verdict = AdmissionVerdict::mismatch;
  } else if (live()) {
    if (rejects) verdict = AdmissionVerdict::already_exists;
  } else if (completed) {
    if (rejects) verdict = AdmissionVerdict::already_completed;
  } else {
    verdict = AdmissionVerdict::already_finished;
  }
  return answers(verdict, holder_);
}

bool State::claim(const Operation& asked) {
  if (!live() || status(holder_) != Status::pending || closed_.contains(asked.session)) return false;
  if (asked.answered && (asked.subject != holder_ || asked.fence != fence_ + 1)) return false;
  set(holder_, Status::running);
  fence_ += 1;
  session_ = asked.session;
  return true;
}

bool State::finish(const Operation& asked) {
  const bool current =
      holder_ != 0 && asked.subject == holder_ && status(holder_) == Status::running && asked.fence == fence_;
  if (asked.answered && asked.finish != (current ? FinishVerdict::accepted : FinishVerdict::stale)) return false;
  if (!current) return true;
  if (asked.kind == FinishKind::completed) {
    set(holder_, Status::completed);
    result_ = asked.result;
  } else if (asked.kind == FinishKind::failed) {
    set(holder_, Status::failed);
  } else {
    stop_running(Status::pending);
  }
  return true;
}

bool State::cancel(const Operation& asked) {
  CancelVerdict verdict = CancelVerdict::not_found;
  if (exists(asked.subject)) {
    switch (status(asked.subject)) {
      case Status::pending: verdict = CancelVerdict::cancelled; break;
      case Status::running: verdict = CancelVerdict::requested; break;
      default: verdict = CancelVerdict::finished; break;
    }
  }
  if (asked.answered) {
    if (asked.cancel != verdict) return false;
    if (verdict == CancelVerdict::finished && asked.status != status(asked.subject)) return false;
  }
  if (verdict == CancelVerdict::cancelled) set(asked.subject, Status::cancelled);
  if (verdict == CancelVerdict::requested) cancel_requested_ = true;
  return true;
}

bool State::retry(const Operation& asked) {
  const auto answers = [&](RetryVerdict verdict, Name existing) {
    return !asked.answered || (asked.retry == verdict && (existing == 0 || asked.answer == existing));
  };
  if (!exists(asked.subject)) return answers(RetryVerdict::not_found, 0);
  if (!is_terminal(status(asked.subject))) return answers(RetryVerdict::not_finished, 0);
  if (status(asked.subject) == Status::completed) return answers(RetryVerdict::completed, 0);
  if (const auto run = static_cast<Name>(retried_[asked.subject])) return answers(RetryVerdict::already_retried, run);
  if (asked.subject != holder_) return answers(RetryVerdict::identity_held, holder_);
  create(asked.created, input_);
  retried_[asked.subject] = static_cast<char>(asked.created);
  return answers(RetryVerdict::created, asked.created) && (!asked.answered || asked.run == run_);
}

void State::release(const Operation& asked) {
  closed_.insert(asked.session);
  if (live() && status(holder_) == Status::running && session_ == asked.session) stop_running(Status::pending);
}

std::string State::fingerprint() const {
  std::string text;
  for (const std::int64_t number : {std::int64_t{holder_}, std::int64_t{run_}, std::int64_t{input_},
                                    std::int64_t{session_}, fence_, result_, std::int64_t{cancel_requested_}}) {
    text += std::to_string(number) + ",";
  }
  for (const int session : closed_) text += std::to_string(session) + ";";
  return text + statuses_ + retried_;
}

}  // namespace hapax::herd
