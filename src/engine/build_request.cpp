#include "engine/build_request.hpp"

#include <hapax/error.hpp>

#include "base/uuid7.hpp"
#include "model/traceparent.hpp"
#include "model/validate.hpp"

namespace hapax::engine {

namespace {

// The first value that is set.
template <class T>
std::optional<T> first_of(const std::optional<T>& asked, const std::optional<T>* catalogued,
                          const std::optional<T>& otherwise) {
  if (asked) { return asked; }
  return catalogued != nullptr && *catalogued ? *catalogued : otherwise;
}

template <class T>
T first_of(const std::optional<T>& asked, const std::optional<T>* catalogued, const T& otherwise) {
  if (asked) { return *asked; }
  return catalogued != nullptr && *catalogued ? **catalogued : otherwise;
}

std::optional<model::LimitKey> limit_key_of(const EnqueueOptions& options) {
  if (options.concurrency_key && options.ordering_key) {
    throw InvalidArgument("ordering_key",
                          "given together with concurrency_key; expected one of them (an ordering key runs one at a "
                          "time already)");
  }
  if (options.ordering_key) { return model::LimitKey{.text = *options.ordering_key, .ordered = true}; }
  if (options.concurrency_key) { return model::LimitKey{.text = *options.concurrency_key}; }
  return std::nullopt;
}

// The ID of a workflow's run is the key of its request.
void check_workflow_id(const EnqueueOptions& options) {
  if (options.task_id) { return; }
  throw InvalidArgument("workflow_id",
                        "is missing; each start says what it is, such as \"order-456\", so that asking again meets the "
                        "same run");
}

void add_labels(model::NewExecution& request, RequestParts& parts) {
  const EnqueueOptions& options = parts.options;
  request.labels.tags = options.tags;
  request.labels.metadata = std::move(parts.metadata);
  request.labels.actor = std::move(parts.actor);
  model::set_trace(request.labels, options.traceparent, options.tracestate);
  if (options.metadata.is_null()) { return; }
  if (!options.metadata.is_object()) {
    throw InvalidArgument("metadata", std::string("a JSON ") + options.metadata.type_name() + ", expected an object");
  }
  request.labels.metadata = hapax::detail::encode_strict(options.metadata, "metadata");
}

}  // namespace

model::IdentityRules rules_for(const TaskSpec& task, const CatalogueCache::Entry& entry) {
  if (entry.definition != nullptr) {
    model::IdentityRules rules = model::rules_of(entry.definition, entry.default_strategy());
    // A catalogue entry without a reuse policy leaves that policy to the programs that use the task.
    if (!entry.definition->reuse) { rules.reuse = task.options.reuse; }
    return rules;
  }
  model::IdentityRules rules;
  rules.scope = task.options.identity_scope.value_or(IdentityScope::task);
  rules.fingerprint = task.options.fingerprint.value_or(Fingerprint{});
  rules.reuse = task.options.reuse;
  rules.dedup_window = task.options.dedup_window;
  return rules;
}

model::NewExecution make_request(RequestParts parts) {
  const EnqueueOptions& options = parts.options;
  if (parts.kind == model::Kind::workflow) { check_workflow_id(options); }
  const model::TaskDefinition* const stored = parts.entry.definition;
  const TaskOptions& usual = parts.task.options;
  model::NewExecution request;
  request.id = base::new_uuid7();
  request.queue = {parts.namespace_name,
                   first_of(options.queue, stored != nullptr ? &stored->queue : nullptr, usual.queue)};
  request.task = parts.task.name;
  request.kind = parts.kind;
  request.input = std::move(parts.input);
  request.priority = first_of(options.priority, stored != nullptr ? &stored->priority : nullptr, usual.priority);
  if (options.delay && options.run_at) {
    throw InvalidArgument("run_at", "given together with delay; expected one of them");
  }
  request.delay = options.delay.value_or(Duration::zero());
  request.run_at = options.run_at;
  request.max_attempts =
      first_of(options.max_attempts, stored != nullptr ? &stored->max_attempts : nullptr, usual.max_attempts);
  request.max_lost = stored != nullptr && stored->max_lost ? *stored->max_lost : usual.max_lost;
  request.retry = first_of(options.retry, stored != nullptr ? &stored->retry : nullptr, usual.retry);
  request.attempt_timeout = first_of(options.timeout, stored != nullptr ? &stored->timeout : nullptr, usual.timeout);
  request.deadline = first_of(options.deadline, stored != nullptr ? &stored->deadline : nullptr, usual.deadline);
  request.effect_key = options.effect_key;
  request.limit_key = limit_key_of(options);
  request.weight = options.weight;
  request.catalogue_version = parts.entry.version;
  const bool plain =
      !options.task_id && stored == nullptr && !options.throttle && !options.debounce && !options.keep_last;
  if (!plain) { model::identify(request, rules_for(parts.task, parts.entry), options); }
  add_labels(request, parts);
  model::check_new_execution(request);
  return request;
}

std::optional<Uuid> latest_under(store::Store& store, const std::string& namespace_name, const base::Digest& identity) {
  if (const std::optional<Uuid> holder = store.holder(identity)) { return holder; }
  model::ListQuery query;
  query.namespace_name = namespace_name;
  query.identity = identity;
  query.payloads = false;
  query.limit = 1;
  const std::vector<model::Execution> newest = store.list(query);
  return newest.empty() ? std::nullopt : std::optional(newest.front().id);
}

}  // namespace hapax::engine
