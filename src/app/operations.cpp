#include "app/operations.hpp"

#include <hapax/error.hpp>

#include "app/explain_facts.hpp"
#include "app/find.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "model/labels.hpp"
#include "model/validate.hpp"
#include "store/brief.hpp"

#include <algorithm>
#include <map>
#include <set>

namespace hapax::app {

using model::RetryVerdict;

namespace {

std::vector<Uuid> ids_of(const Page& page) {
  std::vector<Uuid> ids;
  ids.reserve(page.size());
  for (const model::Execution& execution : page) { ids.push_back(execution.id); }
  return ids;
}

void check_text(std::string_view text, const char* field, std::size_t most) {
  if (text.size() > most) {
    throw InvalidArgument(field,
                          "has " + std::to_string(text.size()) + " bytes; expected at most " + std::to_string(most));
  }
  if (!base::is_valid_utf8(text)) { throw InvalidArgument(field, "is not UTF-8"); }
}

}  // namespace

void select_unfinished(model::ListQuery& query) {
  if (query.statuses.empty()) { query.statuses = {Status::pending, Status::running}; }
}

void select_failed(model::ListQuery& query) {
  if (query.statuses.empty()) { query.statuses = {Status::failed}; }
}

void throw_cancel_refusal(const Uuid& id, const model::CancelResult& result) {
  if (result.verdict != model::CancelVerdict::finished) { throw NotFound("no execution " + id.to_string()); }
  throw WrongStatus("execution " + id.to_string() + " is already " + std::string(to_string(result.status)),
                    result.status);
}

void throw_retry_refusal(const Uuid& id, const model::RetryResult& result) {
  const std::string subject = "execution " + id.to_string();
  switch (result.verdict) {
    case RetryVerdict::not_finished:
      throw WrongStatus(subject + " is " + std::string(to_string(result.status)) + ", so there is nothing to retry yet",
                        result.status);
    case RetryVerdict::completed:
      throw WrongStatus(subject + " completed, so there is nothing to retry", Status::completed);
    case RetryVerdict::already_retried:
      throw TaskAlreadyExists(subject + " was retried already, as " + result.existing.to_string(), result.existing,
                              result.status);
    case RetryVerdict::identity_held:
      throw TaskAlreadyExists(subject + " has a newer run under its key, " + result.existing.to_string(),
                              result.existing, result.status);
    case RetryVerdict::guarded:
      throw WrongStatus(subject + " is a guarded call: forget its record (hapax guard forget), and call it again",
                        result.status);
    case RetryVerdict::created:
    case RetryVerdict::not_found: break;
  }
  throw NotFound("no ended execution " + id.to_string());
}

void require_dead_letter(const model::Execution& execution) {
  if (execution.dead) { return; }
  throw NotFound("execution " + execution.id.to_string() + " is " + std::string(to_string(execution.status)) +
                 " and not a dead letter");
}

void require_workflow(const model::Execution& run) {
  if (run.kind == model::Kind::workflow) { return; }
  throw InvalidArgument("execution", run.id.to_string() + " is a task; expected a workflow's run");
}

void check_audit(const model::AuditQuery& query) {
  if (query.limit >= 1 && query.limit <= limits::list_page) { return; }
  throw InvalidArgument(
      "limit", std::to_string(query.limit) + " is out of range; expected 1 to " + std::to_string(limits::list_page));
}

model::ListQuery query_of(const std::string& namespace_name, const ListOptions& options) {
  if (options.limit < 1 || options.limit > limits::list_page) {
    throw InvalidArgument("limit",
                          std::to_string(options.limit) + ", expected 1 to " + std::to_string(limits::list_page));
  }
  model::ListQuery query;
  query.namespace_name = namespace_name;
  query.statuses = options.statuses;
  query.queue = options.queue;
  query.task = options.task;
  query.tag = options.tag;
  query.metadata = options.metadata;
  model::check_metadata_matches(query.metadata);
  query.parent = options.parent;
  query.created_from = options.created_from;
  query.created_before = options.created_before;
  query.dead_only = options.dead_only;
  query.payloads = options.payloads;
  query.after = options.after;
  query.limit = options.limit;
  return query;
}

void Operations::wake(const Page& page) const {
  std::set<model::QueueRef> queues;
  for (const model::Execution& execution : page) { queues.insert(execution.queue); }
  if (!queues.empty()) { engine_.wake_workers(std::vector<model::QueueRef>(queues.begin(), queues.end())); }
}

Operations::Explained Operations::explain(const Uuid& id) const {
  Explained explained{.execution = find_briefly(store(), namespace_name_, id), .reasons = {}};
  explained.reasons = model::explain(gather_facts(store(), explained.execution));
  return explained;
}

Page Operations::named(std::span<const Uuid> ids) const {
  std::map<Uuid, model::Execution> found;
  for (model::Execution& execution : store::list_briefly(store(), namespace_name_, ids)) {
    found.insert_or_assign(execution.id, std::move(execution));
  }
  Page page;
  for (const Uuid& id : ids) {
    const auto at = found.find(id);
    if (at == found.end()) { continue; }
    page.push_back(std::move(at->second));
    found.erase(at);
  }
  return page;
}

void Operations::check_reason(std::string_view reason) { check_text(reason, "reason", limits::error_message_bytes); }

std::vector<model::CancelResult> Operations::cancel(const Page& page, std::string_view reason) const {
  if (page.empty()) { return {}; }
  std::vector<model::CancelResult> results = store().cancel(ids_of(page), reason, by_);
  Page changed;
  for (std::size_t i = 0; i < page.size(); ++i) {
    const model::CancelVerdict verdict = results[i].verdict;
    // A waiting workflow that is asked to end, and an execution behind the cancelled one of its key, can be claimed now.
    if (verdict == model::CancelVerdict::cancelled || verdict == model::CancelVerdict::requested) {
      changed.push_back(page[i]);
    }
  }
  wake(changed);
  return results;
}

model::CancelResult Operations::cancel(const Uuid& id, std::string_view reason) const {
  const model::CancelResult result = cancel(Page{find_briefly(store(), namespace_name_, id)}, reason).front();
  const bool done =
      result.verdict == model::CancelVerdict::cancelled || result.verdict == model::CancelVerdict::requested;
  if (!done) { throw_cancel_refusal(id, result); }
  return result;
}

std::vector<Retried> Operations::retry(const Page& page, const RetryOptions& options) const {
  if (page.empty()) { return {}; }
  std::vector<model::RetryRequest> requests;
  for (const model::Execution& execution : page) {
    requests.push_back({.id = execution.id, .new_id = base::new_uuid7(), .new_effect_key = options.new_effect_key});
  }
  const std::vector<model::RetryResult> results = store().retry(requests, by_);
  std::vector<Retried> retried;
  Page made;
  for (std::size_t i = 0; i < page.size(); ++i) {
    retried.push_back({.id = requests[i].id, .new_id = requests[i].new_id, .result = results[i]});
    if (results[i].verdict == RetryVerdict::created) { made.push_back(page[i]); }
  }
  wake(made);
  return retried;
}

Retried Operations::retry(const Uuid& id, const RetryOptions& options) const {
  Retried retried = retry(Page{find_briefly(store(), namespace_name_, id)}, options).front();
  if (retried.result.verdict != RetryVerdict::created) { throw_retry_refusal(id, retried.result); }
  return retried;
}

Signalled Operations::signal(const model::Signal& signal) const {
  model::check_name(signal.name, "signal");
  if (signal.data.size() > base::payload_limit()) {
    throw PayloadTooLarge("payload", signal.data.size(), base::payload_limit());
  }
  base::check_json(signal.data, "payload");
  if (signal.once) { model::check_key(*signal.once); }
  Signalled signalled{.run = find_briefly(store(), namespace_name_, signal.execution), .woken = {}};
  require_workflow(signalled.run);
  const model::SignalResult result = store().signal({&signal, 1}, by_).front();
  switch (result.verdict) {
    case model::SignalVerdict::accepted: break;
    case model::SignalVerdict::not_found: throw NotFound("no execution " + signal.execution.to_string());
    case model::SignalVerdict::not_a_workflow: require_workflow(signalled.run); break;
    case model::SignalVerdict::finished:
      throw WrongStatus("workflow " + result.execution.to_string() + " has ended as " +
                            std::string(to_string(result.status)) + " and takes no signals",
                        result.status);
  }
  signalled.woken = result.woken;
  if (result.woken) { engine_.wake_workers({&*result.woken, 1}); }
  // The run that got the signal has the workflow and the workflow ID of the run that was continued. Its record is not
  // read: a read that fails after the signal was accepted would make the caller send the signal again.
  signalled.run.id = result.execution;
  return signalled;
}

Page Operations::dead_letters(std::span<const Uuid> ids) const {
  if (ids.size() == 1) {
    model::Execution execution = find_briefly(store(), namespace_name_, ids.front());
    require_dead_letter(execution);
    return {std::move(execution)};
  }
  Page page = named(ids);
  std::erase_if(page, [](const model::Execution& execution) { return !execution.dead; });
  return page;
}

int Operations::discard(const Page& page) const { return page.empty() ? 0 : store().discard(ids_of(page), by_); }

void Operations::check_note(std::string_view note) { check_text(note, "note", limits::note_bytes); }

int Operations::annotate(const Page& page, std::string_view note) const {
  check_note(note);
  return page.empty() ? 0 : store().annotate(ids_of(page), note, by_);
}

std::vector<model::AuditLine> Operations::audit(model::AuditQuery query) const {
  check_audit(query);
  query.namespace_name = namespace_name_;
  return store().audit(query);
}

Batches::Batches(const Operations& operations, Selection selection)
    : operations_(operations), selection_(std::move(selection)) {
  if (!selection_.query) { return; }
  model::ListQuery& query = *selection_.query;
  query.namespace_name = operations_.namespace_name();
  query.payloads = false;
  query.limit = limits::list_page;
  query.after.reset();
}

Page Batches::next() {
  if (at_end_) { return {}; }
  if (!selection_.query) {
    at_end_ = true;
    return operations_.named(selection_.ids);
  }
  model::ListQuery& query = *selection_.query;
  Page page = operations_.store().list(query);
  // An act on a queue that does not exist is a typing error, not a success without work.
  if (page.empty() && !query.after && query.queue) { (void)operations_.queue(operations_.queue_ref(*query.queue)); }
  at_end_ = std::ssize(page) < query.limit;
  if (!page.empty()) { query.after = page.back().id; }
  return page;
}

}  // namespace hapax::app
