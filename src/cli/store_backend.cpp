#include "cli/store_backend.hpp"

#include <hapax/app.hpp>

#include "api/acting_json.hpp"
#include "api/execution_json.hpp"
#include "api/find.hpp"
#include "api/identity_json.hpp"
#include "app/explain_facts.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "engine/build_request.hpp"
#include "engine/step_thread.hpp"
#include "engine/sweeper.hpp"
#include "engine/waiters.hpp"
#include "model/identity.hpp"
#include "schedule/activity.hpp"
#include "store/brief.hpp"

#include <algorithm>
#include <set>

namespace hapax::cli {
namespace {

// A batch is bounded in bytes too, because 5,000 inputs of 1 MiB would not fit in memory.
constexpr std::size_t store_backend_batch_bytes = 16 << 20;

class StoreBulk : public Bulk {
 public:
  StoreBulk(engine::Engine& engine, std::string ns)
      : engine_(engine), ns_(std::move(ns)), catalogue_(engine.store(), ns_) {}

  void add(RequestFields fields) override {
    fields.actor = actor_;
    bytes_ += fields.input.size() + fields.metadata.size();
    batch_.push_back(make_request(fields, ns_, catalogue_));
    fields.input.clear();  // the request has the input
    asked_.push_back(std::move(fields));
  }

  [[nodiscard]] bool is_full() const override {
    return batch_.size() >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= store_backend_batch_bytes;
  }

  [[nodiscard]] std::vector<BulkAnswer> flush() override {
    std::vector<BulkAnswer> answers;
    bool is_made = true;
    const std::vector<model::Admission> admissions = engine::with_current_catalogue(catalogue_, [&] {
      if (!is_made) { remake(); }
      is_made = false;
      return engine_.admit_bulk(batch_);
    });
    for (std::size_t i = 0; i < admissions.size(); ++i) { answers.push_back(answer(admissions[i], batch_[i])); }
    batch_.clear();
    asked_.clear();
    bytes_ = 0;
    return answers;
  }

 private:
  // Builds the requests again, by the catalogue as it is now.
  void remake() {
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      asked_[i].input = std::move(batch_[i].input);
      batch_[i] = make_request(asked_[i], ns_, catalogue_);
      asked_[i].input.clear();
    }
  }

  static BulkAnswer answer(const model::Admission& admission, const model::NewExecution& request) {
    try {
      engine::throw_if_refused(admission, engine::asking_of(request));
    } catch (const Error& error) { return {.admission = {}, .error = error.name(), .message = error.what()}; }
    return {.admission = admission_json(admission, std::nullopt), .error = {}, .message = {}};
  }

  engine::Engine& engine_;
  const std::string ns_;
  engine::CatalogueCache catalogue_;
  const std::string actor_ = command_line_actor();
  std::vector<model::NewExecution> batch_;
  std::vector<RequestFields> asked_;  // the fields that each request was made of, without the input
  std::size_t bytes_ = 0;
};

}  // namespace

StoreBackend::StoreBackend(Shell& shell)
    : shell_(shell), store_(shell.shared_store()), ns_(shell.ns()), engine_(store_), activities_(engine_, ns_) {}

model::Execution StoreBackend::get(const Uuid& id, Payloads payloads) {
  const auto read = [&] { return payloads == Payloads::with ? store().get(id) : store::get_briefly(store(), ns_, id); };
  std::optional<model::Execution> found = read();
  if (!found || found->queue.ns != ns_) {
    throw NotFound("no execution " + id.to_string() + " in namespace '" + ns_ + "'");
  }
  // An execution past its deadline is shown as timed out, even when no worker runs that would end it.
  if (found->deadline && !is_terminal(found->status) && engine::end_if_overdue(store(), id)) {
    found = read();
    if (!found) { throw NotFound("execution " + id.to_string() + " is not kept any more"); }
  }
  return std::move(*found);
}

Uuid StoreBackend::find(const ExecutionName& name) {
  if (name.run) { return find_run(store(), ns_, *name.run); }
  const model::Kind kind = name.task ? model::Kind::task : model::Kind::workflow;
  const auto& [task, key] = name.task ? *name.task : *name.workflow;
  return find_by_key(store(), ns_, {.kind = kind, .task = task, .key = key, .queue = name.queue});
}

void StoreBackend::check(const Uuid& id) { (void)get(id, Payloads::without); }

std::string StoreBackend::show(const Uuid& id) {
  const model::Execution execution = get(id);
  api::ExecutionDetails details{.attempts = store().attempts(id),
                                .journal = {},
                                .parent_workflow_id = api::parent_workflow_id(store(), execution)};
  if (execution.kind == model::Kind::workflow) { details.journal = shell_.app().timeline(id); }
  return execution_json(execution, true, &details);
}

std::vector<std::string> StoreBackend::list(const Listing& listing) {
  model::ListQuery query = listing.query;
  query.ns = ns_;
  if (listing.activity) {
    schedule::check_activity_id(*listing.activity, "activity");
    query.parent = model::activity_uuid(ns_, *listing.activity);
  }
  std::vector<std::string> documents;
  for (const model::Execution& execution : store().list(query)) {
    documents.push_back(execution_json(execution, query.payloads));
  }
  return documents;
}

