// FaultyStore: wraps another store; the test makes its calls fail, before or after they take effect.
#pragma once

#include <hapax/error.hpp>

#include "store/store.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <utility>

namespace hapax::engine {

class FaultyStore final : public store::Store {
 public:
  explicit FaultyStore(std::unique_ptr<store::Store> inner) : inner_(std::move(inner)) {}

  // While true, every call that the engine makes on its hot paths is refused before it does anything.
  std::atomic<bool> away{false};
  // Number of exchanges that take effect and then lose their answer.
  std::atomic<int> lose_replies{0};
  // Number of batches (of two or more items) whose admission is refused because of their content.
  std::atomic<int> refuse_admissions{0};
  // While true, a transaction of another caller locks the rows of executions whose result is "held".
  std::atomic<bool> blocking{false};
  // Number of reads of the store's clock that are refused.
  std::atomic<int> refuse_now{0};
  // The journal of this execution cannot be read: a batch of histories that includes it fails.
  std::optional<Uuid> unreadable;
  // The same for the result of this execution, and a batch of outcomes.
  std::optional<Uuid> unreadable_result;
  std::atomic<int> exchanges{0};
  std::atomic<int> admits{0};

  [[nodiscard]] store::Store& inner() { return *inner_; }

  store::StoreInfo info() override { return inner_->info(); }
  Time now() override {
    if (refuse_now.load() > 0) {
      --refuse_now;
      throw StoreUnavailable("the clock is away, says the test");
    }
    return inner_->now();
  }
  std::vector<model::Admission> admit(std::span<const model::NewExecution> items) override {
    check();
    ++admits;
    if (items.size() > 1 && refuse_admissions.load() > 0) {
      --refuse_admissions;
      throw InvalidArgument("input", "refused by the test");
    }
    for (const auto& item : items) {
      if (item.task == "poison") { throw InvalidArgument("task", "poison"); }
    }
    return inner_->admit(items);
  }
  model::Exchange exchange(std::span<const model::Finish> finishes, const model::ClaimRequest* claim) override {
    check();
    ++exchanges;
    for (const auto& finish : finishes) {
      if (finish.result == "\"unwritable\"") { throw InvalidArgument("result", "cannot be written"); }
      if (blocking && finish.result == "\"held\"") { throw store::Blocked("held by the test"); }
    }
    auto reply = inner_->exchange(finishes, claim);
    if (lose_replies.load() > 0) {
      --lose_replies;
      throw CommitUnknown("the answer was lost by the test");
    }
    return reply;
  }
  void open_session(const model::NewSession& session) override {
    check();
    inner_->open_session(session);
  }
  model::BeatReply beat(const model::Beat& beat) override {
    check();
    return inner_->beat(beat);
  }
  std::vector<Uuid> cancel_requests(const Uuid& session) override { return inner_->cancel_requests(session); }
  void close_session(const Uuid& session) override { inner_->close_session(session); }
  std::vector<model::SessionInfo> sessions() override { return inner_->sessions(); }
  model::SweepReport sweep(const model::SweepRequest& request) override {
    check();
    return inner_->sweep(request);
  }
  std::optional<model::Execution> get(const Uuid& id) override { return inner_->get(id); }
  std::vector<std::optional<model::Outcome>> outcomes(std::span<const Uuid> ids) override {
    check();
    if (unreadable_result && std::ranges::find(ids, *unreadable_result) != ids.end()) {
      throw DecryptionFailed("says the test");
    }
    return inner_->outcomes(ids);
  }
  bool has_expired(std::string_view namespace_name, const Uuid& id) override {
    return inner_->has_expired(namespace_name, id);
  }
  std::optional<model::Holding> holding(const base::Digest& identity) override { return inner_->holding(identity); }
  std::vector<model::Execution> list(const model::ListQuery& query) override { return inner_->list(query); }
  std::vector<model::Attempt> attempts(const Uuid& id) override { return inner_->attempts(id); }
  std::optional<model::Guard> guard(const base::Digest& identity) override { return inner_->guard(identity); }
  int forget_guards(std::span<const Uuid> ids) override { return inner_->forget_guards(ids); }
  std::vector<model::CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason,
                                          const model::Actor& by = {}) override {
    return inner_->cancel(ids, reason, by);
  }
  std::vector<model::RetryResult> retry(std::span<const model::RetryRequest> requests,
                                        const model::Actor& by = {}) override {
    return inner_->retry(requests, by);
  }
  int discard(std::span<const Uuid> ids, const model::Actor& by = {}) override { return inner_->discard(ids, by); }
  int annotate(std::span<const Uuid> ids, std::string_view note, const model::Actor& by = {}) override {
    return inner_->annotate(ids, note, by);
  }
  void configure_queue(const model::QueueRef& queue, const model::QueuePatch& patch) override {
    inner_->configure_queue(queue, patch);
  }
  std::vector<model::QueueInfo> queues(std::string_view namespace_name) override {
    return inner_->queues(namespace_name);
  }
  model::StoredCatalogue catalogue(std::string_view namespace_name) override {
    check();
    return inner_->catalogue(namespace_name);
  }
  model::TaskEntry declare_task(const model::TaskEntry& entry) override {
    check();
    return inner_->declare_task(entry);
  }
  bool put_task(const model::TaskEntry& entry, std::string_view actor) override {
    return inner_->put_task(entry, actor);
  }
  bool remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) override {
    return inner_->remove_task(namespace_name, name, actor);
  }
  bool put_setting(std::string_view namespace_name, const model::Setting& setting, std::string_view actor) override {
    return inner_->put_setting(namespace_name, setting, actor);
  }
  std::vector<model::ActivityReply> change_activities(std::span<const model::ActivityChange> changes) override {
    return inner_->change_activities(changes);
  }
  std::vector<model::ActivityState> activities(const model::ActivityQuery& query) override {
    return inner_->activities(query);
  }
  std::vector<model::ActivityVersion> activity_versions(std::string_view namespace_name, std::string_view id) override {
    return inner_->activity_versions(namespace_name, id);
  }
  std::int64_t activity_generation(std::string_view namespace_name) override {
    return inner_->activity_generation(namespace_name);
  }
  model::DueActivities due_activities(int limit) override { return inner_->due_activities(limit); }
  std::vector<model::AuditLine> audit(const model::AuditQuery& query) override { return inner_->audit(query); }
  model::Token add_token(const model::NewToken& token, const model::Actor& by = {}) override {
    return inner_->add_token(token, by);
  }
  std::vector<model::Token> tokens(std::string_view namespace_name) override { return inner_->tokens(namespace_name); }
  std::optional<model::Token> find_token(const base::Digest& hash) override { return inner_->find_token(hash); }
  bool has_tokens() override { return inner_->has_tokens(); }
  bool revoke_token(std::string_view namespace_name, const Uuid& id, const model::Actor& by = {}) override {
    return inner_->revoke_token(namespace_name, id, by);
  }
  void touch_tokens(std::span<const Uuid> ids) override { inner_->touch_tokens(ids); }
  int purge(const model::QueueRef& queue, int limit, const model::Actor& by = {}) override {
    return inner_->purge(queue, limit, by);
  }
  int move(const model::QueueRef& from, const model::QueueRef& to, int limit, const model::Actor& by = {}) override {
    return inner_->move(from, to, limit, by);
  }
  std::vector<model::FinishVerdict> journal_append(std::span<const model::JournalEntry> entries) override {
    return inner_->journal_append(entries);
  }
  std::vector<model::JournalEntry> journal_read(const Uuid& execution) override {
    return inner_->journal_read(execution);
  }
  model::FinishVerdict relabel(const model::Held& held, const model::Labels& labels) override {
    return inner_->relabel(held, labels);
  }
  std::vector<model::AdvanceReply> advance(std::span<const model::Advance> turns) override {
    check();
    return inner_->advance(turns);
  }
  std::vector<model::History> histories(std::span<const model::HistoryRequest> requests) override {
    check();
    for (const auto& request : requests) {
      if (request.execution == unreadable) { throw StoreUnavailable("the journal was damaged by the test"); }
    }
    return inner_->histories(requests);
  }
  std::vector<model::SignalResult> signal(std::span<const model::Signal> signals,
                                          const model::Actor& by = {}) override {
    return inner_->signal(signals, by);
  }
  void transaction(const std::function<void(store::Transaction&)>& fn) override { inner_->transaction(fn); }
  std::unique_ptr<store::Transaction> attach(void* connection) override { return inner_->attach(connection); }
  std::unique_ptr<store::Listener> listen() override { return inner_->listen(); }
  void announce(std::span<const model::QueueRef> queues) override { inner_->announce(queues); }
  store::TextTable sql(std::string_view statement, int max_rows) override { return inner_->sql(statement, max_rows); }
  std::vector<store::Finding> doctor() override { return inner_->doctor(); }

 private:
  void check() const {
    if (away.load()) { throw StoreUnavailable("the store is away, says the test"); }
  }

  std::unique_ptr<store::Store> inner_;
};

}  // namespace hapax::engine
