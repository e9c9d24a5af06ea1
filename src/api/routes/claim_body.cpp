#include "api/routes/claim_body.hpp"

#include "api/parse_values.hpp"
#include "base/json.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/sha256.hpp"
#include "base/text.hpp"
#include "base/uuid7.hpp"
#include "model/validate.hpp"

#include <algorithm>
#include <array>
#include <set>

namespace hapax::api {

namespace {

constexpr int claims_a_call = 100;
constexpr Duration usual_lease = std::chrono::seconds(30);
// A claim that the worker does not list as held after this long counts as lost with its answer.
constexpr Duration answer_grace = std::chrono::seconds(10);

int claims_at_once() {
  const std::size_t fit = claims_bytes / base::payload_limit();
  return static_cast<int>(std::clamp<std::size_t>(fit, 1, claims_a_call));
}

constexpr std::size_t mark_at = 12;

std::array<std::uint8_t, 4> mark_of(std::string_view namespace_name, const Uuid& id) {
  std::string text = "hapax session\n";
  text.append(id.bytes.begin(), id.bytes.begin() + mark_at).append(namespace_name);
  const base::Digest digest = base::sha256(text);
  return {digest[0], digest[1], digest[2], digest[3]};
}

[[noreturn]] void refuse(const std::string& place, const std::string& field, const std::string& message) {
  throw InvalidArgument(place + "." + field, message);
}

ReportedOutcome::Status status_of(const std::string& word, const std::string& place) {
  using Status = ReportedOutcome::Status;
  if (word == "completed") return Status::completed;
  if (word == "failed") return Status::failed;
  if (word == "snoozed") return Status::snoozed;
  if (word == "released") return Status::released;
  if (word == "cancelled") return Status::cancelled;
  refuse(place, "status",
         base::quoted(word) + " is not an outcome; expected completed, failed, snoozed, released or cancelled");
}

Uuid item_id(const base::JsonView& item, const std::string& place) {
  const std::string text = item.text("id");
  const std::optional<Uuid> id = Uuid::parse(text);
  if (!id) { refuse(place, "id", base::quoted(text) + " is not an ID; expected the claim's id"); }
  return *id;
}

std::int64_t item_fence(const base::JsonView& item, const std::string& place) {
  const std::optional<std::int64_t> fence = item.find_integer("fence");
  if (!fence) { refuse(place, "fence", "is missing; expected the claim's fence"); }
  return *fence;
}

ReportedOutcome outcome_of(std::string_view json, const std::string& place) {
  const base::JsonView item(json, {"id", "fence", "status", "result", "error", "retry_after", "permanent"}, place, 1);
  ReportedOutcome outcome;
  outcome.id = item_id(item, place);
  outcome.fence = item_fence(item, place);
  outcome.status = status_of(item.text("status"), place);
  if (item.has("result")) {
    const std::string_view result = item.raw("result");
    if (result.size() > base::payload_limit()) {
      throw PayloadTooLarge(place + ".result", result.size(), base::payload_limit());
    }
    base::check_json(result, place + ".result");
    outcome.result = result;
  }
  if (item.has("error")) {
    const base::JsonView error(item.raw("error"), {"type", "message", "detail"}, place + ".error");
    outcome.error = {error.find_text("type").value_or("Error"), error.text("message"), error.text("detail")};
    outcome.has_error = true;
  } else if (outcome.status == ReportedOutcome::Status::failed) {
    outcome.error = {"Error", "the worker reported a failure without an error", ""};
  }
  outcome.retry_after = item.duration("retry_after");
  outcome.permanent = item.flag("permanent");
  if (outcome.status == ReportedOutcome::Status::snoozed && !outcome.retry_after) {
    refuse(place, "retry_after", "is missing; a snoozed execution says when it is to run again, such as \"5s\"");
  }
  return outcome;
}

void add_held(model::Beat& beat, const model::Held& held) {
  const bool is_there =
      std::any_of(beat.held.begin(), beat.held.end(), [&](const model::Held& each) { return each.id == held.id; });
  if (!is_there) { beat.held.push_back(held); }
}

}  // namespace

Uuid new_session_id(std::string_view namespace_name) {
  Uuid id = base::new_uuid7();
  const auto mark = mark_of(namespace_name, id);
  std::copy(mark.begin(), mark.end(), id.bytes.begin() + mark_at);
  return id;
}

bool is_session_of(std::string_view namespace_name, const Uuid& id) {
  const auto mark = mark_of(namespace_name, id);
  return std::equal(mark.begin(), mark.end(), id.bytes.begin() + mark_at);
}

Duration lease_of(const base::JsonView& body) {
  const Duration lease = body.duration("lease").value_or(usual_lease);
  if (lease < limits::lease_min || lease > limits::lease_max) {
    throw InvalidArgument("lease", format_duration(lease) + " is out of range; expected " +
                                       format_duration(limits::lease_min) + " to " +
                                       format_duration(limits::lease_max));
  }
  return lease;
}

Uuid session_of(const base::JsonView& body, const std::string& namespace_name) {
  const std::string text = body.require_text("session", "0193f1c2-7a50-7c3e-9d7b-0d2c1a5b6e4f");
  const std::optional<Uuid> id = Uuid::parse(text);
  if (!id) {
    throw InvalidArgument("session",
                          base::quoted(text) + " is not an ID; expected the session in the answer to POST /v1/claims");
  }
  if (!is_session_of(namespace_name, *id)) {
    throw StaleLease("session " + text + " is not there, or its lease is over");
  }
  return *id;
}

ClaimOrder order_of(const base::JsonView& body, const http::Call& call) {
  ClaimOrder order;
  const std::string& namespace_name = call.principal().namespace_name;
  const std::vector<std::string> names = body.texts("queues");
  for (const std::string& name : names) {
    model::check_name(name, "queues");
    const model::QueueRef queue{.namespace_name = namespace_name, .name = name};
    if (std::find(order.queues.begin(), order.queues.end(), queue) == order.queues.end()) {
      order.queues.push_back(queue);
    }
    // The search is bounded: `order.queues` never exceeds the limit by more than one.
    if (order.queues.size() > static_cast<std::size_t>(limits::queues_per_claim)) { break; }
  }
  if (order.queues.empty() || order.queues.size() > static_cast<std::size_t>(limits::queues_per_claim)) {
    throw InvalidArgument("queues", "has " + std::to_string(names.size()) + " names; expected 1 to " +
                                        std::to_string(limits::queues_per_claim) + ", such as [\"emails\"]");
  }
  order.tasks = body.texts("tasks");
  if (order.tasks.size() > static_cast<std::size_t>(limits::tasks_per_claim)) {
    throw InvalidArgument("tasks", "has " + std::to_string(order.tasks.size()) + " names; expected at most " +
                                       std::to_string(limits::tasks_per_claim));
  }
  for (const std::string& name : order.tasks) { model::check_name(name, "tasks"); }
  order.limit = std::min(api::within(body.integer("limit", 1), {1, claims_a_call}, "limit"), claims_at_once());
  order.lease = lease_of(body);
  // A token's name may be longer than a worker's label.
  order.worker =
      body.find_text("worker").value_or(std::string(base::keep_head(call.principal().name, limits::name_bytes)));
  model::check_name(order.worker, "worker");
  order.peer = call.request().peer;
  order.is_new = !body.has("session");
  order.session = order.is_new ? new_session_id(namespace_name) : session_of(body, namespace_name);
  return order;
}

std::vector<ReportedOutcome> outcomes_of(const base::JsonView& body) {
  const std::vector<std::string_view> items = body.items("outcomes");
  if (items.empty() || items.size() > static_cast<std::size_t>(limits::finish_batch)) {
    throw InvalidArgument("outcomes", "has " + std::to_string(items.size()) + " items; expected 1 to " +
                                          std::to_string(limits::finish_batch));
  }
  std::vector<ReportedOutcome> outcomes;
  std::set<Uuid> ids;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = "outcomes[" + std::to_string(i) + "]";
    outcomes.push_back(outcome_of(items[i], place));
    if (!ids.insert(outcomes.back().id).second) { refuse(place, "id", "is given twice; expected each once"); }
  }
  return outcomes;
}

