// The encrypting store: wraps any store, encrypts payloads on the way in and decrypts them on the way out.
#include <hapax/error.hpp>

#include "model/unreadable.hpp"
#include "store/encrypted/cipher.hpp"
#include "store/open.hpp"

#include <utility>

namespace hapax::store {

namespace {

using encrypted::Cipher;

// How long a claim whose input cannot be decrypted is snoozed, so that a worker with the right keys may claim it.
constexpr Duration unreadable_for = std::chrono::minutes(5);
// How many of an activity's newest runs are searched for the run whose result is asked for.
constexpr std::size_t runs_searched_max = 1000;

class EncryptedTransaction final : public Transaction {
 public:
  EncryptedTransaction(Transaction& inner, const Cipher& cipher) : inner_(inner), cipher_(cipher) {}
  EncryptedTransaction(std::unique_ptr<Transaction> inner, const Cipher& cipher)
      : owned_(std::move(inner)), inner_(*owned_), cipher_(cipher) {}

  std::vector<Admission> admit(std::span<const NewExecution> items) override {
    return cipher_.opened(inner_.admit(cipher_.sealed(items)));
  }
  void finish(const Finish& finish) override { inner_.finish(cipher_.sealed(finish)); }
  void advance(const Advance& turn) override { inner_.advance(cipher_.sealed(turn)); }
  void* native() override { return inner_.native(); }

 private:
  std::unique_ptr<Transaction> owned_;  // only of an attached transaction
  Transaction& inner_;
  const Cipher& cipher_;
};

// Any thread may call, as of the inner store, which this store owns. Transactions must not outlive this store. A
// payload that cannot be decrypted throws DecryptionFailed where one value is asked for (outcomes of one id, holding,
// guard, attempts, journal). In a list or batch such a payload is marked instead, so that the rest is answered:
// executions, admissions, outcomes of several ids, histories, due activities. A claim whose input cannot be decrypted
// is snoozed for unreadable_for, so that a worker with old keys neither runs nor holds it; the other claims are
// returned.
class EncryptedStore final : public Store {
 public:
  EncryptedStore(std::unique_ptr<Store> inner, encrypted::KeyRing keys)
      : inner_(std::move(inner)), cipher_(std::move(keys)) {}

  StoreInfo info() override { return inner_->info(); }
  Time now() override { return inner_->now(); }

  void warm_up() override { inner_->warm_up(); }

  std::vector<Admission> admit(std::span<const NewExecution> items) override {
    return cipher_.opened(inner_->admit(cipher_.sealed(items)));
  }
  std::vector<Admission> try_admit(std::span<const NewExecution> items) override {
    return cipher_.opened(inner_->try_admit(cipher_.sealed(items)));
  }
  Exchange exchange(std::span<const Finish> finishes, const ClaimRequest* claim) override {
    Exchange reply = inner_->exchange(cipher_.sealed(finishes), claim);
    put_back_unreadable(reply.claim.claims);
    return reply;
  }

  void open_session(const NewSession& session) override { inner_->open_session(session); }
  BeatReply beat(const Beat& beat) override { return inner_->beat(beat); }
  std::vector<Uuid> cancel_requests(const Uuid& session) override { return inner_->cancel_requests(session); }
  void close_session(const Uuid& session) override { inner_->close_session(session); }
  std::vector<SessionInfo> sessions() override { return inner_->sessions(); }
  SweepReport sweep(const SweepRequest& request) override { return inner_->sweep(request); }

  std::optional<Execution> get(const Uuid& id) override {
    std::optional<Execution> found = inner_->get(id);
    if (found) { open_or_mark(*found); }
    return found;
  }
  std::vector<std::optional<Outcome>> outcomes(std::span<const Uuid> ids) override {
    std::vector<std::optional<Outcome>> all = inner_->outcomes(ids);
    for (std::optional<Outcome>& one : all) {
      if (!one) { continue; }
      // In a batch an unreadable outcome counts as expired, so that callers who wait for the rest are answered.
      try {
        cipher_.open(*one);
      } catch (const DecryptionFailed&) {
        if (ids.size() == 1) { throw; }
        one.reset();
      }
    }
    return all;
  }
  bool has_expired(std::string_view namespace_name, const Uuid& id) override {
    return inner_->has_expired(namespace_name, id);
  }
  std::optional<Holding> holding(const base::Digest& identity) override {
    std::optional<Holding> found = inner_->holding(identity);
    if (found) { cipher_.open(*found); }
    return found;
  }
  std::vector<Execution> list(const ListQuery& query) override {
    std::vector<Execution> all = inner_->list(query);
    for (Execution& one : all) { open_or_mark(one); }
    return all;
  }
  std::optional<Guard> guard(const base::Digest& identity) override {
    std::optional<Guard> found = inner_->guard(identity);
    if (found) { cipher_.open(*found); }
    return found;
  }
  int forget_guards(std::span<const Uuid> ids) override { return inner_->forget_guards(ids); }
  std::vector<Attempt> attempts(const Uuid& id) override {
    std::vector<Attempt> all = inner_->attempts(id);
    for (Attempt& one : all) { cipher_.open(id, one); }
    return all;
  }

