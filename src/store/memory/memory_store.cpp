// The memory store: implements Store over State, with one mutex around every verb.
#include <hapax/error.hpp>

#include "base/clock.hpp"
#include "model/queue_patch.hpp"
#include "store/memory/change_listener.hpp"
#include "store/memory/verbs.hpp"
#include "store/open.hpp"
#include "store/overdue_finding.hpp"

#include <algorithm>
#include <mutex>
#include <utility>

namespace hapax::store {

namespace {

// For tests, the simulator and queues that need not outlive their process. Any thread may call; a call waits for the
// mutex only. Each verb leaves a consistent state and cannot fail half-way, except when memory runs out.
class MemoryStore final : public Store {
 public:
  explicit MemoryStore(const OpenOptions& options)
      : clock_(options.clock ? options.clock : std::make_shared<base::SystemClock>()),
        clock_offset_us_(options.clock_offset_us) {}

  StoreInfo info() override {
    return {.backend = "memory", .version = "1", .location = "memory:", .schema_version = 0, .capabilities = {}};
  }

  Time now() override {
    const Duration offset{clock_offset_us_ ? clock_offset_us_->load() : 0};
    return clock_->now() + offset;
  }

  std::vector<Admission> admit(std::span<const NewExecution> items) override {
    const std::lock_guard lock(mutex_);
    memory::check_catalogues(state_, items);
    std::vector<Admission> admissions;
    admissions.reserve(items.size());
    const Time at = now();
    for (const NewExecution& item : items) { admissions.push_back(memory::admit(state_, item, at)); }
    state_.woken.clear();
    return admissions;
  }

  Exchange exchange(std::span<const Finish> finishes, const ClaimRequest* claim) override {
    const std::lock_guard lock(mutex_);
    const Time at = now();
    Exchange reply;
    for (const Finish& finish : finishes) { reply.verdicts.push_back(memory::finish(state_, finish, at)); }
    if (claim != nullptr) { reply.claim = memory::claim(state_, *claim, at); }
    reply.woken = std::exchange(state_.woken, {});
    return reply;
  }

  void open_session(const NewSession& session) override {
    const std::lock_guard lock(mutex_);
    memory::open_session(state_, session, now());
  }

  BeatReply beat(const Beat& beat) override {
    const std::lock_guard lock(mutex_);
    return memory::beat(state_, beat, now());
  }

  std::vector<Uuid> cancel_requests(const Uuid& session) override {
    const std::lock_guard lock(mutex_);
    return memory::cancel_requests(state_, session);
  }

  void close_session(const Uuid& session) override {
    const std::lock_guard lock(mutex_);
    memory::close_session(state_, session, now());
  }

  std::vector<SessionInfo> sessions() override {
    const std::lock_guard lock(mutex_);
    return memory::sessions(state_);
  }

  SweepReport sweep(const SweepRequest& request) override {
    const std::lock_guard lock(mutex_);
    return memory::sweep(state_, request, now());
  }

  std::optional<Execution> get(const Uuid& id) override {
    const std::lock_guard lock(mutex_);
    const memory::Record* const record = state_.find(id, now());
    return record == nullptr ? std::nullopt : std::optional(record->execution);
  }

  std::vector<std::optional<Outcome>> outcomes(std::span<const Uuid> ids) override {
    return each<std::optional<Outcome>>(ids,
                                        [this](const Uuid& id, Time at) { return memory::outcome(state_, id, at); });
  }

  bool has_expired(std::string_view namespace_name, const Uuid& id) override {
    const std::lock_guard lock(mutex_);
    return memory::has_expired(state_, namespace_name, id, now());
  }

  std::optional<Holding> holding(const base::Digest& identity) override {
    const std::lock_guard lock(mutex_);
    return state_.find_holding(identity, now());
  }

  std::vector<Execution> list(const ListQuery& query) override {
    const std::lock_guard lock(mutex_);
    return memory::list(state_, query, now());
  }

  std::vector<Attempt> attempts(const Uuid& id) override {
    const std::lock_guard lock(mutex_);
    return memory::attempts(state_, id, now());
  }

  std::optional<Guard> guard(const base::Digest& identity) override {
    const std::lock_guard lock(mutex_);
    return memory::guard(state_, identity, now());
  }

  int forget_guards(std::span<const Uuid> ids) override {
    return count(ids, [this](const Uuid& id, Time at) { return memory::forget_guard(state_, id, at); });
  }