void read_progress(model::Beat& beat, const base::JsonView& body) {
  const std::vector<std::string_view> items = body.items("progress");
  if (items.size() > static_cast<std::size_t>(limits::finish_batch)) {
    throw InvalidArgument("progress", "has " + std::to_string(items.size()) + " items; expected at most " +
                                          std::to_string(limits::finish_batch));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = "progress[" + std::to_string(i) + "]";
    const base::JsonView item(items[i], {"id", "fence", "fraction", "message"}, place);
    const model::Held held{item_id(item, place), item_fence(item, place)};
    add_held(beat, held);
    const std::optional<double> fraction = item.number("fraction");
    if (fraction && (*fraction < 0 || *fraction > 1)) {
      refuse(place, "fraction", base::echo(item.raw("fraction")) + " is out of range; expected 0 to 1");
    }
    const std::string message = item.text("message");
    if (fraction || !message.empty()) { beat.progress.push_back({held.id, held.fence, fraction.value_or(0), message}); }
  }
}

void read_held(model::Beat& beat, const base::JsonView& body) {
  if (!body.has("held")) { return; }
  const std::vector<std::string_view> items = body.items("held");
  if (items.size() > static_cast<std::size_t>(limits::finish_batch)) {
    throw InvalidArgument("held", "has " + std::to_string(items.size()) + " items; expected at most " +
                                      std::to_string(limits::finish_batch));
  }
  for (std::size_t i = 0; i < items.size(); ++i) {
    const std::string place = "held[" + std::to_string(i) + "]";
    const base::JsonView item(items[i], {"id", "fence"}, place);
    add_held(beat, {item_id(item, place), item_fence(item, place)});
  }
  const Duration now = std::chrono::duration_cast<Duration>(std::chrono::system_clock::now().time_since_epoch());
  beat.settled_claim_number = (now - answer_grace).count();
}

http::Response stale_answer(const std::string& message, const std::string& facts) {
  http::Problem problem = http::problem_of(StaleLease(message));
  problem.facts = facts;
  return problem_answer_of(problem);
}

}  // namespace hapax::api
