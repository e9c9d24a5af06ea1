// The verbs of store.hpp as functions on the memory store's state. The caller holds the store's mutex.
#pragma once

#include "store/memory/state.hpp"

#include <span>
#include <string_view>
#include <vector>

namespace hapax::store::memory {

// admit.cpp
[[nodiscard]] Record make_record(const NewExecution& item, int run, Time now);
[[nodiscard]] Admission admit(State& state, const NewExecution& item, Time now);

// claim.cpp
[[nodiscard]] ClaimReply claim(State& state, const ClaimRequest& request, Time now);

// finish.cpp
[[nodiscard]] FinishVerdict finish(State& state, const Finish& finish, Time now);

// sessions.cpp
void open_session(State& state, const NewSession& session, Time now);
[[nodiscard]] BeatReply beat(State& state, const Beat& beat, Time now);
[[nodiscard]] std::vector<Uuid> cancel_requests(const State& state, const Uuid& session);
void close_session(State& state, const Uuid& session, Time now);
[[nodiscard]] std::vector<SessionInfo> sessions(const State& state);
// The executions that become pending again when the session is closed or lost: all that it runs except guards.
[[nodiscard]] std::vector<Record*> claimed_by(const Session& session);

// sweep.cpp
[[nodiscard]] SweepReport sweep(State& state, const SweepRequest& request, Time now);

// retention.cpp
void sweep_expired(State& state, int limit, SweepReport& report, Time now);

// read.cpp
[[nodiscard]] std::optional<Outcome> outcome(State& state, const Uuid& id, Time now);
[[nodiscard]] bool has_expired(const State& state, std::string_view namespace_name, const Uuid& id, Time now);
[[nodiscard]] std::vector<Execution> list(const State& state, const ListQuery& query, Time now);
[[nodiscard]] std::vector<Attempt> attempts(State& state, const Uuid& id, Time now);

// guards.cpp
[[nodiscard]] std::optional<Guard> guard(State& state, const base::Digest& identity, Time now);
[[nodiscard]] bool forget_guard(State& state, const Uuid& id, Time now);

// cancel_retry.cpp
struct CancelCause {
  std::string_view reason;
  const Actor& by;
};
[[nodiscard]] CancelResult cancel(State& state, const Uuid& id, const CancelCause& cause, Time now);
// Called when the store has ended a workflow: cancels its child workflows, except those that outlive their parent.
void close_children(State& state, const Execution& parent, Time now);
[[nodiscard]] RetryResult retry(State& state, const RetryRequest& request, const Actor& by, Time now);
[[nodiscard]] bool discard(State& state, const Uuid& id, const Actor& by, Time now);
struct Annotation {
  std::string_view note;
  const Actor& by;
};
[[nodiscard]] bool annotate(State& state, const Uuid& id, const Annotation& annotation, Time now);

// queues.cpp
void configure_queue(State& state, const QueueRef& queue, const QueuePatch& patch, Time now);
[[nodiscard]] std::vector<QueueInfo> queues(State& state, std::string_view namespace_name, Time now);
[[nodiscard]] int purge(State& state, const QueueRef& queue, int limit, Time now);
[[nodiscard]] int move(State& state, const QueueRef& from, const QueueRef& to, int limit, Time now);
void count_finished(State& state, const QueueCount& count, Time now);

// catalogue.cpp
// Throws CatalogueChanged when an item was made by an older catalogue.
void check_catalogues(const State& state, std::span<const NewExecution> items);
[[nodiscard]] StoredCatalogue catalogue(const State& state, std::string_view namespace_name);
[[nodiscard]] TaskEntry declare_task(State& state, const TaskEntry& entry, Time now);
[[nodiscard]] bool put_task(State& state, const TaskEntry& entry, std::string_view actor, Time now);
[[nodiscard]] bool remove_task(State& state, std::string_view namespace_name, std::string_view name,
                               std::string_view actor, Time now);
[[nodiscard]] bool put_setting(State& state, std::string_view namespace_name, const Setting& setting,
                               std::string_view actor, Time now);

// audit.cpp
[[nodiscard]] std::vector<AuditLine> audit(const State& state, const AuditQuery& query);
// Deletes lines that are older than limits::audit_kept.
void sweep_audit(State& state, Time now);

// tokens.cpp
[[nodiscard]] Token add_token(State& state, const NewToken& token, const Actor& by, Time now);
[[nodiscard]] std::vector<Token> tokens(const State& state, std::string_view namespace_name);
[[nodiscard]] std::optional<Token> find_token(const State& state, const base::Digest& hash);
[[nodiscard]] bool revoke_token(State& state, std::string_view namespace_name, const Uuid& id, const Actor& by,
                                Time now);
void touch_tokens(State& state, std::span<const Uuid> ids, Time now);

// activities.cpp
[[nodiscard]] ActivityReply change_activity(State& state, const ActivityChange& change, Time now);
[[nodiscard]] std::vector<ActivityState> activities(const State& state, const ActivityQuery& query);
[[nodiscard]] std::vector<ActivityVersion> activity_versions(const State& state, std::string_view namespace_name,
                                                             std::string_view id);
[[nodiscard]] DueActivities due_activities(State& state, int limit, Time now);

// turn.cpp Appends the entries and admits the executions that they start. Returns false, and does nothing, when a
// position is taken.
[[nodiscard]] bool append_turn(State& state, Record& record, const std::vector<JournalEntry>& entries, Time now);
[[nodiscard]] AdvanceReply advance(State& state, const Advance& turn, Time now);
void seed_journal(Record& record, const Seed& seed, Time now);
// Makes the next run of a workflow that continues.
void continue_run(State& state, Record& record, const Turn& turn, Time now);

// events.cpp
// Appends an event to the execution's own, and wakes nothing.
void add_event(Record& record, Event event, Time now);

// signals.cpp
[[nodiscard]] SignalResult signal(State& state, const Signal& signal, const Actor& by, Time now);
// Sends the signals that the turn leaves for the next run, and gives that run all signal keys.
void carry_signals(State& state, const Record& from, Record& to, const Turn& turn, Time now);

// journal.cpp
[[nodiscard]] FinishVerdict journal_append(State& state, const JournalEntry& entry, Time now);
[[nodiscard]] std::vector<JournalEntry> journal_read(State& state, const Uuid& execution, Time now);
[[nodiscard]] History history(State& state, const HistoryRequest& request, Time now);
[[nodiscard]] FinishVerdict relabel(State& state, const Held& held, const Labels& labels);

}  // namespace hapax::store::memory
