#include "cli/request.hpp"

#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "cli/arguments.hpp"
#include "cli/json_members.hpp"
#include "model/identity.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace hapax::cli {
namespace {

int within(std::int64_t value, int low, int high, const std::string& field) {
  if (value < low || value > high) {
    throw InvalidArgument(field, std::to_string(value) + " is out of range; expected " + std::to_string(low) + " to " +
                                     std::to_string(high));
  }
  return static_cast<int>(value);
}

struct Member {
  std::string_view name;
  void (*read)(RequestFields&, const JsonMember&);
};

constexpr std::array members = {
    Member{"task", [](RequestFields& f, const JsonMember& m) { f.task = m.text(); }},
    Member{"input", [](RequestFields& f, const JsonMember& m) { f.input = std::string(m.json); }},
    Member{"task_id", [](RequestFields& f, const JsonMember& m) { f.task_id = m.text(); }},
    Member{"idempotency_key", [](RequestFields& f, const JsonMember& m) { f.task_id = m.text(); }},
    Member{"queue", [](RequestFields& f, const JsonMember& m) { f.queue = m.text(); }},
    Member{"on_conflict", [](RequestFields& f, const JsonMember& m) { f.on_conflict = m.text(); }},
    Member{"delay", [](RequestFields& f, const JsonMember& m) { f.delay = m.text(); }},
    Member{"run_at", [](RequestFields& f, const JsonMember& m) { f.run_at = m.text(); }},
    Member{"priority", [](RequestFields& f, const JsonMember& m) { f.priority = m.integer(); }},
    Member{"max_attempts", [](RequestFields& f, const JsonMember& m) { f.max_attempts = m.integer(); }},
    Member{"retry_base", [](RequestFields& f, const JsonMember& m) { f.retry_base = m.text(); }},
    Member{"retry_cap", [](RequestFields& f, const JsonMember& m) { f.retry_cap = m.text(); }},
    Member{"timeout", [](RequestFields& f, const JsonMember& m) { f.timeout = m.text(); }},
    Member{"deadline", [](RequestFields& f, const JsonMember& m) { f.deadline = m.text(); }},
    Member{"tags", [](RequestFields& f, const JsonMember& m) { f.tags = m.texts(); }},
    Member{"metadata", [](RequestFields& f, const JsonMember& m) { f.metadata = std::string(m.json); }},
    Member{"traceparent", [](RequestFields& f, const JsonMember& m) { f.traceparent = m.text(); }},
};

[[noreturn]] void refuse_member(const std::string& name) {
  std::vector<std::string> known;
  for (const Member& member : members) { known.emplace_back(member.name); }
  const std::string near = base::closest(name, known);
  throw InvalidArgument(name, "unknown member" + (near.empty() ? std::string() : "; did you mean \"" + near + "\"?"));
}

}  // namespace

OnConflict parse_on_conflict(std::string_view text) {
  if (text == "return_existing") return OnConflict::return_existing;
  if (text == "reject") return OnConflict::reject;
  if (text == "wait") return OnConflict::wait;
  if (text == "terminate_existing") return OnConflict::terminate_existing;
  throw InvalidArgument("on_conflict", "'" + base::keep_head(text, 100) +
                                           "' is none; expected return_existing, reject, wait or terminate_existing");
}

model::NewExecution make_request(const RequestFields& fields, const std::string& ns) {
  model::NewExecution request;
  request.id = base::new_uuid7();
  request.queue = {.ns = ns, .name = fields.queue};
  request.task = fields.task;
  request.input = fields.input;
  request.priority = within(fields.priority, limits::priority_min, limits::priority_max, "priority");
  request.max_attempts = within(fields.max_attempts, 1, limits::max_attempts, "max_attempts");
  if (fields.delay && fields.run_at) {
    throw InvalidArgument("run_at", "given together with delay; expected one of them");
  }
  request.delay = optional_duration(fields.delay, "delay").value_or(Duration(0));
  if (fields.run_at) { request.run_at = parse_time(*fields.run_at, "run_at"); }
  request.attempt_timeout = optional_duration(fields.timeout, "timeout");
  request.deadline = optional_duration(fields.deadline, "deadline");
  if (fields.retry_base || fields.retry_cap) {
    RetryPolicy policy;
    policy.base = optional_duration(fields.retry_base, "retry_base").value_or(policy.base);
    policy.cap = optional_duration(fields.retry_cap, "retry_cap").value_or(std::max(policy.cap, policy.base));
    request.retry = policy;
  }
  request.labels = {.tags = fields.tags, .metadata = fields.metadata, .traceparent = fields.traceparent};
  const OnConflict on_conflict = parse_on_conflict(fields.on_conflict);
  if (fields.task_id) {
    model::check_key(*fields.task_id);
    // The fingerprint needs JSON that is right: said before it is computed, so that the error names the input.
    base::check_json(request.input, "input");
    request.identity = model::IdentityClaim{
        .hash =
            model::identity_hash({.ns = ns, .scope = model::Scope::task, .name = request.task, .key = *fields.task_id}),
        .key = *fields.task_id,
        .fingerprint = model::input_fingerprint(request.input),
        .on_conflict = on_conflict};
  }
  model::check_new_execution(request);
  return request;
}

RequestFields parse_request_line(std::string_view line, const RequestFields& defaults) {
  base::check_json(line, "line");
  RequestFields fields = defaults;
  bool has_key = false;
  for (const JsonMember& given : json_members(line)) {
    const auto member =
        std::find_if(members.begin(), members.end(), [&](const Member& m) { return m.name == given.name; });
    if (member == members.end()) { refuse_member(given.name); }
    if (given.is_null() && given.name != "input") { continue; }
    if (member->name == "task_id" || member->name == "idempotency_key") {
      if (std::exchange(has_key, true) && fields.task_id != given.text()) {
        throw InvalidArgument("idempotency_key", "differs from task_id; they are the same thing");
      }
    }
    member->read(fields, given);
  }
  return fields;
}

}  // namespace hapax::cli
