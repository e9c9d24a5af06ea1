#include "model/admission.hpp"
#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

namespace {

Record make_record(const NewExecution& item, int run, Time now) {
  Record record;
  record.stored_effect_key = item.effect_key;
  Execution& execution = record.execution;
  execution.id = item.id;
  execution.queue = item.queue;
  execution.task = item.task;
  execution.kind = item.kind;
  execution.input = item.input;
  execution.priority = item.priority;
  execution.run = run;
  execution.max_attempts = item.max_attempts;
  execution.max_lost = item.max_lost;
  execution.created_at = now;
  execution.run_at = item.run_at.value_or(now + item.delay);
  if (item.deadline) { execution.deadline = now + *item.deadline; }
  execution.attempt_timeout = item.attempt_timeout;
  execution.retry = item.retry;
  if (item.identity) {
    execution.identity = item.identity->hash;
    execution.identity_key = item.identity->key;
  }
  execution.parent = item.parent;
  execution.labels = item.labels;
  return record;
}

Admission admitted(const Execution& execution) {
  return {.verdict = AdmissionVerdict::created,
          .id = execution.id,
          .status = execution.status,
          .run = execution.run,
          .created_at = execution.created_at};
}

// Whether nothing is in the way of an execution that is to be born running.
Session* cradle(State& state, const NewExecution& item, const Queue& queue, Time now) {
  if (!item.born_running || queue.settings.paused || item.run_at.value_or(now + item.delay) > now) { return nullptr; }
  if (!queue.ready.empty() || !queue.suspects.empty()) { return nullptr; }
  const auto session = state.sessions.find(item.born_running->session);
  return session == state.sessions.end() ? nullptr : &session->second;
}

Holder describe(const Record& record, const HeldIdentity& held) {
  const Execution& execution = record.execution;
  return {.id = execution.id,
          .status = execution.status,
          .run = execution.run,
          .created_at = execution.created_at,
          .finished_at = execution.finished_at,
          .fingerprint = held.fingerprint,
          .result = execution.result};
}

}  // namespace

Admission admit(State& state, const NewExecution& item, Time now) {
  if (const auto same = state.records.find(item.id); same != state.records.end()) {
    if (state.find(item.id, now) != nullptr) { return admitted(same->second.execution); }
    state.forget(same->second);  // expired, only not swept
  }
  int run = 1;
  Record* terminated = nullptr;
  if (item.identity) {
    if (Record* holder = state.find_holder(item.identity->hash, now)) {
      const AdmissionDecision decision =
          decide_admission(describe(*holder, state.identities.at(item.identity->hash)), *item.identity);
      if (decision.step == AdmissionStep::answer) { return decision.admission; }
      run = holder->execution.run + 1;
      terminated = decision.step == AdmissionStep::terminate_and_new_run ? holder : nullptr;
    }
  }
  Queue& queue = state.queues[item.queue];
  if (queue.settings.draining) { return {.verdict = AdmissionVerdict::queue_draining}; }
  if (terminated != nullptr) {
    state.end(*terminated, {.status = Status::cancelled, .error = cancelled_error("terminated by a newer request")},
              now);
  }
  state.promote(queue, now);
  Session* const session = cradle(state, item, queue, now);
  const auto fingerprint = item.identity ? item.identity->fingerprint : std::nullopt;
  Record& record = state.insert(make_record(item, run, now), fingerprint, now);
  Admission admission;
  if (session != nullptr) {
    state.start(record, *session, item.born_running->claim_number, now);
    admission = admitted(record.execution);
    admission.fence = record.execution.fence;
  } else {
    admission = admitted(record.execution);
  }
  return admission;
}

}  // namespace hapax::store::memory