  std::vector<CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason, const Actor& by) override {
    return inner_->cancel(ids, reason, by);
  }
  std::vector<RetryResult> retry(std::span<const RetryRequest> requests, const Actor& by) override {
    return inner_->retry(requests, by);
  }
  int discard(std::span<const Uuid> ids, const Actor& by) override { return inner_->discard(ids, by); }
  int annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by) override {
    return inner_->annotate(ids, note, by);
  }

  void configure_queue(const QueueRef& queue, const QueuePatch& patch) override {
    inner_->configure_queue(queue, patch);
  }
  std::vector<QueueInfo> queues(std::string_view namespace_name) override { return inner_->queues(namespace_name); }
  int purge(const QueueRef& queue, int limit, const Actor& by) override { return inner_->purge(queue, limit, by); }
  int move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by) override {
    return inner_->move(from, to, limit, by);
  }

  StoredCatalogue catalogue(std::string_view namespace_name) override { return inner_->catalogue(namespace_name); }
  TaskEntry declare_task(const TaskEntry& entry) override { return inner_->declare_task(entry); }
  bool put_task(const TaskEntry& entry, std::string_view actor) override { return inner_->put_task(entry, actor); }
  bool remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) override {
    return inner_->remove_task(namespace_name, name, actor);
  }
  bool put_setting(std::string_view namespace_name, const Setting& setting, std::string_view actor) override {
    return inner_->put_setting(namespace_name, setting, actor);
  }
  std::vector<AuditLine> audit(const AuditQuery& query) override { return inner_->audit(query); }

  Token add_token(const NewToken& token, const Actor& by) override { return inner_->add_token(token, by); }
  std::vector<Token> tokens(std::string_view namespace_name) override { return inner_->tokens(namespace_name); }
  std::optional<Token> find_token(const base::Digest& hash) override { return inner_->find_token(hash); }
  bool has_tokens() override { return inner_->has_tokens(); }
  bool revoke_token(std::string_view namespace_name, const Uuid& id, const Actor& by) override {
    return inner_->revoke_token(namespace_name, id, by);
  }
  void touch_tokens(std::span<const Uuid> ids) override { inner_->touch_tokens(ids); }

  std::vector<FinishVerdict> journal_append(std::span<const JournalEntry> entries) override {
    return inner_->journal_append(cipher_.sealed(entries));
  }
  std::vector<JournalEntry> journal_read(const Uuid& execution) override {
    return cipher_.opened(inner_->journal_read(execution));
  }

  std::vector<AdvanceReply> advance(std::span<const Advance> turns) override {
    return inner_->advance(cipher_.sealed(turns));
  }
  FinishVerdict relabel(const Held& held, const Labels& labels) override { return inner_->relabel(held, labels); }
  std::vector<History> histories(std::span<const HistoryRequest> requests) override {
    std::vector<History> all = inner_->histories(requests);
    for (History& one : all) {
      try {
        cipher_.open(one);
      } catch (const DecryptionFailed& error) { one = {.entries = {}, .events = {}, .unreadable = error.what()}; }
    }
    return all;
  }
  std::vector<SignalResult> signal(std::span<const Signal> signals, const Actor& by) override {
    return inner_->signal(cipher_.sealed(signals), by);
  }

  std::vector<ActivityReply> change_activities(std::span<const ActivityChange> changes) override {
    return cipher_.opened(inner_->change_activities(cipher_.sealed(changes)));
  }
  std::vector<ActivityState> activities(const ActivityQuery& query) override { return inner_->activities(query); }
  std::vector<ActivityVersion> activity_versions(std::string_view namespace_name, std::string_view id) override {
    return inner_->activity_versions(namespace_name, id);
  }
  std::int64_t activity_generation(std::string_view namespace_name) override {
    return inner_->activity_generation(namespace_name);
  }
  DueActivities due_activities(int limit) override {
    DueActivities all = inner_->due_activities(limit);
    for (DueActivity& one : all.due) {
      if (!one.last_result) { continue; }
      // The activity reports an unreadable last result as its trouble, so that the ticks of other activities go on.
      try {
        one.last_result = opened_result_of(one);
      } catch (const DecryptionFailed& error) {
        one.last_result.reset();
        one.trouble = std::string("the last result is not handed on: ") + error.what();
      }
    }
    return all;
  }

  void transaction(const std::function<void(Transaction&)>& fn) override {
    inner_->transaction([this, &fn](Transaction& inner) {
      EncryptedTransaction transaction(inner, cipher_);
      fn(transaction);
    });
  }
  std::unique_ptr<Transaction> attach(void* connection) override {
    return std::make_unique<EncryptedTransaction>(inner_->attach(connection), cipher_);
  }

  std::unique_ptr<Listener> listen() override { return inner_->listen(); }
  void announce(std::span<const QueueRef> queues) override { inner_->announce(queues); }

  TextTable sql(std::string_view statement, int max_rows) override { return inner_->sql(statement, max_rows); }
  std::vector<Finding> doctor() override {
    std::vector<Finding> findings = inner_->doctor();
    findings.push_back({.level = Finding::Level::ok,
                        .subject = "encryption",
                        .detail = "payloads are written with key '" + cipher_.keys().writing().name + "'",
                        .advice = ""});
    return findings;
  }

 private:
  // Empties payloads that cannot be decrypted and sets an error that says so: operators list such executions, and
  // cancel, retry and discard them. Callers that need the payload itself check model::is_unreadable().
  void open_or_mark(Execution& execution) const {
    try {
      cipher_.open(execution);
    } catch (const DecryptionFailed& error) {
      execution.input.clear();
      execution.result.reset();
      execution.error = ErrorInfo{.type = std::string(model::unreadable_type), .message = error.what(), .detail = ""};
    }
  }

  // A result is bound to its execution, which DueActivity does not name: the execution is searched for among the newest
  // runs.
  [[nodiscard]] std::optional<std::string> opened_result_of(const DueActivity& due) {
    ListQuery query;
    query.namespace_name = due.state.namespace_name;
    query.parent = due.state.uuid;
    query.statuses = {Status::completed};
    query.limit = 100;
    for (std::size_t looked_at = 0; looked_at < runs_searched_max;) {
      std::vector<Execution> runs = inner_->list(query);
      looked_at += runs.size();
      for (Execution& run : runs) {
        if (run.result != due.last_result) { continue; }
        cipher_.open(run);
        return run.result;
      }
      if (runs.empty()) { break; }
      query.after = runs.back().id;
    }
    return std::nullopt;
  }

  void put_back_unreadable(std::vector<Claim>& claims) {
    std::vector<Finish> unreadable;
    std::erase_if(claims, [&](Claim& claim) {
      try {
        cipher_.open(claim);
        return false;
      } catch (const DecryptionFailed& error) {
        unreadable.push_back({.id = claim.id,
                              .fence = claim.fence,
                              .kind = FinishKind::snoozed,
                              .error = ErrorInfo{.type = error.name(), .message = error.what(), .detail = ""},
                              .delay = unreadable_for});
        return true;
      }
    });
    // The outcomes are committed by now. If a claim cannot be put back, it is lost with the session, like any lost
    // claim.
    if (!unreadable.empty()) { (void)inner_->finish(unreadable); }
  }

  const std::unique_ptr<Store> inner_;
  const Cipher cipher_;
};

