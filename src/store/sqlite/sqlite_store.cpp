// The SQLite store: implements Store with the verbs of verbs.hpp. One writer, a few readers, one file.
#include "store/open.hpp"
#include "store/sqlite/change_listener.hpp"
#include "store/sqlite/database_file.hpp"
#include "store/sqlite/lent_transaction.hpp"
#include "store/sqlite/schema.hpp"
#include "store/sqlite/verbs.hpp"

#include <hapax/error.hpp>

#include "base/plain_path.hpp"

#include <filesystem>
#include <mutex>
#include <type_traits>

namespace hapax::store {

namespace {

using sqlite::ReadTransaction;
using sqlite::WriteTransaction;

// Any thread may call any verb; writes run one after the other on the threads that call them. Owns its connections.
// Listeners must not outlive it.
class SqliteStore final : public Store {
 public:
  SqliteStore(const std::string& path, const OpenOptions& options) : writer_(path, options), readers_(writer_) {}

  StoreInfo info() override {
    return {.backend = "sqlite",
            .version = sqlite3_libversion(),
            .location = "sqlite:" + writer_.path(),
            .schema_version = writer_.schema(),
            .capabilities = {.durable = true, .shared = true, .lends_transaction = true, .speaks_sql = true}};
  }

  Time now() override { return writer_.clock().now(); }

  std::vector<Admission> admit(std::span<const NewExecution> items) override {
    WriteTransaction tx(writer_);
    sqlite::check_catalogues(tx, items);
    std::vector<Admission> admissions = sqlite::admit(tx, items);
    tx.commit("sqlite.admit.before_commit", "sqlite.admit.after_commit");
    return admissions;
  }

  Exchange exchange(std::span<const Finish> finishes, const ClaimRequest* claim) override {
    Exchange reply;
    WriteTransaction tx(writer_);
    reply.verdicts = sqlite::finish(tx, finishes);
    if (claim != nullptr) { reply.claim = sqlite::claim(tx, *claim); }
    reply.woken = tx.woken();
    tx.commit("sqlite.exchange.before_commit", "sqlite.exchange.after_commit");
    return reply;
  }

  void warm_up() override {
    try {
      WriteTransaction tx(writer_, WriteTransaction::Begin::if_free);
      static const bool plain = base::takes_plain_path("sqlite-warm-up");
      if (!plain) { sqlite::warm_up(tx); }
      tx.fill_log();
    } catch (const StoreBusy&) {
      return;  // other threads or processes are writing: warming up is not worth their time
    }
  }

  void open_session(const NewSession& session) override {
    WriteTransaction tx(writer_);
    sqlite::open_session(tx, session);
    tx.commit();
  }

  BeatReply beat(const Beat& beat) override {
    WriteTransaction tx(writer_);
    BeatReply reply = sqlite::beat(tx, beat);
    tx.commit(nullptr, "sqlite.beat.after_commit");
    return reply;
  }

  std::vector<Uuid> cancel_requests(const Uuid& session) override {
    ReadTransaction tx(readers_);
    return sqlite::cancel_requests(tx, session);
  }

  void close_session(const Uuid& session) override {
    WriteTransaction tx(writer_);
    sqlite::close_session(tx, session);
    tx.commit();
  }

  std::vector<SessionInfo> sessions() override {
    ReadTransaction tx(readers_);
    return sqlite::sessions(tx);
  }

  SweepReport sweep(const SweepRequest& request) override {
    const std::lock_guard lock(sweep_mutex_);
    WriteTransaction tx(writer_, WriteTransaction::Begin::alone);
    sqlite::RetentionCursor cursor = retention_cursor_;
    SweepReport report = sqlite::sweep(tx, request, cursor, set_aside_);
    tx.commit("sqlite.sweep.before_commit");
    retention_cursor_ = cursor;
    return report;
  }

  std::optional<Execution> get(const Uuid& id) override {
    ReadTransaction tx(readers_);
    return sqlite::get(tx, id);
  }

  std::vector<std::optional<Outcome>> outcomes(std::span<const Uuid> ids) override {
    ReadTransaction tx(readers_);
    return each<std::optional<Outcome>>(tx, ids, sqlite::outcome);
  }

  bool has_expired(std::string_view namespace_name, const Uuid& id) override {
    ReadTransaction tx(readers_);
    return sqlite::has_expired(tx, namespace_name, id);
  }

  std::optional<Holding> holding(const base::Digest& identity) override {
    ReadTransaction tx(readers_);
    return sqlite::find_holding(tx.db(), identity, tx.now());
  }

  std::vector<Execution> list(const ListQuery& query) override {
    ReadTransaction tx(readers_);
    return sqlite::list(tx, query);
  }

