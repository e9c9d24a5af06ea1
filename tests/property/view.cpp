#include "property/view.hpp"

#include "model/effect_key.hpp"

#include <algorithm>

namespace hapax::property {

namespace {

using FiveMinutes = std::chrono::duration<std::int64_t, std::ratio<300>>;

std::string tail(const std::optional<Uuid>& id) { return id ? property::tail(*id) : "-"; }

std::string about(Duration duration) {
  const auto nearest = std::chrono::floor<FiveMinutes>(duration + Duration(FiveMinutes(1)) / 2);
  return std::to_string(nearest.count() * 5) + "m";
}
std::string about(const std::optional<Duration>& duration) { return duration ? about(*duration) : "-"; }

std::string number(int value) { return std::to_string(value); }
std::string number(std::int64_t value) { return std::to_string(value); }
std::string quoted(const std::optional<std::string>& text) { return text ? "'" + *text + "'" : "-"; }
std::string error_text(const std::optional<ErrorInfo>& error) {
  return error ? error->type + "/" + error->message + "/" + error->detail : "-";
}

// The IDs of a set, sorted.
std::string all(std::vector<Uuid> ids) {
  std::sort(ids.begin(), ids.end());
  std::string text;
  for (const Uuid& id : ids) { text += property::tail(id) + ","; }
  return text;
}

std::string name(const QueueRef& queue) { return queue.namespace_name + "." + queue.name; }

std::string key_text(const std::optional<LimitKey>& key) {
  return key ? (key->ordered ? " ordered '" : " limited '") + key->text + "'" : std::string();
}

}  // namespace

std::string tail(const Uuid& id) { return id.to_string().substr(30); }

std::string View::at(Time time) const { return "+" + about(time - opened_); }

std::string View::tell(const Admission& admission) const {
  static constexpr const char* verdicts[] = {"created",          "deduplicated", "already_exists", "already_completed",
                                             "already_finished", "mismatch",     "queue_draining"};
  const std::string verdict = verdicts[static_cast<int>(admission.verdict)];
  if (admission.verdict == AdmissionVerdict::queue_draining) { return verdict; }
  return verdict + " " + property::tail(admission.id) + " " + std::string(to_string(admission.status)) + " run " +
         number(admission.run) + " from " + at(admission.deduplicated_from) + " finished " + at(admission.finished_at) +
         " result " + quoted(admission.result) + " fence " + (admission.fence ? number(*admission.fence) : "-") +
         (admission.expired ? " expired" : "");
}

std::string View::tell(const Claim& claim) const {
  return property::tail(claim.id) + " " + name(claim.queue) + " " + claim.task + " " + claim.input + " attempt " +
         number(claim.attempt) + "/" + number(claim.max_attempts) + " lost " + number(claim.lost) + "/" +
         number(claim.max_lost) + " fence " + number(claim.fence) + " priority " + number(claim.priority) + " run " +
         number(claim.run) + " created " + at(claim.created_at) + " deadline " + at(claim.deadline) + " in " +
         about(claim.deadline_in) + " effect " + model::effect_key(claim) + (claim.identity ? " held" : "") +
         key_text(claim.limit_key) + (claim.limited ? " limited" : "");
}

std::string View::tell(const ClaimReply& reply) const {
  return tell(reply.claims) + (reply.suspects_due ? "suspects due, " : "") + "next due " + about(reply.next_due);
}

std::string View::tell(const Execution& e) const {
  return property::tail(e.id) + " " + std::string(to_string(e.status)) + " " + name(e.queue) + " " + e.task + " " +
         e.input + " -> " + quoted(e.result) + " error " + error_text(e.error) + " priority " + number(e.priority) +
         " run " + number(e.run) + " attempt " + number(e.attempt) + "/" + number(e.max_attempts) + " lost " +
         number(e.lost) + "/" + number(e.max_lost) + " fence " + number(e.fence) + " created " + at(e.created_at) +
         " run_at " + at(e.run_at) + " started " + at(e.started_at) + " finished " + at(e.finished_at) + " expires " +
         at(e.expires_at) + " deadline " + at(e.deadline) + " key '" + e.identity_key + "' effect " + e.effect_key +
         " session " + tail(e.session) + " worker '" + e.worker + "'" + (e.cancel_requested ? " cancelling" : "") +
         " progress " + (e.progress ? std::to_string(*e.progress) : "-") + " '" + e.progress_message + "'" +
         (e.dead ? " dead" : "") + " retried as " + tail(e.retried_as) + " note '" + e.note + "'" +
         key_text(e.limit_key) + " weight " + number(e.weight);
}

std::string View::tell(const Attempt& attempt) const {
  return "  " + number(attempt.number) + " " + attempt.outcome + " by '" + attempt.worker + "' " +
         at(attempt.started_at) + " to " + at(attempt.ended_at) + " error " + error_text(attempt.error);
}

std::string View::tell(const QueueInfo& queue) const {
  return name(queue.queue) + (queue.settings.paused ? " paused" : "") + (queue.settings.draining ? " draining" : "") +
         " retention " + about(queue.settings.retention) + "/" + about(queue.settings.failed_retention) + " ready " +
         number(queue.ready + queue.parked) + " delayed " + number(queue.delayed) + " running " +
         number(queue.running) + " dead " + number(queue.dead) + " oldest " + about(queue.oldest_ready);
}

std::string View::tell(const SessionInfo& session) const {
  return property::tail(session.id) + " '" + session.worker + "' runs " + number(session.running) + " from " +
         at(session.started_at) + " to " + at(session.expires_at);
}

std::string View::tell(const JournalEntry& entry) const {
  return "  " + number(entry.position) + " " + entry.name + " " + entry.data + " fence " + number(entry.fence) + " " +
         at(entry.at);
}

std::string View::tell(FinishVerdict verdict) { return verdict == FinishVerdict::accepted ? "accepted" : "stale"; }

std::string View::tell(const BeatReply& reply) {
  return (reply.session_lost ? "session lost, " : "") + std::string("cancel ") + all(reply.cancel) + " lost " +
         all(reply.lost) + " released " + number(reply.released);
}

std::string View::tell(const SweepReport& report) {
  return "sessions " + number(report.lost_sessions) + " requeued " + number(report.requeued) + " dead " +
         number(report.dead) + " timed out " + number(report.timed_out);
}

std::string View::tell(const CancelResult& result) {
  static constexpr const char* verdicts[] = {"cancelled", "requested", "finished", "not_found"};
  return verdicts[static_cast<int>(result.verdict)] +
         (result.verdict == CancelVerdict::not_found ? "" : " " + std::string(to_string(result.status)));
}

std::string View::tell(const RetryResult& result) {
  static constexpr const char* verdicts[] = {"created",   "not_found",       "not_finished",
                                             "completed", "already_retried", "identity_held"};
  std::string text = verdicts[static_cast<int>(result.verdict)];
  if (result.verdict == RetryVerdict::created || result.verdict == RetryVerdict::identity_held) {
    text += " " + property::tail(result.existing) + " " + std::string(to_string(result.status)) + " run " +
            number(result.run);
  } else if (result.verdict == RetryVerdict::already_retried) {
    text += " " + property::tail(result.existing);
  }
  return text;
}

}  // namespace hapax::property
