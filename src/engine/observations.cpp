#include "engine/observations.hpp"

#include <algorithm>
#include <exception>
#include <mutex>

namespace hapax::engine {

namespace {

// Both have the same order.
static_assert(static_cast<int>(AdmissionOutcome::created) == static_cast<int>(model::AdmissionVerdict::created));
static_assert(static_cast<int>(AdmissionOutcome::name_taken) == static_cast<int>(model::AdmissionVerdict::name_taken));
static_assert(static_cast<int>(AttemptOutcome::completed) == static_cast<int>(model::FinishKind::completed));
static_assert(static_cast<int>(AttemptOutcome::continued) == static_cast<int>(model::FinishKind::continued));

ObservedTask observed(const model::Claim& claim) {
  return {.id = claim.id,
          .namespace_name = claim.queue.namespace_name,
          .queue = claim.queue.name,
          .task = claim.task,
          .workflow = claim.kind == model::Kind::workflow,
          .traceparent = claim.labels.traceparent,
          .tracestate = claim.labels.tracestate};
}

ObservedTask observed(const model::NewExecution& request) {
  return {.id = request.id,
          .namespace_name = request.queue.namespace_name,
          .queue = request.queue.name,
          .task = request.task,
          .workflow = request.kind == model::Kind::workflow,
          .traceparent = request.labels.traceparent,
          .tracestate = request.labels.tracestate};
}

// From the time at which the execution was due to its claim.
Duration waited_for_claim(const model::Claim& claim) {
  const Time due = claim.due_at == Time{} ? claim.created_at : claim.due_at;
  return std::max(claim.claimed_at - due, Duration::zero());
}

// In this process, from the claim to the handler.
Duration queued_for(const Run& run) { return std::max(run.started() - run.received, Duration::zero()); }

bool has_begun(const Run& run) { return run.started() != Time{}; }

// The engine whose log function runs on this thread.
thread_local const Observations* logging = nullptr;

}  // namespace

template <class Tell>
void Observations::with_observer(const Tell& tell) const noexcept {
  if (!any()) { return; }
  try {
    tell(*observer_);
  } catch (...) { return; }  // NOLINT: the work is done, and its caller could not undo it
}

void Observations::opened(const ObservedApp& app) const noexcept {
  with_observer([&](Observer& observer) { observer.on_open(app); });
}

void Observations::stop_log() noexcept {
  log_stopped_ = true;
  if (logging == this) { return; }  // the log function itself ends the app
  const std::unique_lock lock(log_mutex_);
}

void Observations::log(LogLevel level, std::string_view message, const LogFields& fields) const noexcept {
  if (log_) {
    const Observations* const outer = std::exchange(logging, this);
    try {
      std::shared_lock lock(log_mutex_, std::defer_lock);
      if (outer != this) { lock.lock(); }  // a log function that causes a line holds the lock already
      if (!log_stopped_) { log_(level, message, fields); }
    } catch (...) {  // NOLINT: as in with_observer()
    }
    logging = outer;
  }
  with_observer([&](Observer& observer) { observer.on_log(level, message, fields); });
}

void Observations::called(std::string_view verb, Duration took, bool failed) const noexcept {
  with_observer([&](Observer& observer) { observer.on_store_call({.verb = verb, .took = took, .failed = failed}); });
}

void Observations::make_trace(model::NewExecution& request) const noexcept {
  with_observer([&](Observer& observer) {
    model::Labels& labels = request.labels;
    TraceContext trace{.traceparent = labels.traceparent, .tracestate = labels.tracestate};
    observer.trace_request(request.id, trace);
    request.caller_trace = std::exchange(labels.traceparent, std::move(trace.traceparent));
    labels.tracestate = std::move(trace.tracestate);
  });
}

void Observations::make_trace(Run& run) const noexcept {
  with_observer([&](Observer& observer) {
    const model::Claim& claim = run.claim();
    TraceContext trace{.traceparent = claim.labels.traceparent, .tracestate = claim.labels.tracestate};
    observer.trace_attempt(claim.id, claim.fence, trace);
    run.set_trace(std::move(trace));
  });
}

void Observations::admitted(std::span<const model::NewExecution> requests, std::span<const model::Admission> admissions,
                            std::optional<Duration> took) const noexcept {
  if (requests.empty()) { return; }
  with_observer([&](Observer& observer) {
    std::vector<ObservedAdmission> all;
    all.reserve(requests.size());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      all.push_back({.task = observed(requests[i]),
                     .outcome = static_cast<AdmissionOutcome>(admissions[i].verdict),
                     .execution = admissions[i].id,
                     .caller_trace = requests[i].caller_trace});
    }
    observer.on_admissions({.admissions = all, .took = took});
  });
}

void Observations::claimed(std::span<const RunPtr> runs, Duration took) const noexcept {
  with_observer([&](Observer& observer) {
    std::vector<ObservedTask> tasks;
    tasks.reserve(runs.size());
    for (const RunPtr& run : runs) { tasks.push_back(observed(run->claim())); }
    observer.on_claims({.tasks = tasks, .took = took});
  });
}

