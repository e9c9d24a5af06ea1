// CrashStore: the store as seen by a process that dies during a write.
//
// Wraps a store that outlives the process. When the plan says so, a write throws Died before or after it takes effect;
// from then on every call throws.
#pragma once

#include <hapax/error.hpp>

#include "store/store.hpp"

#include <functional>
#include <stdexcept>
#include <type_traits>
#include <utility>

namespace hapax::generated {

class Died : public std::runtime_error {
 public:
  Died() : std::runtime_error("the process has died, says the test") {}
};

enum class Death : std::uint8_t { none, before, after };

struct Write {
  enum class Kind : std::uint8_t { claim, finish, advance, other };  // other: the run makes no progress by it
  Kind kind = Kind::claim;
  int lost = 0;  // how often the execution that is being run was lost since its last progress
};

class CrashStore final : public store::Store {
 public:
  using Plan = std::function<Death(const Write&)>;
  // Without a plan the process never dies.
  explicit CrashStore(store::Store& inner, Plan plan = {}) : inner_(inner), plan_(std::move(plan)) {}

  [[nodiscard]] bool is_dead() const { return dead_; }
  // A new process takes over the store.
  void revive() {
    dead_ = false;
    lost_ = 0;
  }

  store::StoreInfo info() override { return alive().info(); }
  Time now() override { return alive().now(); }
  std::vector<model::Admission> admit(std::span<const model::NewExecution> items) override {
    return alive().admit(items);
  }
  model::Exchange exchange(std::span<const model::Finish> finishes, const model::ClaimRequest* claim) override {
    (void)alive();
    if (!finishes.empty()) {
      return write({.kind = Write::Kind::finish, .lost = lost_}, [&] { return inner_.exchange(finishes, claim); });
    }
    model::Exchange reply = inner_.exchange(finishes, claim);
    if (!reply.claim.claims.empty()) {
      lost_ = reply.claim.claims.front().lost;
      if (plan_ && plan_({.kind = Write::Kind::claim, .lost = lost_}) == Death::after) { die(); }
    }
    return reply;
  }
  std::vector<model::AdvanceReply> advance(std::span<const model::Advance> turns) override {
    return write({.kind = Write::Kind::advance, .lost = lost_}, [&] { return inner_.advance(turns); });
  }
  std::vector<model::CancelResult> cancel(std::span<const Uuid> ids, std::string_view reason,
                                          const model::Actor& by = {}) override {
    return write({.kind = Write::Kind::other, .lost = lost_}, [&] { return inner_.cancel(ids, reason, by); });
  }
  model::FinishVerdict relabel(const model::Held& held, const model::Labels& labels) override {
    return write({.kind = Write::Kind::other, .lost = lost_}, [&] { return inner_.relabel(held, labels); });
  }
  std::vector<model::History> histories(std::span<const model::HistoryRequest> requests) override {
    return alive().histories(requests);
  }
  std::vector<model::SignalResult> signal(std::span<const model::Signal> signals,
                                          const model::Actor& by = {}) override {
    return alive().signal(signals, by);
  }
  void open_session(const model::NewSession& session) override { alive().open_session(session); }
  model::BeatReply beat(const model::Beat& beat) override { return alive().beat(beat); }
  std::vector<Uuid> cancel_requests(const Uuid& session) override { return alive().cancel_requests(session); }
  void close_session(const Uuid& session) override { alive().close_session(session); }
  std::vector<model::SessionInfo> sessions() override { return alive().sessions(); }
  model::SweepReport sweep(const model::SweepRequest& request) override { return alive().sweep(request); }
  std::optional<model::Execution> get(const Uuid& id) override { return alive().get(id); }
  std::vector<std::optional<model::Outcome>> outcomes(std::span<const Uuid> ids) override {
    return alive().outcomes(ids);
  }
  bool has_expired(std::string_view namespace_name, const Uuid& id) override {
    return alive().has_expired(namespace_name, id);
  }
  std::optional<model::Holding> holding(const base::Digest& identity) override { return alive().holding(identity); }
  std::vector<model::Execution> list(const model::ListQuery& query) override { return alive().list(query); }
  std::vector<model::Attempt> attempts(const Uuid& id) override { return alive().attempts(id); }
  std::optional<model::Guard> guard(const base::Digest& identity) override { return alive().guard(identity); }
  int forget_guards(std::span<const Uuid> ids) override { return alive().forget_guards(ids); }
  std::vector<model::RetryResult> retry(std::span<const model::RetryRequest> requests,
                                        const model::Actor& by = {}) override {
    return alive().retry(requests, by);
  }
  int discard(std::span<const Uuid> ids, const model::Actor& by = {}) override { return alive().discard(ids, by); }
  int annotate(std::span<const Uuid> ids, std::string_view note, const model::Actor& by = {}) override {
    return alive().annotate(ids, note, by);
  }
  void configure_queue(const model::QueueRef& queue, const model::QueuePatch& patch) override {
    alive().configure_queue(queue, patch);
  }
  std::vector<model::QueueInfo> queues(std::string_view namespace_name) override {
    return alive().queues(namespace_name);
  }
  model::StoredCatalogue catalogue(std::string_view namespace_name) override {
    return alive().catalogue(namespace_name);
  }
  model::TaskEntry declare_task(const model::TaskEntry& entry) override { return alive().declare_task(entry); }
  bool put_task(const model::TaskEntry& entry, std::string_view actor) override {
    return alive().put_task(entry, actor);
  }
  bool remove_task(std::string_view namespace_name, std::string_view name, std::string_view actor) override {
    return alive().remove_task(namespace_name, name, actor);
  }
  bool put_setting(std::string_view namespace_name, const model::Setting& setting, std::string_view actor) override {
    return alive().put_setting(namespace_name, setting, actor);
  }
  std::vector<model::ActivityReply> change_activities(std::span<const model::ActivityChange> changes) override {
    return alive().change_activities(changes);
  }
  std::vector<model::ActivityState> activities(const model::ActivityQuery& query) override {
    return alive().activities(query);
  }
  std::vector<model::ActivityVersion> activity_versions(std::string_view namespace_name, std::string_view id) override {
    return alive().activity_versions(namespace_name, id);
  }
  std::int64_t activity_generation(std::string_view namespace_name) override {
    return alive().activity_generation(namespace_name);
  }
  model::DueActivities due_activities(int limit) override { return alive().due_activities(limit); }
  std::vector<model::AuditLine> audit(const model::AuditQuery& query) override { return alive().audit(query); }
  model::Token add_token(const model::NewToken& token, const model::Actor& by = {}) override {
    return alive().add_token(token, by);
  }
  std::vector<model::Token> tokens(std::string_view namespace_name) override { return alive().tokens(namespace_name); }
  std::optional<model::Token> find_token(const base::Digest& hash) override { return alive().find_token(hash); }
  bool has_tokens() override { return alive().has_tokens(); }
  bool revoke_token(std::string_view namespace_name, const Uuid& id, const model::Actor& by = {}) override {
    return alive().revoke_token(namespace_name, id, by);
  }
  void touch_tokens(std::span<const Uuid> ids) override { alive().touch_tokens(ids); }
  int purge(const model::QueueRef& queue, int limit, const model::Actor& by = {}) override {
    return alive().purge(queue, limit, by);
  }
  int move(const model::QueueRef& from, const model::QueueRef& to, int limit, const model::Actor& by = {}) override {
    return alive().move(from, to, limit, by);
  }
  std::vector<model::FinishVerdict> journal_append(std::span<const model::JournalEntry> entries) override {
    return alive().journal_append(entries);
  }
  std::vector<model::JournalEntry> journal_read(const Uuid& execution) override {
    return alive().journal_read(execution);
  }
  // The process dies before or after the commit. Throws StoreUnavailable, which tells the caller that the commit is in
  // doubt.
  void transaction(const std::function<void(store::Transaction&)>& fn) override {
    Death death = Death::none;
    const auto die_if = [&](Death now) {
      if (death != now) { return; }
      dead_ = true;
      throw StoreUnavailable(Died().what());
    };
    alive().transaction([&](store::Transaction& tx) {
      fn(tx);
      if (plan_) { death = plan_({.kind = Write::Kind::advance, .lost = lost_}); }
      die_if(Death::before);
    });
    lost_ = 0;
    die_if(Death::after);
  }
  std::unique_ptr<store::Transaction> attach(void* connection) override { return alive().attach(connection); }
  std::unique_ptr<store::Listener> listen() override { return alive().listen(); }
  void announce(std::span<const model::QueueRef> queues) override { alive().announce(queues); }
  store::TextTable sql(std::string_view statement, int max_rows) override { return alive().sql(statement, max_rows); }
  std::vector<store::Finding> doctor() override { return alive().doctor(); }

 private:
  [[noreturn]] void die() {
    dead_ = true;
    throw Died();
  }

  store::Store& alive() {
    if (dead_) { throw Died(); }
    return inner_;
  }

  template <class Fn>
  std::invoke_result_t<Fn&> write(const Write& what, Fn fn) {
    (void)alive();
    const Death death = plan_ ? plan_(what) : Death::none;
    if (death == Death::before) { die(); }
    auto reply = fn();
    // Progress resets the count of losses.
    if (what.kind == Write::Kind::advance) { lost_ = 0; }
    if (death == Death::after) { die(); }
    return reply;
  }

  store::Store& inner_;
  const Plan plan_;
  bool dead_ = false;
  int lost_ = 0;
};

}  // namespace hapax::generated
