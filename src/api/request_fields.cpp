#include "api/request_fields.hpp"

#include <hapax/error.hpp>

#include "api/execution_json.hpp"
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

using base::JsonMember;

constexpr std::array<std::string_view, 4> conflict_words = {"return_existing", "reject", "wait", "terminate_existing"};

OnConflict parse_on_conflict(const std::string& text) {
  const auto* const word = std::ranges::find(conflict_words, text);
  if (word != conflict_words.end()) { return static_cast<OnConflict>(word - conflict_words.begin()); }
  throw InvalidArgument("on_conflict",
                        base::quoted(text) + " is none; expected return_existing, reject, wait or terminate_existing");
}

Duration duration_of(const JsonMember& m) { return parse_duration(m.text(), m.name); }
int small_of(const JsonMember& m, Range range) { return within(m.integer(), range, m.name); }

struct Member {
  std::string_view name;
  void (*read)(RequestFields&, const JsonMember&);
};

// The reader of a member of EnqueueOptions that is a text, or a duration.
template <auto member>
void read_text(RequestFields& f, const JsonMember& m) {
  f.options.*member = m.text();
}
template <auto member>
void read_duration(RequestFields& f, const JsonMember& m) {
  f.options.*member = duration_of(m);
}
// A value that is not a string counts as malformed, and a malformed trace context refuses nothing.
template <auto member>
void read_trace(RequestFields& f, const JsonMember& m) {
  f.options.*member = m.value.starts_with('"') ? m.text() : "";
}

using O = EnqueueOptions;
constexpr std::array members = {
    Member{"task", [](RequestFields& f, const JsonMember& m) { f.task = m.text(); }},
    Member{"input", [](RequestFields& f, const JsonMember& m) { f.input = std::string(m.value); }},
    Member{"task_id", read_text<&O::task_id>},
    Member{"idempotency_key", read_text<&O::task_id>},
    Member{"workflow_id", read_text<&O::task_id>},
    Member{"wait_timeout", read_duration<&O::wait_timeout>},
    Member{"queue", read_text<&O::queue>},
    Member{"reuse",
           [](RequestFields& f, const JsonMember& m) { f.options.reuse = model::parse_reuse(m.text(), "reuse"); }},
    Member{"throttle", read_duration<&O::throttle>},
    Member{"debounce", read_duration<&O::debounce>},
    Member{"keep_last", [](RequestFields& f, const JsonMember& m) { f.options.keep_last = m.boolean(); }},
    Member{"concurrency_key", read_text<&O::concurrency_key>},
    Member{"ordering_key", read_text<&O::ordering_key>},
    Member{"weight",
           [](RequestFields& f, const JsonMember& m) {
             f.options.weight = small_of(m, {1, limits::weight});
           }},
    Member{"on_conflict",
           [](RequestFields& f, const JsonMember& m) {
             f.options.on_conflict = parse_on_conflict(m.text());
             f.on_conflict_is_default = false;
           }},
    Member{"delay", read_duration<&O::delay>},
    Member{"run_at", [](RequestFields& f, const JsonMember& m) { f.options.run_at = parse_time(m.text(), "run_at"); }},
    Member{"priority",
           [](RequestFields& f, const JsonMember& m) {
             f.options.priority = small_of(m, {limits::priority_min, limits::priority_max});
           }},
    Member{"max_attempts",
           [](RequestFields& f, const JsonMember& m) {
             f.options.max_attempts = small_of(m, {1, limits::max_attempts});
           }},
    Member{"retry",
           [](RequestFields& f, const JsonMember& m) { f.options.retry = model::decode_retry(m.value, "retry"); }},
    Member{"retry_base", [](RequestFields& f, const JsonMember& m) { f.retry_base = duration_of(m); }},
    Member{"retry_cap", [](RequestFields& f, const JsonMember& m) { f.retry_cap = duration_of(m); }},
    Member{"timeout", read_duration<&O::timeout>},
    Member{"deadline", read_duration<&O::deadline>},
    Member{"tags", [](RequestFields& f, const JsonMember& m) { f.options.tags = m.texts(); }},
    Member{"metadata", [](RequestFields& f, const JsonMember& m) { f.metadata = std::string(m.value); }},
    Member{"traceparent", read_trace<&O::traceparent>},
    Member{"tracestate", read_trace<&O::tracestate>},
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
    RetryPolicy& policy = fields.options.retry.emplace();
    policy.base = fields.retry_base.value_or(policy.base);
    policy.cap = fields.retry_cap.value_or(std::max(policy.cap, policy.base));
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

model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                 engine::CatalogueCache& catalogue) {
  return make_request(fields, namespace_name, catalogue.find(TaskSpec{.name = fields.task, .options = {}}));
}

