#include "api/request_fields.hpp"

#include <hapax/error.hpp>

#include "api/parse_values.hpp"
#include "base/json.hpp"
#include "base/json_out.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "engine/build_request.hpp"
#include "model/retry_json.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hapax::api {
namespace {

struct Member {
  std::string_view name;
  void (*read)(RequestFields&, const base::JsonMember&);
};

constexpr std::array members = {
    Member{"task", [](RequestFields& f, const base::JsonMember& m) { f.task = m.text(); }},
    Member{"input", [](RequestFields& f, const base::JsonMember& m) { f.input = std::string(m.value); }},
    Member{"task_id", [](RequestFields& f, const base::JsonMember& m) { f.task_id = m.text(); }},
    Member{"idempotency_key", [](RequestFields& f, const base::JsonMember& m) { f.task_id = m.text(); }},
    Member{"workflow_id", [](RequestFields& f, const base::JsonMember& m) { f.task_id = m.text(); }},
    Member{"wait_timeout", [](RequestFields& f, const base::JsonMember& m) { f.wait_timeout = m.text(); }},
    Member{"queue", [](RequestFields& f, const base::JsonMember& m) { f.queue = m.text(); }},
    Member{"reuse", [](RequestFields& f, const base::JsonMember& m) { f.reuse = m.text(); }},
    Member{"throttle", [](RequestFields& f, const base::JsonMember& m) { f.throttle = m.text(); }},
    Member{"debounce", [](RequestFields& f, const base::JsonMember& m) { f.debounce = m.text(); }},
    Member{"keep_last", [](RequestFields& f, const base::JsonMember& m) { f.keep_last = m.boolean(); }},
    Member{"concurrency_key", [](RequestFields& f, const base::JsonMember& m) { f.concurrency_key = m.text(); }},
    Member{"ordering_key", [](RequestFields& f, const base::JsonMember& m) { f.ordering_key = m.text(); }},
    Member{"weight", [](RequestFields& f, const base::JsonMember& m) { f.weight = m.integer(); }},
    Member{"on_conflict", [](RequestFields& f, const base::JsonMember& m) { f.on_conflict = m.text(); }},
    Member{"delay", [](RequestFields& f, const base::JsonMember& m) { f.delay = m.text(); }},
    Member{"run_at", [](RequestFields& f, const base::JsonMember& m) { f.run_at = m.text(); }},
    Member{"priority", [](RequestFields& f, const base::JsonMember& m) { f.priority = m.integer(); }},
    Member{"max_attempts", [](RequestFields& f, const base::JsonMember& m) { f.max_attempts = m.integer(); }},
    Member{"retry", [](RequestFields& f, const base::JsonMember& m) { f.retry = std::string(m.value); }},
    Member{"retry_base", [](RequestFields& f, const base::JsonMember& m) { f.retry_base = m.text(); }},
    Member{"retry_cap", [](RequestFields& f, const base::JsonMember& m) { f.retry_cap = m.text(); }},
    Member{"timeout", [](RequestFields& f, const base::JsonMember& m) { f.timeout = m.text(); }},
    Member{"deadline", [](RequestFields& f, const base::JsonMember& m) { f.deadline = m.text(); }},
    Member{"tags", [](RequestFields& f, const base::JsonMember& m) { f.tags = m.texts(); }},
    Member{"metadata", [](RequestFields& f, const base::JsonMember& m) { f.metadata = std::string(m.value); }},
    // A value that is not a string counts as malformed, and a malformed traceparent refuses nothing.
    Member{"traceparent", [](RequestFields& f,
                             const base::JsonMember& m) { f.traceparent = m.value.starts_with('"') ? m.text() : ""; }},
    Member{"tracestate", [](RequestFields& f,
                            const base::JsonMember& m) { f.tracestate = m.value.starts_with('"') ? m.text() : ""; }},
};

// The members of a workflow's start (StartOptions).
constexpr std::array<std::string_view, 17> of_workflows = {
    "task",     "input",        "workflow_id", "task_id",     "idempotency_key", "on_conflict",
    "reuse",    "wait_timeout", "queue",       "delay",       "run_at",          "priority",
    "deadline", "tags",         "metadata",    "traceparent", "tracestate"};

// A task's request does not take workflow_id; a workflow's takes all three names of the key.
bool is_known(const Member& member, model::Kind kind) {
  if (kind == model::Kind::workflow) { return std::ranges::find(of_workflows, member.name) != of_workflows.end(); }
  return member.name != "workflow_id";
}

// A request with both forms is refused, so that neither wins silently. One form overrides the other form in the
// defaults.
void settle_retry(RequestFields& fields, bool has_object, bool has_flat) {
  if (has_object && has_flat) {
    throw InvalidArgument("retry",
                          "is given beside retry_base or retry_cap; expected one of the two, such as "
                          "\"retry\": {\"base\": \"1s\", \"cap\": \"1m\"}");
  }
  if (has_object) {
    fields.retry_base.reset();
    fields.retry_cap.reset();
  } else if (has_flat) {
    fields.retry.reset();
  }
}

bool is_key(std::string_view name) { return name == "task_id" || name == "idempotency_key" || name == "workflow_id"; }

[[noreturn]] void refuse_member(const std::string& name, model::Kind kind) {
  if (std::ranges::find(members, name, &Member::name) != members.end() && name != "workflow_id") {
    throw InvalidArgument(name,
                          "is for tasks; the start of a workflow has no such member, as a workflow runs once under "
                          "its id and its steps retry by themselves");
  }
  std::vector<std::string> known;
  for (const Member& member : members) {
    if (is_known(member, kind)) { known.emplace_back(member.name); }
  }
  throw InvalidArgument(base::echo(name), "unknown member" + base::did_you_mean(name, known));
}

}  // namespace