// The setting that names the key in use is in the empty namespace. A program without that key fails when it opens the
// store.
constexpr std::string_view marker_namespace;
constexpr const char* marker_name = "encryption";

std::string marker_of(const encrypted::Key& key) { return key.name + ":" + key.check(); }

std::string stored_marker(Store& store) {
  for (const Setting& setting : store.catalogue(marker_namespace).settings) {
    if (setting.name == marker_name) { return setting.value; }
  }
  return "";
}

}  // namespace

std::unique_ptr<Store> with_encryption(std::unique_ptr<Store> inner, const std::string& key_file) {
  const std::string marker = stored_marker(*inner);
  const std::string name = marker.substr(0, marker.find(':'));
  if (key_file.empty()) {
    if (marker.empty()) { return inner; }
    throw ConfigurationError("the payloads of this store are encrypted with key '" + name +
                             "', and no key file is given; set [encryption] key_file or HAPAX_ENCRYPTION_KEY_FILE");
  }
  encrypted::KeyRing keys = encrypted::read_key_ring(key_file);
  const encrypted::Key* const known = keys.find(name);
  if (!marker.empty() && (known == nullptr || marker_of(*known) != marker)) {
    throw ConfigurationError(key_file + ": the payloads of this store are encrypted with key '" + name + "', " +
                             (known == nullptr ? "which the file does not have" : "and the file's is another"));
  }
  const std::string writing = marker_of(keys.writing());
  if (writing != marker) { inner->put_setting(marker_namespace, {.name = marker_name, .value = writing}, "hapax"); }
  return std::make_unique<EncryptedStore>(std::move(inner), std::move(keys));
}

}  // namespace hapax::store
