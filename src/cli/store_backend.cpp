#include "cli/store_backend.hpp"

#include <hapax/app.hpp>

#include "api/acting_json.hpp"
#include "api/execution_json.hpp"
#include "api/identity_json.hpp"
#include "app/find.hpp"
#include "base/json_out.hpp"
#include "base/limits.hpp"
#include "engine/build_request.hpp"
#include "engine/step_thread.hpp"
#include "engine/sweeper.hpp"
#include "engine/waiters.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"
#include "schedule/activity.hpp"

#include <algorithm>

namespace hapax::cli {
namespace {

// A batch is bounded in bytes too, because 5,000 inputs of 1 MiB would not fit in memory.
constexpr std::size_t store_backend_batch_bytes = 16 << 20;

class StoreBulk : public Bulk {
 public:
  StoreBulk(engine::Engine& engine, std::string namespace_name)
      : engine_(engine), namespace_name_(std::move(namespace_name)), catalogue_(engine.catalogue(namespace_name_)) {}

  void add(RequestFields fields) override {
    fields.actor = actor_;
    bytes_ += fields.input.size() + fields.metadata.size();
    batch_.push_back(make(fields));
    fields.input.clear();  // the request has the input
    asked_.push_back(std::move(fields));
  }

  [[nodiscard]] bool is_full() const override {
    return batch_.size() >= static_cast<std::size_t>(limits::bulk_batch) || bytes_ >= store_backend_batch_bytes;
  }

  [[nodiscard]] std::vector<BulkAnswer> flush() override {
    std::vector<BulkAnswer> answers;
    bool is_made = true;
    const std::vector<model::Admission> admissions = engine::with_current_catalogue(*catalogue_, [&] {
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
  [[nodiscard]] model::NewExecution make(const RequestFields& fields) {
    model::NewExecution request = make_request(fields, namespace_name_, *catalogue_);
    model::check_new_execution(request);
    return request;
  }

  // Builds the requests again, by the catalogue as it is now.
  void remake() {
    for (std::size_t i = 0; i < batch_.size(); ++i) {
      asked_[i].input = std::move(batch_[i].input);
      batch_[i] = make(asked_[i]);
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
  const std::string namespace_name_;
  const std::shared_ptr<engine::CatalogueCache> catalogue_;
  const std::string actor_ = command_line_actor();
  std::vector<model::NewExecution> batch_;
  std::vector<RequestFields> asked_;  // the fields that each request was made of, without the input
  std::size_t bytes_ = 0;
};

}  // namespace

StoreBackend::StoreBackend(Shell& shell)
    : shell_(shell),
      store_(shell.shared_store()),
      namespace_name_(shell.namespace_name()),
      engine_(store_),
      operations_(engine_, namespace_name_, {command_line_actor()}),
      catalogue_(engine_.catalogue(namespace_name_)),
      activities_(engine_, namespace_name_) {}

model::Execution StoreBackend::get(const Uuid& id, Payloads payloads) {
  const auto read = [&] {
    return payloads == Payloads::with ? app::find_execution(store(), namespace_name_, id)
                                      : app::find_briefly(store(), namespace_name_, id);
  };
  model::Execution found = read();
  // An execution past its deadline is shown as timed out, even when no worker runs that would end it.
  if (found.deadline && !is_terminal(found.status) && engine::end_if_overdue(store(), id)) { found = read(); }
  return found;
}

Uuid StoreBackend::find(const ExecutionName& name) {
  if (name.run) { return app::find_run(store(), namespace_name_, *name.run); }
  const model::Kind kind = name.task ? model::Kind::task : model::Kind::workflow;
  const auto& [task, key] = name.task ? *name.task : *name.workflow;
  return app::find_by_key(store(), namespace_name_, *catalogue_,
                          {.kind = kind, .task = {.name = task, .options = {}}, .key = key, .queue = name.queue});
}

void StoreBackend::check(const Uuid& id) { (void)get(id, Payloads::without); }

std::string StoreBackend::show(const Uuid& id) {
  const model::Execution execution = get(id);
  return shown_execution_json(shell_.app(), execution);
}

std::vector<std::string> StoreBackend::list(const Listing& listing) {
  model::ListQuery query = listing.query;
  query.namespace_name = namespace_name_;
  if (listing.activity) {
    schedule::check_activity_id(*listing.activity, "activity");
    query.parent = model::activity_uuid(namespace_name_, *listing.activity);
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
  engine::CatalogueCache& catalogue = *catalogue_;
  model::NewExecution request;
  const auto ask = [&] {
    return engine::with_current_catalogue(catalogue, [&] {
      request = make_request(fields, namespace_name_, catalogue);
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

std::unique_ptr<Bulk> StoreBackend::bulk() { return std::make_unique<StoreBulk>(engine_, namespace_name_); }

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
                        " was deleted by retention, and its result with it");
  }
  return outcome_json(*standing);
}

std::string StoreBackend::explain(const Uuid& id) {
  (void)get(id, Payloads::without);  // ends an overdue execution
  const app::Operations::Explained explained = operations_.explain(id);
  return explain_json(explained.execution, explained.reasons);
}

std::string StoreBackend::identity(const RequestFields& fields) {
  return identity_json(ask_identity(store(), namespace_name_, *catalogue_, fields));
}

std::string StoreBackend::cancel(std::span<const Uuid> ids, const std::string& reason) {
  app::Operations::check_reason(reason);
  const app::Page page = operations_.named(ids);
  CancelTally tally;
  tally.add(page, operations_.cancel(page, reason));
  return tally.json().str();
}

std::string StoreBackend::retry(std::span<const Uuid> ids, const Retrying& how) {
  RetryTally tally;
  if (how.named && ids.size() == 1) {
    tally.add({operations_.retry(ids.front(), how.options)});
  } else {
    tally.add(operations_.retry(operations_.named(ids), how.options));
  }
  return tally.json().str();
}

std::int64_t StoreBackend::discard(std::span<const Uuid> ids) {
  return operations_.discard(operations_.dead_letters(ids));
}

std::int64_t StoreBackend::annotate(std::span<const Uuid> ids, const std::string& note) {
  return operations_.annotate(operations_.dead_letters(ids), note);
}

std::string StoreBackend::signal(const Uuid& id, const SignalRequest& signal) {
  model::Execution got = get(id);
  app::require_workflow(got);
  shell_.app().find_any(id).signal_json(signal.name, signal.data, signal.once);
  while (got.continued_as) { got = get(*got.continued_as); }
  return signalled_json(got, signal.name);
}

std::string StoreBackend::export_journal(const Uuid& id) { return shell_.app().export_journal(id); }

std::string StoreBackend::fork(const Uuid& id, int steps, const std::string& workflow_id) {
  const AnyHandle forked = shell_.app().fork(id, steps, {.workflow_id = workflow_id});
  return forked_json(forked, id, steps);
}

}  // namespace hapax::cli