OnConflict parse_on_conflict(std::string_view text) {
  if (text == "return_existing") return OnConflict::return_existing;
  if (text == "reject") return OnConflict::reject;
  if (text == "wait") return OnConflict::wait;
  if (text == "terminate_existing") return OnConflict::terminate_existing;
  throw InvalidArgument("on_conflict",
                        base::quoted(text) + " is none; expected return_existing, reject, wait or terminate_existing");
}

model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                 engine::CatalogueCache& catalogue) {
  return make_request(fields, namespace_name, catalogue.find(TaskSpec{.name = fields.task, .options = {}}));
}

model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                 const engine::CatalogueCache::Entry& entry) {
  TaskSpec task{.name = fields.task, .options = {}};
  if (fields.kind == model::Kind::workflow) { task.options.max_attempts = 1; }
  EnqueueOptions options;
  options.task_id = fields.task_id;
  options.queue = fields.queue;
  options.delay = optional_duration(fields.delay, "delay");
  if (fields.run_at) { options.run_at = parse_time(*fields.run_at, "run_at"); }
  if (fields.priority) {
    options.priority = within(*fields.priority, {limits::priority_min, limits::priority_max}, "priority");
  }
  if (fields.max_attempts) {
    options.max_attempts = within(*fields.max_attempts, {1, limits::max_attempts}, "max_attempts");
  }
  options.on_conflict = parse_on_conflict(fields.on_conflict);
  if (fields.reuse) { options.reuse = model::parse_reuse(*fields.reuse, "reuse"); }
  options.throttle = optional_duration(fields.throttle, "throttle");
  options.debounce = optional_duration(fields.debounce, "debounce");
  options.keep_last = fields.keep_last;
  options.concurrency_key = fields.concurrency_key;
  options.ordering_key = fields.ordering_key;
  options.weight = within(fields.weight, {1, limits::weight}, "weight");
  options.timeout = optional_duration(fields.timeout, "timeout");
  options.deadline = optional_duration(fields.deadline, "deadline");
  if (fields.retry) {
    options.retry = model::decode_retry(*fields.retry, "retry");
  } else if (fields.retry_base || fields.retry_cap) {
    RetryPolicy policy;
    policy.base = optional_duration(fields.retry_base, "retry_base").value_or(policy.base);
    policy.cap = optional_duration(fields.retry_cap, "retry_cap").value_or(std::max(policy.cap, policy.base));
    options.retry = policy;
  }
  options.tags = fields.tags;
  options.traceparent = fields.traceparent;
  options.tracestate = fields.tracestate;
  model::NewExecution request = engine::make_request(namespace_name, task, entry, fields.input, options);
  request.kind = fields.kind;
  // Kept as text: a parsed object would lose the order of its members.
  request.labels.metadata = fields.metadata;
  request.labels.actor = fields.actor;
  return request;
}