std::string StoreBackend::admit(const RequestFields& asked) {
  RequestFields fields = asked;
  fields.actor = command_line_actor();
  engine::CatalogueCache catalogue(store(), ns_);
  model::NewExecution request;
  const auto ask = [&] {
    return engine::with_current_catalogue(catalogue, [&] {
      request = make_request(fields, ns_, catalogue);
      return engine_.admit(request);
    });
  };
  model::Admission admission = ask();
  // A holder past its deadline holds nothing, even when no worker runs that would end it.
  if (!admission.created() && !is_terminal(admission.status) && engine::end_if_overdue(store(), admission.id)) {
    admission = ask();
  }
  engine::throw_if_refused(admission, engine::asking_of(request));
  return admission_json(admission, std::nullopt);
}

std::unique_ptr<Bulk> StoreBackend::bulk() { return std::make_unique<StoreBulk>(engine_, ns_); }

std::string StoreBackend::await(const Uuid& first, std::optional<Duration> at_most) {
  const Time until = at_most ? engine::engine_now() + std::min(*at_most, engine::longest_wait) : engine::never;
  Uuid id = first;
  while (true) {
    std::optional<Duration> left;
    if (at_most) { left = std::max(until - engine::engine_now(), Duration::zero()); }
    std::optional<model::Outcome> end = engine_.waiters().wait(id, left, false);
    if (!end) { break; }
    if (!end->continued_as) { return outcome_json(*end); }
    id = *end->continued_as;
  }
  const std::optional<model::Outcome> standing = store().outcomes({&id, 1}).front();
  if (!standing) {
    throw ResultExpired("the record of execution " + id.to_string() +
                        " is gone (retention), its result cannot be told");
  }
  return outcome_json(*standing);
}

std::string StoreBackend::explain(const Uuid& id) {
  const model::Execution execution = get(id, Payloads::without);
  return explain_json(execution, model::explain(app::gather_facts(store(), execution)));
}

std::string StoreBackend::identity(const RequestFields& fields) {
  engine::CatalogueCache catalogue(store(), ns_);
  return identity_json(ask_identity(store(), ns_, catalogue, fields));
}

std::string StoreBackend::cancel(std::span<const Uuid> ids, const std::string& reason) {
  const std::vector<model::CancelResult> results = store().cancel(ids, reason, {command_line_actor()});
  std::int64_t cancelled = 0;
  std::int64_t requested = 0;
  std::int64_t finished = 0;
  std::vector<std::string> items;
  for (std::size_t i = 0; i < ids.size(); ++i) {
    cancelled += results[i].verdict == model::CancelVerdict::cancelled ? 1 : 0;
    requested += results[i].verdict == model::CancelVerdict::requested ? 1 : 0;
    finished += results[i].verdict == model::CancelVerdict::finished ? 1 : 0;
    items.push_back(cancel_json(ids[i], results[i]));
  }
  JsonObject object;
  object.number("cancelled", cancelled).number("requested", requested).number("finished", finished);
  return object.raw("executions", json_array(items)).str();
}

std::string StoreBackend::retry(std::span<const Uuid> ids, const Retrying& how) {
  std::vector<model::RetryRequest> batch;
  for (const Uuid& id : ids) {
    batch.push_back({.id = id, .new_id = base::new_uuid7(), .new_effect_key = how.new_effect_key});
  }
  const std::vector<model::RetryResult> results = store().retry(batch, {command_line_actor()});
  std::int64_t retried = 0;
  std::vector<std::string> items;
  for (std::size_t i = 0; i < batch.size(); ++i) {
    const bool made = results[i].verdict == model::RetryVerdict::created;
    if (!made && how.named && ids.size() == 1) { throw_retry_refusal(batch[i].id, results[i]); }
    retried += made ? 1 : 0;
    items.push_back(retry_json(batch[i], results[i]));
  }
  // Wakes workers for the queues of the first 20 executions. Without this, workers find the new runs by themselves, but
  // later.
  std::set<model::QueueRef> queues;
  for (const model::Execution& execution :
       store::list_briefly(store(), ns_, ids.first(std::min<std::size_t>(ids.size(), 20)))) {
    queues.insert(execution.queue);
  }
  store().announce(std::vector<model::QueueRef>(queues.begin(), queues.end()));
  JsonObject object;
  object.number("retried", retried).number("refused", std::ssize(ids) - retried);
  return object.raw("executions", json_array(items)).str();
}

std::int64_t StoreBackend::discard(std::span<const Uuid> ids) { return store().discard(ids, {command_line_actor()}); }

std::int64_t StoreBackend::annotate(std::span<const Uuid> ids, const std::string& note) {
  return store().annotate(ids, note, {command_line_actor()});
}

std::string StoreBackend::signal(const Uuid& id, const SignalRequest& signal) {
  model::Execution got = get(id);
  require_workflow(got);
  shell_.app().find_any(id).signal_json(signal.name, signal.data, signal.once);
  while (got.continued_as) { got = get(*got.continued_as); }
  return signalled_json(got, signal.name);
}

std::string StoreBackend::export_journal(const Uuid& id) { return shell_.app().export_journal(id); }

std::string StoreBackend::fork(const Uuid& id, int steps, const std::string& workflow_id) {
  const AnyHandle forked = shell_.app().fork(id, steps, {.workflow_id = workflow_id});
  JsonObject object;
  object.text("id", forked.id().to_string()).boolean("created", forked.created());
  object.text("status", to_string(forked.status())).number("run", std::int64_t{forked.run()});
  return object.text("forked_from", id.to_string()).number("steps", std::int64_t{steps}).str();
}

}  // namespace hapax::cli
