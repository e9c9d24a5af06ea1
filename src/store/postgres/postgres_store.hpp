// PostgresStore: the Store on PostgreSQL.
//
// Any thread may call any verb; each takes a connection of the pool for as long as it runs. The verbs are written in
// the files of their topics (admit.cpp, exchange.cpp, sweep.cpp, …) on top of functions that work on one connection.
// Deadlocks are kept rare by order: rows are locked by id, identities by hash, and background work skips what is
// locked.
#pragma once

#include "store/open.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/limited_claim.hpp"
#include "store/postgres/notifier.hpp"
#include "store/postgres/parking.hpp"
#include "store/postgres/pool.hpp"
#include "store/postgres/queue_ids.hpp"
#include "store/postgres/sql_error.hpp"
#include "store/postgres/vacuum.hpp"
#include "store/set_aside.hpp"

#include <cstddef>
#include <map>
#include <semaphore>
#include <set>

namespace hapax::store::postgres {

class PostgresStore final : public Store {
 public:
  PostgresStore(Settings settings, const OpenOptions& options);

  StoreInfo info() override;
  Time now() override;

  std::vector<Admission> admit(std::span<const NewExecution> items) override;
  std::vector<Admission> try_admit(std::span<const NewExecution> items) override;
  Exchange exchange(std::span<const Finish> finishes, const ClaimRequest* claim) override;

  void open_session(const NewSession& session) override;
  BeatReply beat(const Beat& beat) override;
  std::vector<Uuid> cancel_requests(const Uuid& session) override;
  void close_session(const Uuid& session) override;
  std::vector<SessionInfo> sessions() override;

  SweepReport sweep(const SweepRequest& request) override;

  std::optional<Execution> get(const Uuid& id) override;
  std::vector<std::optional<Outcome>> outcomes(std::span<const Uuid> ids) override;
  bool has_expired(std::string_view ns, const Uuid& id) override;
  std::optional<Holding> holding(const base::Digest& identity) override;
  std::vector<Execution> list(const ListQuery& query) override;
  std::vector<Attempt> attempts(const Uuid& id) override;

  std::optional<Guard> guard(const base::Digest& identity) override;
  int forget_guards(std::span<const Uuid> ids) override;