std::string request_json(const RequestFields& fields) {
  base::check_json(fields.input, "input");
  base::JsonObject object;
  // Text that is not UTF-8 cannot be written as JSON, and must not arrive altered.
  const auto text = [&object](std::string_view name, const std::optional<std::string>& value) {
    if (!value) { return; }
    if (!base::is_valid_utf8(*value)) { throw InvalidArgument(std::string(name), "is not UTF-8"); }
    object.text(name, *value);
  };
  const auto number = [&object](std::string_view name, const std::optional<std::int64_t>& value) {
    if (value) { object.number(name, *value); }
  };
  text("task", fields.task);
  text(fields.kind == model::Kind::workflow ? "workflow_id" : "task_id", fields.task_id);
  text("queue", fields.queue);
  text("on_conflict", fields.on_conflict);
  text("wait_timeout", fields.wait_timeout);
  text("reuse", fields.reuse);
  text("throttle", fields.throttle);
  text("debounce", fields.debounce);
  if (fields.keep_last) { object.boolean("keep_last", true); }
  text("concurrency_key", fields.concurrency_key);
  text("ordering_key", fields.ordering_key);
  if (fields.weight != 1) { object.number("weight", fields.weight); }
  text("delay", fields.delay);
  text("run_at", fields.run_at);
  number("priority", fields.priority);
  number("max_attempts", fields.max_attempts);
  if (fields.retry) { object.raw("retry", *fields.retry); }
  text("retry_base", fields.retry_base);
  text("retry_cap", fields.retry_cap);
  text("timeout", fields.timeout);
  text("deadline", fields.deadline);
  for (const std::string& tag : fields.tags) {
    if (!base::is_valid_utf8(tag)) { throw InvalidArgument("tags", "has one that is not UTF-8"); }
  }
  if (!fields.tags.empty()) { object.raw("tags", base::json_text_array(fields.tags)); }
  if (!fields.metadata.empty()) {
    base::check_json(fields.metadata, "metadata");
    object.raw("metadata", fields.metadata);
  }
  if (!fields.traceparent.empty()) { text("traceparent", fields.traceparent); }
  if (!fields.tracestate.empty()) { text("tracestate", fields.tracestate); }
  return object.raw("input", fields.input).str();
}

RequestFields parse_request(std::string_view json, RequestFields defaults, std::string_view field) {
  base::check_json(json, field, 1);
  RequestFields& fields = defaults;
  bool has_key = false;
  bool has_retry = false;
  bool has_flat_retry = false;
  for (const base::JsonMember& given : base::checked_members(json, field)) {
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const Member& m) { return m.name == given.name && is_known(m, fields.kind); });
    if (member == members.end()) { refuse_member(given.name, fields.kind); }
    if (given.is_null() && given.name != "input") { continue; }
    if (is_key(member->name)) {
      if (std::exchange(has_key, true) && fields.task_id != given.text()) {
        throw InvalidArgument(given.name, base::quoted(given.text()) + " after " + base::quoted(*fields.task_id) +
                                              "; task_id and idempotency_key are the same thing: expected one of "
                                              "them, such as \"task_id\": \"charge-order-456\"");
      }
    }
    if (member->name == "on_conflict") { fields.on_conflict_is_usual = false; }
    has_retry = has_retry || member->name == "retry";
    has_flat_retry = has_flat_retry || member->name == "retry_base" || member->name == "retry_cap";
    member->read(fields, given);
  }
  settle_retry(fields, has_retry, has_flat_retry);
  // Debounce and keep_last accept every request, so the default on_conflict does not apply to them.
  if (fields.on_conflict_is_usual && (fields.debounce || fields.keep_last)) { fields.on_conflict = "return_existing"; }
  return defaults;
}

}  // namespace hapax::api