model::NewExecution make_request(const RequestFields& fields, const std::string& namespace_name,
                                 const engine::CatalogueCache::Entry& entry) {
  TaskSpec task{.name = fields.task, .options = {}};
  if (fields.kind == model::Kind::workflow) { task.options.max_attempts = 1; }
  return engine::make_request({.namespace_name = namespace_name,
                               .task = task,
                               .entry = entry,
                               .input = fields.input,
                               .options = fields.options,
                               .kind = fields.kind,
                               .metadata = fields.metadata,
                               .actor = fields.actor});
}

std::string request_json(const RequestFields& fields) {
  base::check_json(fields.input, "input");
  const EnqueueOptions& options = fields.options;
  base::JsonObject object;
  // Text that is not UTF-8 is refused, because JSON cannot carry it unchanged.
  const auto text = [&object](std::string_view name, const std::optional<std::string>& value) {
    if (!value) { return; }
    if (!base::is_valid_utf8(*value)) { throw InvalidArgument(std::string(name), "is not UTF-8"); }
    object.text(name, *value);
  };
  const auto number = [&object](std::string_view name, const std::optional<int>& value) {
    if (value) { object.number(name, std::int64_t{*value}); }
  };
  const auto duration = [&object](std::string_view name, const std::optional<Duration>& value) {
    if (value) { object.duration(name, value); }
  };
  text("task", fields.task);
  text(fields.kind == model::Kind::workflow ? "workflow_id" : "task_id", options.task_id);
  text("queue", options.queue);
  object.text("on_conflict", conflict_words.at(static_cast<std::size_t>(options.on_conflict)));
  duration("wait_timeout", options.wait_timeout);
  if (options.reuse) { object.text("reuse", model::to_word(*options.reuse)); }
  duration("throttle", options.throttle);
  duration("debounce", options.debounce);
  if (options.keep_last) { object.boolean("keep_last", true); }
  text("concurrency_key", options.concurrency_key);
  text("ordering_key", options.ordering_key);
  if (options.weight != 1) { number("weight", options.weight); }
  duration("delay", options.delay);
  if (options.run_at) { object.time("run_at", options.run_at); }
  number("priority", options.priority);
  number("max_attempts", options.max_attempts);
  if (options.retry) { object.raw("retry", retry_json(*options.retry)); }
  duration("timeout", options.timeout);
  duration("deadline", options.deadline);
  for (const std::string& tag : options.tags) {
    if (!base::is_valid_utf8(tag)) { throw InvalidArgument("tags", "has one that is not UTF-8"); }
  }
  if (!options.tags.empty()) { object.raw("tags", base::json_text_array(options.tags)); }
  if (!fields.metadata.empty()) {
    base::check_json(fields.metadata, "metadata");
    object.raw("metadata", fields.metadata);
  }
  if (!options.traceparent.empty()) { text("traceparent", options.traceparent); }
  if (!options.tracestate.empty()) { text("tracestate", options.tracestate); }
  return object.raw("input", fields.input).str();
}

RequestFields parse_request(std::string_view json, RequestFields defaults, std::string_view field) {
  base::check_json(json, field, 1);
  RequestFields& fields = defaults;
  bool has_key = false;
  bool has_retry = false;
  bool has_flat_retry = false;
  for (const JsonMember& given : base::checked_members(json, field)) {
    const auto member = std::find_if(members.begin(), members.end(),
                                     [&](const Member& m) { return m.name == given.name && is_known(m, fields.kind); });
    if (member == members.end()) { refuse_member(given.name, fields.kind); }
    if (given.is_null() && given.name != "input") { continue; }
    if (is_key(member->name)) {
      if (std::exchange(has_key, true) && fields.options.task_id != given.text()) {
        throw InvalidArgument(given.name, base::quoted(given.text()) + " after " +
                                              base::quoted(*fields.options.task_id) +
                                              "; task_id and idempotency_key are the same thing: expected one of "
                                              "them, such as \"task_id\": \"charge-order-456\"");
      }
    }
    has_retry = has_retry || member->name == "retry";
    has_flat_retry = has_flat_retry || member->name == "retry_base" || member->name == "retry_cap";
    member->read(fields, given);
  }
  settle_retry(fields, has_retry, has_flat_retry);
  // Debounce and keep_last accept every request, so the default on_conflict does not apply to them.
  if (fields.on_conflict_is_default && (fields.options.debounce || fields.options.keep_last)) {
    fields.options.on_conflict = OnConflict::return_existing;
  }
  return defaults;
}

}  // namespace hapax::api