  std::vector<CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason, const Actor& by) override {
    const memory::CancelCause cause{.reason = reason, .by = by};
    return each<CancelResult>(
        ids, [this, &cause](const Uuid& id, Time at) { return memory::cancel(state_, id, cause, at); });
  }

  std::vector<RetryResult> retry(std::span<const RetryRequest> requests, const Actor& by) override {
    return each<RetryResult>(
        requests, [this, &by](const RetryRequest& request, Time at) { return memory::retry(state_, request, by, at); });
  }

  int discard(std::span<const Uuid> ids, const Actor& by) override {
    return count(ids, [this, &by](const Uuid& id, Time at) { return memory::discard(state_, id, by, at); });
  }

  int annotate(std::span<const Uuid> ids, std::string_view note, const Actor& by) override {
    const memory::Annotation annotation{.note = note, .by = by};
    return count(ids,
                 [this, &annotation](const Uuid& id, Time at) { return memory::annotate(state_, id, annotation, at); });
  }

  void configure_queue(const QueueRef& queue, const QueuePatch& patch) override {
    const std::lock_guard lock(mutex_);
    memory::configure_queue(state_, queue, patch, now());
  }

  StoredCatalogue catalogue(std::string_view namespace_name) override {
    const std::lock_guard lock(mutex_);
    return memory::catalogue(state_, namespace_name);
  }

  TaskEntry declare_task(const TaskEntry& entry) override {
    const std::lock_guard lock(mutex_);
    return memory::declare_task(state_, entry, now());
  }

  bool put_task(const TaskEntry& entry, std::string_view actor) override {
    const std::lock_guard lock(mutex_);
    return memory::put_task(state_, entry, actor, now());
  }

  bool remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) override {
    const std::lock_guard lock(mutex_);
    return memory::remove_task(state_, namespace_name, name, actor, now());
  }

  bool put_setting(std::string_view namespace_name, const Setting& setting, std::string_view actor) override {
    const std::lock_guard lock(mutex_);
    return memory::put_setting(state_, namespace_name, setting, actor, now());
  }

  std::vector<AuditLine> audit(const AuditQuery& query) override {
    const std::lock_guard lock(mutex_);
    return memory::audit(state_, query);
  }

  Token add_token(const NewToken& token, const Actor& by) override {
    const std::lock_guard lock(mutex_);
    return memory::add_token(state_, token, by, now());
  }

  std::vector<Token> tokens(std::string_view namespace_name) override {
    const std::lock_guard lock(mutex_);
    return memory::tokens(state_, namespace_name);
  }

  std::optional<Token> find_token(const base::Digest& hash) override {
    const std::lock_guard lock(mutex_);
    return memory::find_token(state_, hash);
  }

  bool has_tokens() override {
    const std::lock_guard lock(mutex_);
    return !state_.tokens.empty();
  }

  bool revoke_token(std::string_view namespace_name, const Uuid& id, const Actor& by) override {
    const std::lock_guard lock(mutex_);
    return memory::revoke_token(state_, namespace_name, id, by, now());
  }

  void touch_tokens(std::span<const Uuid> ids) override {
    const std::lock_guard lock(mutex_);
    memory::touch_tokens(state_, ids, now());
  }

  std::vector<QueueInfo> queues(std::string_view namespace_name) override {
    const std::lock_guard lock(mutex_);
    return memory::queues(state_, namespace_name, now());
  }

  int purge(const QueueRef& queue, int limit, const Actor& by) override {
    const std::lock_guard lock(mutex_);
    const int purged = memory::purge(state_, queue, limit, now());
    if (purged > 0 && by.is_known()) {
      state_.write_audit(queue.namespace_name, by.name, "queue.purge", queue.name, describe_count(purged), now());
    }
    return purged;
  }

  int move(const QueueRef& from, const QueueRef& to, int limit, const Actor& by) override {
    const std::lock_guard lock(mutex_);
    const int moved = memory::move(state_, from, to, limit, now());
    if (moved > 0 && by.is_known()) {
      state_.write_audit(from.namespace_name, by.name, "queue.move", from.name, describe_move(to, moved), now());
    }
    return moved;
  }

  std::vector<FinishVerdict> journal_append(std::span<const JournalEntry> entries) override {
    return each<FinishVerdict>(
        entries, [this](const JournalEntry& entry, Time at) { return memory::journal_append(state_, entry, at); });
  }

