// Hand-written histories: the ones that the checker must accept, and the ones it must not.
#include "herd/linear.hpp"

#include <stdexcept>
#include <string>
#include <utility>

namespace hapax::herd {
namespace {

using model::AdmissionVerdict;
using model::CancelVerdict;
using model::FinishKind;
using model::FinishVerdict;
using model::RetryVerdict;
using History = std::vector<Operation>;

struct Span {
  std::int64_t begun = 0;
  std::int64_t ended = never;
};

Operation at(Act act, Span span) {
  Operation one;
  one.act = act;
  one.begun = span.begun;
  one.ended = span.ended;
  return one;
}

Operation created(Span span, Name id, int run = 1) {
  Operation one = at(Act::admit, span);
  one.subject = one.answer = id;
  one.run = run;
  return one;
}

// A request for `id` that is answered with the holder.
Operation met(Span span, Name id, Name holder, Status status = Status::pending, std::int64_t result = 0) {
  Operation one = created(span, id);
  one.admission = AdmissionVerdict::deduplicated;
  one.answer = holder;
  one.status = status;
  one.result = result;
  return one;
}

Operation refused(Span span, Name id, Name holder, AdmissionVerdict verdict, Status status) {
  Operation one = met(span, id, holder, status, status == Status::completed ? 42 : 0);
  one.on_conflict = OnConflict::reject;
  one.admission = verdict;
  return one;
}

Operation claimed(Span span, Name id, std::int64_t fence = 1) {
  Operation one = at(Act::claim, span);
  one.subject = id;
  one.fence = fence;
  one.session = 7;
  return one;
}

Operation finished(Span span, Name id, FinishKind kind, FinishVerdict verdict = FinishVerdict::accepted) {
  Operation one = at(Act::finish, span);
  one.subject = id;
  one.fence = 1;
  one.kind = kind;
  one.result = kind == FinishKind::completed ? 42 : 0;
  one.finish = verdict;
  return one;
}

Operation cancelled(Span span, Name id, CancelVerdict verdict) {
  Operation one = at(Act::cancel, span);
  one.subject = id;
  one.cancel = verdict;
  return one;
}

Operation retried(Span span, Name id, Name run_id, RetryVerdict verdict, Name answer) {
  Operation one = at(Act::retry, span);
  one.subject = id;
  one.created = run_id;
  one.retry = verdict;
  one.answer = answer;
  one.run = 2;
  return one;
}

Operation holder(Span span, Name id) {
  Operation one = at(Act::holder, span);
  one.answer = id;
  return one;
}

Operation released(Span span) {
  Operation one = at(Act::release, span);
  one.session = 7;
  return one;
}

Operation unknown(Operation one) {
  one.answered = false;
  return one;
}

using Example = std::pair<std::string, History>;

std::vector<Example> in_order() {
  const auto done = FinishKind::completed;
  const auto failed = FinishKind::failed;
  return {
      {"nothing", {}},
      {"one creates, the others meet it", {created({1, 9}, 1), met({2, 8}, 2, 1), met({3, 20}, 3, 1)}},
      {"the answer came before the creator's own", {created({1, 9}, 1), met({2, 4}, 2, 1)}},
      {"completed, met with its result",
       {created({1, 2}, 1), claimed({3, 4}, 1), finished({5, 6}, 1, done), met({7, 8}, 2, 1, Status::completed, 42)}},
      {"failed, then a new run",
       {created({1, 2}, 1), claimed({3, 4}, 1), finished({5, 6}, 1, failed), created({7, 8}, 2, 2), holder({9, 9}, 2)}},
      {"a new run created while the failure was not answered yet",
       {created({1, 2}, 1), claimed({3, 4}, 1), finished({5, 20}, 1, failed), created({7, 8}, 2, 2)}},
      {"refused by a live one, then by a completed one",
       {created({1, 2}, 1), refused({3, 4}, 2, 1, AdmissionVerdict::already_exists, Status::pending),
        claimed({5, 6}, 1), finished({7, 8}, 1, done),
        refused({9, 10}, 3, 1, AdmissionVerdict::already_completed, Status::completed)}},
      {"cancelled, then retried once",
       {created({1, 2}, 1), cancelled({3, 4}, 1, CancelVerdict::cancelled),
        retried({5, 9}, 1, 2, RetryVerdict::created, 2), retried({6, 10}, 1, 3, RetryVerdict::already_retried, 2)}},
      {"an unanswered one that happened", {unknown(created({1}, 1)), met({5, 6}, 2, 1)}},
      {"an unanswered one that did not happen", {unknown(created({1}, 1)), created({5, 6}, 2)}},
      {"an unanswered claim, taken back",
       {created({1, 2}, 1), unknown(claimed({3, 9}, 0, 0)), cancelled({4, 5}, 1, CancelVerdict::requested),
        released({6, 9}), created({12, 13}, 2, 2)}},
      {"a zombie's outcome is stale",
       {created({1, 2}, 1), claimed({3, 4}, 1), released({5, 6}), finished({7, 8}, 1, done, FinishVerdict::stale)}},
  };
}

std::vector<Example> broken() {
  const auto done = FinishKind::completed;
  const auto failed = FinishKind::failed;
  Operation wrong_result = met({7, 8}, 2, 1, Status::completed, 43);
  return {
      {"two created while one lives", {created({1, 9}, 1), created({2, 8}, 2)}},
      {"two created, the second as a new run of a live one", {created({1, 2}, 1), created({3, 4}, 2, 2)}},
      {"an answer from before a new run was created",
       {created({1, 2}, 1), claimed({3, 4}, 1), finished({5, 6}, 1, failed), created({7, 8}, 2, 2),
        met({9, 10}, 3, 1)}},
      {"met an execution that nobody created", {created({1, 2}, 1), met({3, 4}, 2, 3)}},
      {"met before it was asked for", {met({1, 2}, 2, 1), created({3, 4}, 1)}},
      {"another result than the one that was accepted",
       {created({1, 2}, 1), claimed({3, 4}, 1), finished({5, 6}, 1, done), wrong_result}},
      {"a new run after a completed one",
       {created({1, 2}, 1), claimed({3, 4}, 1), finished({5, 6}, 1, done), created({7, 8}, 2, 2)}},
      {"an acknowledged one is not there", {created({1, 2}, 1), holder({3, 4}, 0)}},
      {"two claims of one fence", {created({1, 2}, 1), claimed({3, 9}, 1), claimed({4, 8}, 1)}},
      {"two outcomes accepted",
       {created({1, 2}, 1), claimed({3, 4}, 1), finished({5, 9}, 1, done), finished({5, 9}, 1, failed)}},
      {"a zombie was believed", {created({1, 2}, 1), claimed({3, 4}, 1), released({5, 6}), finished({7, 8}, 1, done)}},
      {"refused though free", {refused({1, 2}, 2, 1, AdmissionVerdict::already_exists, Status::pending)}},
      {"retried twice",
       {created({1, 2}, 1), cancelled({3, 4}, 1, CancelVerdict::cancelled),
        retried({5, 9}, 1, 2, RetryVerdict::created, 2), retried({6, 10}, 1, 3, RetryVerdict::created, 3)}},
      {"an unanswered one was met, and was not there later",
       {unknown(created({1}, 1)), met({5, 6}, 2, 1), holder({7, 8}, 0)}},
      {"a claim after its session was closed",
       {created({1, 2}, 1), unknown(claimed({3, 9}, 0, 0)), released({4, 9}),
        cancelled({10, 11}, 1, CancelVerdict::requested)}},
      {"a duplicate's run number is another's", {created({1, 2}, 1, 2), met({3, 4}, 2, 1)}},
  };
}

}  // namespace

void check_the_history_checker() {
  for (const auto& [name, history] : in_order()) {
    if (check_history(history) != Verdict::linearizable) throw std::runtime_error("self-test: refused: " + name);
  }
  for (const auto& [name, history] : broken()) {
    if (check_history(history) != Verdict::broken) throw std::runtime_error("self-test: believed: " + name);
  }
}

}  // namespace hapax::herd