  std::vector<Attempt> attempts(const Uuid& id) override {
    ReadTransaction tx(readers_);
    return sqlite::attempts(tx, id);
  }

  std::optional<Guard> guard(const base::Digest& identity) override {
    ReadTransaction tx(readers_);
    return sqlite::guard(tx, identity);
  }

  std::optional<Guard> guard_outcome(const base::Digest& identity) override {
    std::optional<Guard> found;
    const bool is_known = [&] {
      sqlite::SingleRead read(readers_);
      return sqlite::find_outcome(read, guard_hints_, identity, found);
    }();
    if (!is_known) { found = guard(identity); }
    return found;
  }

  int forget_guards(std::span<const Uuid> ids) override { return write_count(ids, sqlite::forget_guard); }

  std::vector<CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason, const Actor& by) override {
    return write_each<CancelResult>(
        ids, [&](WriteTransaction& tx, const Uuid& id) { return sqlite::cancel(tx, id, reason, by); });
  }

  std::vector<RetryResult> retry(std::span<const RetryRequest> requests, const Actor& by) override {
    return write_each<RetryResult>(
        requests, [&](WriteTransaction& tx, const RetryRequest& request) { return sqlite::retry(tx, request, by); });
  }

  int discard(std::span<const Uuid> ids, const Actor& by) override {
    return write_count(ids, [&](WriteTransaction& tx, const Uuid& id) { return sqlite::discard(tx, id, by); });
  }

  int annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by) override {
    return write_count(ids, [&](WriteTransaction& tx, const Uuid& id) { return sqlite::annotate(tx, id, note, by); });
  }

  void configure_queue(const QueueRef& queue, const QueuePatch& patch) override {
    WriteTransaction tx(writer_);
    sqlite::configure_queue(tx, queue, patch);
    tx.commit();
  }

  std::vector<QueueInfo> queues(std::string_view namespace_name) override {
    ReadTransaction tx(readers_);
    return sqlite::queues(tx, namespace_name);
  }

  int purge(const QueueRef& queue, int limit, const Actor& by) override {
    return write([&](WriteTransaction& tx) { return sqlite::purge(tx, queue, limit, by); });
  }

