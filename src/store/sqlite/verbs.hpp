// The verbs of the seam as functions: those that write on a WriteTransaction, those that read on a ReadTransaction.
#pragma once

#include "model/admission.hpp"
#include "store/sqlite/read_transaction.hpp"
#include "store/sqlite/retention.hpp"
#include "store/sqlite/write_transaction.hpp"
#include "store/store.hpp"

#include <optional>
#include <span>
#include <string_view>
#include <vector>

namespace hapax::store::sqlite {

// admit.cpp
[[nodiscard]] Admission admit(WriteTransaction& tx, const NewExecution& item);
// The row of a new execution; false when its id is live already. 1 INSERT.
struct Birth {
  int run = 1;
  Time run_at{};
  std::optional<Time> deadline;
  const BornRunning* running = nullptr;
};
[[nodiscard]] bool insert_live(WriteTransaction& tx, const NewExecution& item, const QueueRow& queue,
                               const Birth& birth);

// identities.cpp
// The unexpired execution that holds an identity. 2 or 3 SELECTs.
[[nodiscard]] std::optional<Holder> find_holder(Connection& db, const base::Digest& identity, Time now);
void hold_identity(WriteTransaction& tx, const base::Digest& identity, const Uuid& execution, int run,
                   const std::optional<base::Digest>& fingerprint);
// A later run has taken over the identity of this finished one.
void mark_superseded(WriteTransaction& tx, const Uuid& id);

// claim.cpp
[[nodiscard]] ClaimReply claim(WriteTransaction& tx, const ClaimRequest& request);
void promote_due(WriteTransaction& tx, const QueueRow& queue);

// finish.cpp
[[nodiscard]] FinishVerdict finish(WriteTransaction& tx, const Finish& finish);

// sessions.cpp
void open_session(WriteTransaction& tx, const NewSession& session);
[[nodiscard]] BeatReply beat(WriteTransaction& tx, const Beat& beat);
void close_session(WriteTransaction& tx, const Uuid& session);
[[nodiscard]] std::vector<Uuid> running_of(Connection& db, const Uuid& session, int limit);
[[nodiscard]] std::vector<Uuid> cancel_requests(ReadTransaction& tx, const Uuid& session);
[[nodiscard]] std::vector<SessionInfo> sessions(ReadTransaction& tx);

// sweep.cpp
[[nodiscard]] SweepReport sweep(WriteTransaction& tx, const SweepRequest& request, RetentionCursor& cursor);

// read.cpp
[[nodiscard]] std::optional<Execution> get(ReadTransaction& tx, const Uuid& id);
[[nodiscard]] std::optional<Outcome> outcome(ReadTransaction& tx, const Uuid& id);
[[nodiscard]] std::vector<Attempt> attempts(ReadTransaction& tx, const Uuid& id);

// list.cpp
[[nodiscard]] std::vector<Execution> list(ReadTransaction& tx, const ListQuery& query);

// act.cpp
[[nodiscard]] CancelResult cancel(WriteTransaction& tx, const Uuid& id, std::string_view reason);
[[nodiscard]] RetryResult retry(WriteTransaction& tx, const RetryRequest& request);
[[nodiscard]] bool discard(WriteTransaction& tx, const Uuid& id);
[[nodiscard]] bool annotate(WriteTransaction& tx, const Uuid& id, std::string_view note);

// queues.cpp
void configure_queue(WriteTransaction& tx, const QueueRef& queue, const QueuePatch& patch);
[[nodiscard]] std::vector<QueueInfo> queues(ReadTransaction& tx, std::string_view ns);
[[nodiscard]] int purge(WriteTransaction& tx, const QueueRef& queue, int limit);
[[nodiscard]] int move(WriteTransaction& tx, const QueueRef& from, const QueueRef& to, int limit);
void count_finished(WriteTransaction& tx, const QueueCount& count);

// journal.cpp
[[nodiscard]] FinishVerdict journal_append(WriteTransaction& tx, const JournalEntry& entry);
[[nodiscard]] std::vector<JournalEntry> journal_read(ReadTransaction& tx, const Uuid& execution);

// sql_prompt.cpp
[[nodiscard]] TextTable run_sql(const std::string& path, std::string_view statement, int max_rows);

// doctor.cpp
[[nodiscard]] std::vector<Finding> doctor(Writer& writer, ReadTransaction& tx);

}  // namespace hapax::store::sqlite