  std::vector<CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason, const Actor& by) override;
  std::vector<RetryResult> retry(std::span<const RetryRequest> requests, const Actor& by) override;
  int discard(std::span<const Uuid> ids, const Actor& by) override;
  int annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by) override;

  void configure_queue(const QueueRef& queue, const QueuePatch& patch) override;
  std::vector<QueueInfo> queues(std::string_view ns) override;
  int purge(const QueueRef& queue, int limit, const Actor& by) override;
  int move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by) override;

  StoredCatalogue catalogue(std::string_view ns) override;
  TaskEntry declare_task(const TaskEntry& entry) override;
  bool put_task(const TaskEntry& entry, std::string_view actor) override;
  bool remove_task(std::string_view ns, std::string_view name, std::string_view actor) override;
  bool put_setting(std::string_view ns, const Setting& setting, std::string_view actor) override;
  std::vector<AuditLine> audit(const AuditQuery& query) override;

  Token add_token(const NewToken& token, const Actor& by) override;
  std::vector<Token> tokens(std::string_view ns) override;
  std::optional<Token> find_token(const base::Digest& hash) override;
  bool has_tokens() override;
  bool revoke_token(std::string_view ns, const Uuid& id, const Actor& by) override;
  void touch_tokens(std::span<const Uuid> ids) override;

  std::vector<FinishVerdict> journal_append(std::span<const JournalEntry> entries) override;
  std::vector<JournalEntry> journal_read(const Uuid& execution) override;
  FinishVerdict relabel(const model::Held& held, const Labels& labels) override;

  std::vector<AdvanceReply> advance(std::span<const Advance> turns) override;
  std::vector<History> histories(std::span<const HistoryRequest> requests) override;
  std::vector<SignalResult> signal(std::span<const Signal> signals, const Actor& by) override;

  std::vector<ActivityReply> change_activities(std::span<const ActivityChange> changes) override;
  std::vector<ActivityState> activities(const ActivityQuery& query) override;
  std::vector<ActivityVersion> activity_versions(std::string_view ns, std::string_view id) override;
  std::int64_t activity_generation(std::string_view ns) override;
  DueActivities due_activities(int limit) override;

  void transaction(const std::function<void(Transaction&)>& fn) override;
  std::unique_ptr<Transaction> attach(void* connection) override;

  std::unique_ptr<Listener> listen() override;
  void announce(std::span<const QueueRef> queues) override;

  TextTable sql(std::string_view statement, int max_rows) override;
  std::vector<Finding> doctor() override;

  // ---- For the verbs' own files ------------------------------------------------------------------------------------
  [[nodiscard]] std::int64_t offset_us() const { return clock_offset_us_ ? clock_offset_us_->load() : 0; }
  [[nodiscard]] QueueIds& queue_ids() { return queue_ids_; }
  [[nodiscard]] LimitedQueues& limited() { return limited_; }
  [[nodiscard]] const Settings& settings() const { return settings_; }
  [[nodiscard]] Pool& pool() { return pool_; }

  // Runs `work(connection)` and, as far as that is safe, again: after a deadlock or serialization failure (nothing was
  // kept) and after a lost connection. So `work` is a read, or a write that means the same when it is done twice.
  template <class Work>
  auto run(Planning planning, const Work& work, Doing doing = Doing::storing) {
    const auto begun = std::chrono::steady_clock::now();
    for (int attempt = 1;; ++attempt) {
      try {
        const Pool::Lease lease = pool_.acquire(planning);
        return work(*lease);
      } catch (const SqlError& error) {
        if (!may_repeat(error, attempt)) { throw_mapped(error, settings_.location, doing); }
      } catch (const ConnectionBroken& broken) {
        if (!may_reconnect(attempt, begun)) { throw StoreUnavailable(settings_.location + ": " + broken.what()); }
      }
      back_off(attempt);
    }
  }

  template <class Work>
  auto run(const Work& work) {
    return run(Planning::hot, work);
  }

  // The same for what stores nothing that a caller sent.
  template <class Work>
  auto read(Planning planning, const Work& work) {
    return run(planning, work, Doing::reading);
  }
  template <class Work>
  auto read(const Work& work) {
    return read(Planning::hot, work);
  }

  using Items = std::vector<const NewExecution*>;
  // Before items with limit keys are admitted; on a connection with no transaction open.
  void ensure_keyed(Connection& connection, const Items& items);
  // Queues and keys, before items are admitted in a transaction.
  void ensure_queues(Connection& connection, const Items& items);

  // Throws UsageError on a thread that has a transaction of this store lent: what it does would not be part of it.
  void check_not_lending() const;

  static constexpr int transient_attempts = 10;
  static constexpr int lost_attempts = 4;

  // Whether the same again may work after a refused statement, of which nothing was kept: at once after a deadlock, on new
  // connections (the idle ones are dropped) after one that may not write.
  [[nodiscard]] bool may_repeat(const SqlError& error, int attempt);
  static void back_off(int attempt);
  [[nodiscard]] static std::int64_t steady_seconds();
  // Whether to try once more after a lost connection: not too often, and no longer than answer_timeout after `begun`. The
  // idle connections are dropped, as they are likely lost as well.
  [[nodiscard]] bool may_reconnect(int attempt, std::chrono::steady_clock::time_point begun);
  // A connection to read back on after a commit whose answer was lost. Tries for the connect timeout, as the server may
  // be restarting, then throws CommitUnknown.
  Pool::Lease acquire_to_read_back();

 private:
  std::vector<Admission> admit_once(Connection& connection, const Items& items, Duration patience);
  std::vector<Admission> admit_until_known(const Items& items, Duration patience);
  // `lost_backend`: the server process that may still commit them; waits until it is gone, or throws CommitUnknown.
  std::unordered_map<Uuid, Admission> read_back_until_known(const Items& items, std::optional<int> lost_backend);
  std::vector<Admission> admit_patiently(const Items& items);
  Exchange exchange_together(std::span<const Finish> finishes, const ClaimRequest* claim);
  // Outcomes that go step by step; with `all`, each with entries does. What became of those that have gone, by their places.
  struct Stepped {
    bool all = false;
    std::map<std::size_t, FinishVerdict> verdicts;
    std::set<QueueRef> woken;
  };
  Exchange exchange_once(Connection& connection, std::span<const Finish> finishes, const ClaimRequest* claim,
                         Stepped& stepped, bool& maybe_committed);
  Exchange exchange_plain(Connection& connection, std::span<const Finish> finishes, const ClaimRequest* claim,
                          bool& maybe_committed);
  std::vector<FinishVerdict> finish_by_steps(Connection& connection, std::span<const Finish> finishes,
                                             std::set<QueueRef>& woken);
  std::vector<AdvanceReply> advance_by_steps(Connection& connection, std::span<const Advance> turns, bool again);
  // Changes of activities whose commit was sent.
  struct SentChange {
    std::string transaction;  // the server's number for it
    Params raised;            // a row that it changed, and the revision it then has
    std::vector<ActivityReply> replies;
  };
  std::vector<ActivityReply> change_once(Connection& connection, std::span<const ActivityChange> changes,
                                         std::optional<SentChange>& sent);
  bool was_committed(const SentChange& sent);
  // What is hoped for of outcomes, which decides the statement they are sent with: less, for a while, after it was in vain.
  [[nodiscard]] FinishBatch::Hope hope() const;
  void hope_less_for_a_while();
  void tell_for_a_while();
  // Whether admissions ask about holders at once: for a while after one was met.
  [[nodiscard]] bool is_meeting() const;
  void meet_for_a_while();
  void add_names(Connection& connection, const std::set<std::int32_t>& queues, std::set<QueueRef>& names);
  void claim_passed_over(Connection& connection, const ClaimRequest& claim, const std::vector<QueueRef>& queues,
                         ClaimReply& reply);
  // The claim with `alone` as the session's holdings have it; none: it runs one that has to run alone.
  std::optional<ClaimRequest> with_holdings(const ClaimRequest& claim);
  ClaimWork claim_work(Connection& connection);
  // Committed already: limit keys were freed. 1 round trip if any was, none otherwise. Never throws: what can't be done
  // is left to the sweep.
  void unpark(Connection& connection, const FreedKeys& freed);
  void unpark_stranded(Connection& connection);

  const Settings settings_;
  const std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us_;
  Pool pool_;
  std::counting_semaphore<> lone_turns_{2};
  QueueIds queue_ids_;
  LimitedQueues limited_;
  LookPositions looks_;
  SetAside set_aside_;
  std::atomic<std::int64_t> telling_until_ = 0;  // steady_seconds()
  std::atomic<std::int64_t> mixed_until_ = 0;
  std::atomic<std::int64_t> meeting_until_ = 0;
  // Guards' records that were kept for ever, as far as they followed each other: after enough of them the next is looked
  // for among such first.
  static constexpr int lasting_enough = 16;
  std::atomic<int> lasting_guards_ = lasting_enough;
  Notifier notifier_;
  Vacuum vacuum_;
};

}  // namespace hapax::store::postgres
