#include "base/limits.hpp"
#include "base/text.hpp"
#include "store/memory/verbs.hpp"

#include <set>

namespace hapax::store::memory {

namespace {

bool is_held_by(const Record* record, const Uuid& session) {
  return record != nullptr && record->execution.session == session;
}

// Releases executions whose claim reply was lost: the session does not hold them, although their claim was answered or
// given up.
int release_unknown(State& state, Session& session, const Beat& beat, Time now) {
  std::set<std::pair<Uuid, std::int64_t>> held;
  for (const Held& one : beat.held) { held.emplace(one.id, one.fence); }
  std::vector<Record*> unknown;
  for (const auto& [id, record] : session.running) {
    if (record->claim_number <= beat.settled_claim_number && !held.contains({id, record->execution.fence})) {
      unknown.push_back(record);
    }
  }
  for (Record* const record : unknown) {
    record->execution.kind == Kind::guard ? state.abandon(*record) : state.release(*record, now);
  }
  return static_cast<int>(unknown.size());
}

}  // namespace

void open_session(State& state, const NewSession& session, Time now) {
  const auto [at, is_new] = state.sessions.try_emplace(session.id);
  at->second.opened = session;
  at->second.expires_at = now + session.lease;
  if (!is_new) { return; }
  at->second.started_at = now;
  // A session that is opened again gets back the guards that ran under it when it was lost, unless a caller has taken
  // them over.
  const auto left = state.guards_without_session.find(session.id);
  if (left == state.guards_without_session.end()) { return; }
  at->second.running = std::move(left->second);
  state.guards_without_session.erase(left);
  for (const auto& [id, record] : at->second.running) { record->execution.worker = session.worker; }
}

BeatReply beat(State& state, const Beat& beat, Time now) {
  BeatReply reply;
  const auto found = state.sessions.find(beat.session);
  if (found == state.sessions.end()) {
    reply.session_lost = true;
    return reply;
  }
  Session& session = found->second;
  if (beat.lease > Duration{0}) { session.opened.lease = beat.lease; }
  session.expires_at = now + session.opened.lease;
  for (const Progress& progress : beat.progress) {
    Record* const record = state.find_running(progress.id, progress.fence);
    if (is_held_by(record, beat.session)) {
      record->execution.progress = progress.fraction;
      record->execution.progress_message =
          base::keep_head(base::escape_invalid(progress.message), limits::progress_message_bytes);
    }
  }
  reply.released = release_unknown(state, session, beat, now);
  for (const Held& held : beat.held) {
    const Record* const record = state.find_running(held.id, held.fence);
    if (!is_held_by(record, beat.session)) {
      reply.lost.push_back(held.id);
    } else if (record->execution.cancel_requested) {
      reply.cancel.push_back(held.id);
    }
  }
  for (const QueueCount& count : beat.counts) { count_finished(state, count, now); }
  return reply;
}

std::vector<Uuid> cancel_requests(const State& state, const Uuid& session) {
  std::vector<Uuid> asked;
  const auto found = state.sessions.find(session);
  if (found == state.sessions.end()) { return asked; }
  for (const auto& [id, record] : found->second.running) {
    if (record->execution.cancel_requested) { asked.push_back(id); }
  }
  return asked;
}

void close_session(State& state, const Uuid& session, Time now) {
  const auto found = state.sessions.find(session);
  if (found == state.sessions.end()) { return; }
  for (Record* const record : claimed_by(found->second)) { state.release(*record, now); }
  state.end_session(found);
}

std::vector<Record*> claimed_by(const Session& session) {
  std::vector<Record*> records;
  for (const auto& [id, record] : session.running) {
    if (record->execution.kind != Kind::guard) { records.push_back(record); }
  }
  return records;
}

std::vector<SessionInfo> sessions(const State& state) {
  std::vector<SessionInfo> infos;
  for (const auto& [id, session] : state.sessions) {
    SessionInfo info;
    static_cast<NewSession&>(info) = session.opened;
    info.started_at = session.started_at;
    info.expires_at = session.expires_at;
    info.running = static_cast<int>(session.running.size());
    infos.push_back(std::move(info));
  }
  return infos;
}

}  // namespace hapax::store::memory
