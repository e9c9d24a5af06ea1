// PostgresStore: the Store on PostgreSQL.
//
// Any thread may call any verb; each call takes one connection of the pool while it runs. The verbs are implemented in
// files named after their topic (admit.cpp, exchange.cpp, sweep.cpp, …) on top of functions that work on one
// connection. A fixed lock order keeps deadlocks rare: rows are locked by id, identities by hash, and background work
// skips locked rows.
#pragma once

#include "store/open.hpp"
#include "store/postgres/change_listener.hpp"
#include "store/postgres/claim.hpp"
#include "store/postgres/finish.hpp"
#include "store/postgres/park.hpp"
#include "store/postgres/pool.hpp"
#include "store/postgres/queue_table.hpp"
#include "store/postgres/result.hpp"
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
  bool has_expired(std::string_view namespace_name, const Uuid& id) override;
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
  std::vector<QueueInfo> queues(std::string_view namespace_name) override;
  int purge(const QueueRef& queue, int limit, const Actor& by) override;
  int move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by) override;

  StoredCatalogue catalogue(std::string_view namespace_name) override;
  TaskEntry declare_task(const TaskEntry& entry) override;
  bool put_task(const TaskEntry& entry, std::string_view actor) override;
  bool remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) override;
  bool put_setting(std::string_view namespace_name, const Setting& setting, std::string_view actor) override;
  std::vector<AuditLine> audit(const AuditQuery& query) override;

  Token add_token(const NewToken& token, const Actor& by) override;
  std::vector<Token> tokens(std::string_view namespace_name) override;
  std::optional<Token> find_token(const base::Digest& hash) override;
  bool has_tokens() override;
  bool revoke_token(std::string_view namespace_name, const Uuid& id, const Actor& by) override;
  void touch_tokens(std::span<const Uuid> ids) override;

  std::vector<FinishVerdict> journal_append(std::span<const JournalEntry> entries) override;
  std::vector<JournalEntry> journal_read(const Uuid& execution) override;
  FinishVerdict relabel(const model::Held& held, const Labels& labels) override;

  std::vector<AdvanceReply> advance(std::span<const Advance> turns) override;
  std::vector<History> histories(std::span<const HistoryRequest> requests) override;
  std::vector<SignalResult> signal(std::span<const Signal> signals, const Actor& by) override;

  std::vector<ActivityReply> change_activities(std::span<const ActivityChange> changes) override;
  std::vector<ActivityState> activities(const ActivityQuery& query) override;
  std::vector<ActivityVersion> activity_versions(std::string_view namespace_name, std::string_view id) override;
  std::int64_t activity_generation(std::string_view namespace_name) override;
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

  // Runs `work(connection)` and repeats it where that is safe: after a deadlock or serialization failure (nothing was
  // kept) and after a lost connection. So `work` must be a read, or a write that has the same effect when it is done
  // twice.
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

  // run() for work that stores no value of a caller's.
  template <class Work>
  auto read(Planning planning, const Work& work) {
    return run(planning, work, Doing::reading);
  }
  template <class Work>
  auto read(const Work& work) {
    return read(Planning::hot, work);
  }

  using Items = std::vector<const NewExecution*>;
  // Marks the queues of items with limit keys. Call it before the items are admitted, with no transaction open.
  void ensure_keyed(Connection& connection, const Items& items);
  // Creates the items' queues and marks those that get limit keys. Call it before the items are admitted, with no
  // transaction open.
  void ensure_queues(Connection& connection, const Items& items);

  // Throws UsageError on a thread that has a lent transaction of this store open, because the call would not be part of
  // it.
  void check_not_lending() const;
  // The store that lends this thread a transaction.
  static thread_local const PostgresStore* lending;

  static constexpr int transient_attempts = 10;
  static constexpr int lost_attempts = 4;

  // Whether to repeat after a refused statement, of which nothing was kept. A deadlock is repeated on the same
  // connections; a read-only error also drops the idle connections, so that the repetition connects anew.
  [[nodiscard]] bool may_repeat(const SqlError& error, int attempt);
  static void back_off(int attempt);
  [[nodiscard]] static std::int64_t steady_seconds();
  // Whether to retry after a lost connection: at most lost_attempts times, and not later than answer_timeout after
  // `begun`. Also drops the idle connections, which are likely lost as well.
  [[nodiscard]] bool may_reconnect(int attempt, std::chrono::steady_clock::time_point begun);
  // A connection on which to read back after a commit whose answer was lost. Tries for Settings::read_back_patience(),
  // as the server may be restarting, then throws CommitUnknown.
  Pool::Lease acquire_to_read_back();

 private:
  std::vector<Admission> admit_once(Connection& connection, const Items& items, Duration patience);
  std::vector<Admission> admit_until_known(const Items& items, Duration patience);
  // `lost_backend` is the server process that may still commit the items. Waits until that process is gone, or throws
  // CommitUnknown.
  std::unordered_map<Uuid, Admission> read_back_until_known(const Items& items, std::optional<int> lost_backend);
  std::vector<Admission> admit_patiently(const Items& items);
  Exchange exchange_together(std::span<const Finish> finishes, const ClaimRequest* claim);
  // Outcomes that are finished by steps (finish_by_steps). With `all`, every outcome with journal entries is finished
  // so. `verdicts` has the verdicts so far, by place in the batch.
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
    std::string transaction;  // the server's transaction id
    Params raised;            // namespace and id of one changed row, and its new revision
    std::vector<ActivityReply> replies;
  };
  std::vector<ActivityReply> change_once(Connection& connection, std::span<const ActivityChange> changes,
                                         std::optional<SentChange>& sent);
  bool was_committed(const SentChange& sent);
  // The special cases that the next batch of outcomes is assumed not to have. For 1 min after a failed assumption the
  // store assumes less.
  [[nodiscard]] FinishBatch::FastPath fast_path() const;
  void leave_fast_path();
  void look_for_waiters();
  // Whether admissions look for holders first. True for 10 s after an admission has met a holder.
  [[nodiscard]] bool expects_holders() const;
  void expect_holders();
  void add_names(Connection& connection, const std::set<std::int32_t>& queues, std::set<QueueRef>& names);
  void claim_more(Connection& connection, const ClaimRequest& claim, const std::vector<QueueRef>& queues,
                  ClaimReply& reply);
  // The claim with `alone` set by what the session holds. None: the session runs an execution that must run alone. 1
  // round trip.
  std::optional<ClaimRequest> with_holdings(const ClaimRequest& claim);
  ClaimWork claim_work(Connection& connection);
  // Requeues parked executions of limit keys that a committed transaction freed. 1 round trip if any key was freed,
  // else none. Never throws: a failure is left to the sweep.
  void unpark(Connection& connection, const FreedKeys& freed);
  void unpark_stranded(Connection& connection);

  const Settings settings_;
  const std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us_;
  Pool pool_;
  std::counting_semaphore<> lone_turns_{2};
  QueueIds queue_ids_;
  LimitedQueues limited_;
  ParkedScanPositions looks_;
  SetAside set_aside_;
  std::atomic<std::int64_t> waiters_until_ = 0;  // steady_seconds()
  std::atomic<std::int64_t> mixed_until_ = 0;
  std::atomic<std::int64_t> holders_expected_until_ = 0;
  // How many guard records in a row were kept for ever, up to lasting_enough. Once there, the next look-up tries the
  // records that are kept for ever first (guards.cpp).
  static constexpr int lasting_enough = 16;
  std::atomic<int> lasting_guards_ = lasting_enough;
  Notifier notifier_;
  Vacuum vacuum_;
};

}  // namespace hapax::store::postgres