void Observations::claimed(std::span<const model::Claim> claims, Duration took) const noexcept {
  with_observer([&](Observer& observer) {
    std::vector<ObservedTask> tasks;
    tasks.reserve(claims.size());
    for (const model::Claim& claim : claims) { tasks.push_back(observed(claim)); }
    observer.on_claims({.tasks = tasks, .took = took});
  });
}

void Observations::begun(const model::Claim& claim, Duration queued) const noexcept {
  with_observer([&](Observer& observer) {
    observer.on_attempt_begun({.task = observed(claim),
                               .attempt = claim.attempt,
                               .fence = claim.fence,
                               .waited = waited_for_claim(claim) + queued});
  });
}

void Observations::begun(const Run& run) const noexcept {
  if (any()) { begun(run.claim(), queued_for(run)); }
}

void Observations::ended(const Settled& settled, model::FinishVerdict verdict) const noexcept {
  // A run that was released before a thread took it was no attempt.
  if (!any() || !has_begun(*settled.run)) { return; }
  with_observer([&](Observer& observer) {
    const Run& run = *settled.run;
    const model::Claim& claim = run.claim();
    const Duration since = std::max(engine_now() - run.started(), Duration::zero());
    // A workflow's turn does not tell how long it ran, and neither does a handler that recorded its own outcome.
    const bool tells = settled.finish && settled.finish->ran_for > Duration::zero();
    const Duration ran_for = tells ? std::min(settled.finish->ran_for, since) : since;
    const bool is_stale = verdict == model::FinishVerdict::stale;
    observer.on_attempt_ended(
        {.task = observed(claim),
         .attempt = claim.attempt,
         .fence = claim.fence,
         .outcome = is_stale         ? AttemptOutcome::stale
                    : settled.finish ? static_cast<AttemptOutcome>(settled.finish->kind)
                                     : AttemptOutcome::completed,
         .waited = waited_for_claim(claim) + queued_for(run),
         .ran_for = ran_for,
         .ended_ago = since - ran_for,
         .error_type = settled.finish && settled.finish->error ? std::string_view(settled.finish->error->type) : ""});
  });
}

void Observations::ended(const model::Claim& claim, const model::Finish& finish,
                         model::FinishVerdict verdict) const noexcept {
  with_observer([&](Observer& observer) {
    observer.on_attempt_ended({.task = observed(claim),
                               .attempt = claim.attempt,
                               .fence = finish.fence,
                               .outcome = verdict == model::FinishVerdict::stale
                                              ? AttemptOutcome::stale
                                              : static_cast<AttemptOutcome>(finish.kind),
                               .waited = claim.claimed_at == Time{} ? Duration::zero() : waited_for_claim(claim),
                               .ran_for = finish.ran_for,
                               .ended_ago = Duration::zero(),
                               .error_type = finish.error ? std::string_view(finish.error->type) : ""});
  });
}

void Observations::recorded(std::size_t outcomes, Duration took) const noexcept {
  if (outcomes == 0) { return; }
  with_observer([&](Observer& observer) { observer.on_outcomes({.outcomes = outcomes, .took = took}); });
}

void Observations::step_ended(const Run& run, std::string_view step, const Ending& ending,
                              Duration ran_for) const noexcept {
  with_observer([&](Observer& observer) {
    const bool failed = ending.kind == Ending::Kind::failed;
    observer.on_step_ended({.task = observed(run.claim()),
                            .fence = run.claim().fence,
                            .step = step,
                            .failed = failed,
                            .error_type = failed ? std::string_view(ending.failure.error.type) : "",
                            .ran_for = ran_for});
  });
}

void Observations::lost(std::span<const RunPtr> runs, bool session) const noexcept {
  with_observer([&](Observer& observer) {
    observer.on_leases_lost({.executions = runs.size(), .session = session});
    for (const RunPtr& run : runs) {
      if (!has_begun(*run)) { continue; }
      const model::Claim& claim = run->claim();
      observer.on_attempt_ended({.task = observed(claim),
                                 .attempt = claim.attempt,
                                 .fence = claim.fence,
                                 .outcome = AttemptOutcome::lost,
                                 .waited = waited_for_claim(claim) + queued_for(*run),
                                 .ran_for = std::max(engine_now() - run->started(), Duration::zero()),
                                 .ended_ago = Duration::zero(),
                                 .error_type = {}});
    }
  });
}

void Observations::swept(const model::SweepReport& report) const noexcept {
  with_observer([&](Observer& observer) {
    observer.on_sweep({.failed = false,
                       .lost_sessions = report.lost_sessions,
                       .requeued = report.requeued,
                       .dead = report.dead,
                       .timed_out = report.timed_out,
                       .expired = report.expired,
                       .bad_rows = report.bad});
  });
}

void Observations::sweep_failed() const noexcept {
  with_observer([&](Observer& observer) { observer.on_sweep({.failed = true}); });
}

}  // namespace hapax::engine