  int move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by) override {
    return write([&](WriteTransaction& tx) { return sqlite::move(tx, from, to, limit, by); });
  }

  StoredCatalogue catalogue(std::string_view namespace_name) override {
    ReadTransaction tx(readers_);
    return sqlite::catalogue(tx, namespace_name);
  }

  TaskEntry declare_task(const TaskEntry& entry) override {
    return write([&](WriteTransaction& tx) { return sqlite::declare_task(tx, entry); });
  }

  bool put_task(const TaskEntry& entry, std::string_view actor) override {
    return write([&](WriteTransaction& tx) { return sqlite::put_task(tx, entry, actor); });
  }

  bool remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) override {
    return write([&](WriteTransaction& tx) { return sqlite::remove_task(tx, namespace_name, name, actor); });
  }

  bool put_setting(std::string_view namespace_name, const Setting& setting, std::string_view actor) override {
    return write([&](WriteTransaction& tx) { return sqlite::put_setting(tx, namespace_name, setting, actor); });
  }

  std::vector<AuditLine> audit(const AuditQuery& query) override {
    ReadTransaction tx(readers_);
    return sqlite::audit(tx, query);
  }

  Token add_token(const NewToken& token, const Actor& by) override {
    return write([&](WriteTransaction& tx) { return sqlite::add_token(tx, token, by); });
  }

  std::vector<Token> tokens(std::string_view namespace_name) override {
    ReadTransaction tx(readers_);
    return sqlite::tokens(tx, namespace_name);
  }

  std::optional<Token> find_token(const base::Digest& hash) override {
    ReadTransaction tx(readers_);
    return sqlite::find_token(tx, hash);
  }

  bool has_tokens() override {
    ReadTransaction tx(readers_);
    return sqlite::has_tokens(tx);
  }

  bool revoke_token(std::string_view namespace_name, const Uuid& id, const Actor& by) override {
    return write([&](WriteTransaction& tx) { return sqlite::revoke_token(tx, namespace_name, id, by); });
  }

  void touch_tokens(std::span<const Uuid> ids) override { static_cast<void>(write_count(ids, sqlite::touch_token)); }

  std::vector<FinishVerdict> journal_append(std::span<const JournalEntry> entries) override {
    return write_each<FinishVerdict>(entries, sqlite::journal_append);
  }

  std::vector<JournalEntry> journal_read(const Uuid& execution) override {
    ReadTransaction tx(readers_);
    return sqlite::journal_read(tx, execution);
  }

  FinishVerdict relabel(const Held& held, const Labels& labels) override {
    WriteTransaction tx(writer_);
    const FinishVerdict verdict = sqlite::relabel(tx, held, labels);
    tx.commit();
    return verdict;
  }

  std::vector<AdvanceReply> advance(std::span<const Advance> turns) override {
    WriteTransaction tx(writer_);
    auto replies = sqlite::advance(tx, turns);
    tx.commit("sqlite.advance.before_commit", "sqlite.advance.after_commit");
    return replies;
  }

  std::vector<History> histories(std::span<const HistoryRequest> requests) override {
    ReadTransaction tx(readers_);
    return each<History>(tx, requests, sqlite::history);
  }

  std::vector<SignalResult> signal(std::span<const Signal> signals, const Actor& by) override {
    return write_each<SignalResult>(
        signals, [&](WriteTransaction& tx, const Signal& signal) { return sqlite::signal(tx, signal, by); });
  }

  std::vector<ActivityReply> change_activities(std::span<const ActivityChange> changes) override {
    WriteTransaction tx(writer_);
    auto replies = each<ActivityReply>(tx, changes, sqlite::change_activity);
    tx.commit("sqlite.activities.before_commit", "sqlite.activities.after_commit");
    return replies;
  }

  std::vector<ActivityState> activities(const ActivityQuery& query) override {
    ReadTransaction tx(readers_);
    return sqlite::activities(tx, query);
  }

  std::vector<ActivityVersion> activity_versions(std::string_view namespace_name, std::string_view id) override {
    ReadTransaction tx(readers_);
    return sqlite::activity_versions(tx, namespace_name, id);
  }

  std::int64_t activity_generation(std::string_view namespace_name) override {
    ReadTransaction tx(readers_);
    return sqlite::activity_generation(tx, namespace_name);
  }

  DueActivities due_activities(int limit) override {
    ReadTransaction tx(readers_);
    return sqlite::due_activities(tx, limit);
  }

  void transaction(const std::function<void(Transaction&)>& fn) override { sqlite::lend_transaction(writer_, fn); }

  std::unique_ptr<Transaction> attach(void* /*connection*/) override {
    throw Unsupported("a SQLite store cannot work on a caller's own connection; use app.transaction");
  }

  std::unique_ptr<Listener> listen() override { return std::make_unique<sqlite::ChangeListener>(writer_); }

  // Nothing to do: other processes see every commit by the database's data version.
  void announce(std::span<const QueueRef> /*queues*/) override {}

  TextTable sql(std::string_view statement, int max_rows) override {
    writer_.check_process();
    return sqlite::run_sql(writer_.path(), statement, max_rows);
  }

  std::vector<Finding> doctor() override {
    ReadTransaction tx(readers_);
    return sqlite::doctor(writer_, tx);
  }

 private:
  template <class Answer, class Tx, class Item, class Verb>
  static std::vector<Answer> each(Tx& tx, std::span<const Item> items, Verb verb) {
    std::vector<Answer> answers;
    answers.reserve(items.size());
    for (const Item& item : items) { answers.push_back(verb(tx, item)); }
    return answers;
  }

  template <class Verb>
  std::invoke_result_t<Verb, WriteTransaction&> write(Verb verb) {
    WriteTransaction tx(writer_);
    auto answer = verb(tx);
    tx.commit();
    return answer;
  }

  template <class Answer, class Item, class Verb>
  std::vector<Answer> write_each(std::span<const Item> items, Verb verb) {
    WriteTransaction tx(writer_);
    std::vector<Answer> answers = each<Answer>(tx, items, verb);
    tx.commit();
    return answers;
  }

  template <class Item, class Verb>
  int write_count(std::span<const Item> items, Verb verb) {
    int count = 0;
    for (const bool done : write_each<bool>(items, verb)) { count += done ? 1 : 0; }
    return count;
  }

  sqlite::Writer writer_;
  sqlite::ReaderPool readers_;
  sqlite::GuardHints guard_hints_;
  SetAside set_aside_;
  std::mutex sweep_mutex_;
  sqlite::RetentionCursor retention_cursor_;  // guarded by sweep_mutex_
};

}  // namespace

std::unique_ptr<Store> open_sqlite(const std::string& path, const OpenOptions& options) {
  return std::make_unique<SqliteStore>(path, options);
}

MigrationReport migrate_sqlite(const std::string& path, int to_version) {
  return sqlite::migrate_file(path, to_version);
}

SchemaStatus schema_status_sqlite(const std::string& path) {
  SchemaStatus status{.current = 0, .newest = sqlite::newest_schema};
  std::error_code error;
  if (std::filesystem::exists(path, error)) {
    sqlite::Connection db(path, sqlite::Connection::Mode::reader, OpenOptions{}.busy_timeout);
    status.current = sqlite::schema_version(db);
  }
  return status;
}

}  // namespace hapax::store
