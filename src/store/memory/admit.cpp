#include "model/admission.hpp"
#include "store/memory/verbs.hpp"

namespace hapax::store::memory {

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
  execution.limit_key = item.limit_key;
  execution.weight = item.weight;
  return record;
}

namespace {

Admission admitted(const Execution& execution) {
  return {.verdict = AdmissionVerdict::created,
          .id = execution.id,
          .status = execution.status,
          .run = execution.run,
          .created_at = execution.created_at};
}

// The guard's own session; null when it does not exist or its lease is over.
Session* live_session(State& state, const NewExecution& item, Time now) {
  const auto session = state.sessions.find(item.born_running->session);
  return session == state.sessions.end() || session->second.expires_at <= now ? nullptr : &session->second;
}

Admission session_gone(const NewExecution& item) { return {.verdict = AdmissionVerdict::session_gone, .id = item.id}; }

Admission take_over(State& state, Record& record, const NewExecution& item, Admission answer, Time now) {
  Session* const session = live_session(state, item, now);
  if (session == nullptr) { return session_gone(item); }
  state.take_over(record, *session, item, now);
  answer.fence = record.execution.fence;
  return answer;
}

// The session under which the execution may be admitted as running; null when a limit, pause, delay or earlier due
// execution prevents that.
Session* session_for(State& state, const NewExecution& item, const Queue& queue, Time now) {
  if (queue.limited() || item.limit_key) { return nullptr; }
  if (!item.born_running || queue.settings.paused || item.run_at.value_or(now + item.delay) > now) { return nullptr; }
  if (!queue.ready.empty() || !queue.suspects.empty()) { return nullptr; }
  const auto session = state.sessions.find(item.born_running->session);
  return session == state.sessions.end() ? nullptr : &session->second;
}

}  // namespace

Admission admit(State& state, const NewExecution& item, Time now) {
  if (const auto same = state.records.find(item.id); same != state.records.end()) {
    if (state.find(item.id, now) != nullptr) { return admitted(same->second.execution); }
    state.forget(same->second, now);  // expired, but not swept yet
  }
  int run = 1;
  Record* terminated = nullptr;
  Record* overtaken = nullptr;
  if (item.identity) {
    if (std::optional<Holder> holder = state.find_holder(item.identity->hash, now)) {
      if (holder->id == item.id) {
        // A duplicate request after the record was swept: only the identity still has the execution's id.
        return {.verdict = AdmissionVerdict::created,
                .id = holder->id,
                .status = holder->status,
                .run = holder->run,
                .created_at = holder->created_at};
      }
      if (latest_counts(item.identity->mode) && !is_terminal(holder->status)) {
        const Execution& live = state.records.at(holder->id).execution;
        holder->place = place_of(live, item);
      }
      const AdmissionDecision decision = decide_admission(*holder, *item.identity, now);
      if (decision.step == AdmissionStep::take_over) {
        return take_over(state, state.records.at(holder->id), item, decision.admission, now);
      }
      if (decision.step == AdmissionStep::replace) { state.replace(state.records.at(holder->id), item, now); }
      if (decision.step == AdmissionStep::answer || decision.step == AdmissionStep::replace) {
        Admission answer = decision.admission;
        answer.holds_name = !item.identity->name || state.name_owner(*item.identity->name) == item.identity->hash;
        return answer;
      }
      run = holder->run + 1;
      if (decision.step == AdmissionStep::terminate_and_new_run) { terminated = &state.records.at(holder->id); }
      if (decision.overtakes) { overtaken = &state.records.at(holder->id); }
    }
  }
  if (item.identity && item.identity->name &&
      state.name_owner(*item.identity->name).value_or(item.identity->hash) != item.identity->hash) {
    return {.verdict = AdmissionVerdict::name_taken};
  }
  Queue& queue = state.queues[item.queue];
  if (queue.settings.draining) { return {.verdict = AdmissionVerdict::queue_draining}; }
  const bool is_guard = item.kind == Kind::guard;
  Session* const guarding = is_guard ? live_session(state, item, now) : nullptr;
  if (is_guard && guarding == nullptr) { return session_gone(item); }
  if (terminated != nullptr) {
    state.end(*terminated, {.status = Status::cancelled, .error = cancelled_error(terminated_reason)}, now);
    close_children(state, terminated->execution, now);
    if (audits_termination(item)) {
      state.write_act({item.labels.actor}, "execution.cancel", terminated->execution, terminated_reason, now);
    }
  }
  if (overtaken != nullptr && !overtaken->cancel_reason) { overtaken->cancel_reason = overtaken_reason; }
  state.promote(queue, now);
  Session* const session = is_guard ? guarding : session_for(state, item, queue, now);
  IdentityRow identity;
  if (item.identity) {
    identity.fingerprint = item.identity->fingerprint;
    identity.hold_for = hold_for(*item.identity, queue.settings);
    identity.name = item.identity->name;
  }
  Record& record = state.insert(make_record(item, run, now), identity, now);
  if (item.seed) { seed_journal(record, *item.seed, now); }
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