  std::vector<JournalEntry> journal_read(const Uuid& execution) override {
    const std::lock_guard lock(mutex_);
    return memory::journal_read(state_, execution, now());
  }

  std::vector<AdvanceReply> advance(std::span<const Advance> turns) override {
    return each<AdvanceReply>(turns,
                              [this](const Advance& turn, Time at) { return memory::advance(state_, turn, at); });
  }

  FinishVerdict relabel(const Held& held, const Labels& labels) override {
    const std::lock_guard lock(mutex_);
    return memory::relabel(state_, held, labels);
  }

  std::vector<History> histories(std::span<const HistoryRequest> requests) override {
    return each<History>(
        requests, [this](const HistoryRequest& request, Time at) { return memory::history(state_, request, at); });
  }

  std::vector<SignalResult> signal(std::span<const Signal> signals, const Actor& by) override {
    return each<SignalResult>(
        signals, [this, &by](const Signal& signal, Time at) { return memory::signal(state_, signal, by, at); });
  }

  std::vector<ActivityReply> change_activities(std::span<const ActivityChange> changes) override {
    return each<ActivityReply>(
        changes, [this](const ActivityChange& change, Time at) { return memory::change_activity(state_, change, at); });
  }

  std::vector<ActivityState> activities(const ActivityQuery& query) override {
    const std::lock_guard lock(mutex_);
    return memory::activities(state_, query);
  }

  std::vector<ActivityVersion> activity_versions(std::string_view namespace_name, std::string_view id) override {
    const std::lock_guard lock(mutex_);
    return memory::activity_versions(state_, namespace_name, id);
  }

  std::int64_t activity_generation(std::string_view namespace_name) override {
    const std::lock_guard lock(mutex_);
    const auto found = state_.generations.find(namespace_name);
    return found == state_.generations.end() ? 0 : found->second;
  }

  DueActivities due_activities(int limit) override {
    const std::lock_guard lock(mutex_);
    return memory::due_activities(state_, limit, now());
  }

  void transaction(const std::function<void(Transaction&)>&) override {
    throw Unsupported("the memory store has no transactions; open a sqlite: store");
  }

  std::unique_ptr<Transaction> attach(void*) override {
    throw Unsupported("the memory store has no transactions; open a postgresql:// store");
  }

  std::unique_ptr<Listener> listen() override { return memory::listen(announcements_); }

  void announce(std::span<const QueueRef>) override { announcements_->announce(); }

  TextTable sql(std::string_view, int) override {
    throw Unsupported("the memory store has no SQL; open a sqlite: or postgresql:// store");
  }

  std::vector<Finding> doctor() override {
    const std::lock_guard lock(mutex_);
    const Time at = now();
    const auto overdue = std::ranges::count_if(
        state_.deadlines, [&](const memory::TimedId& one) { return one.first <= at - overdue_patience; });
    const bool alive =
        std::ranges::any_of(state_.sessions, [&](const auto& one) { return one.second.expires_at > at; });
    return {{.level = Finding::Level::note,
             .subject = "durability",
             .detail = "the memory store forgets everything when its process ends",
             .advice = "open a sqlite: or postgresql:// store to keep it"},
            overdue_finding(overdue, alive)};
  }

 private:
  // One result per item, in order, all at one instant, under the mutex.
  template <class Result, class Item, class Function>
  std::vector<Result> each(std::span<const Item> items, Function function) {
    const std::lock_guard lock(mutex_);
    const Time at = now();
    std::vector<Result> results;
    results.reserve(items.size());
    for (const Item& item : items) { results.push_back(function(item, at)); }
    state_.woken.clear();
    return results;
  }

  // How many of the ids the function returns true for.
  template <class Function>
  int count(std::span<const Uuid> ids, Function function) {
    int total = 0;
    for (const bool one : each<bool>(ids, function)) { total += one ? 1 : 0; }
    return total;
  }

  const std::shared_ptr<const base::Clock> clock_;
  const std::shared_ptr<const std::atomic<std::int64_t>> clock_offset_us_;
  const std::shared_ptr<memory::Announcements> announcements_ = std::make_shared<memory::Announcements>();
  std::mutex mutex_;
  memory::State state_;  // under mutex_
};

}  // namespace

std::unique_ptr<Store> open_memory(const OpenOptions& options) { return std::make_unique<MemoryStore>(options); }

}  // namespace hapax::store
