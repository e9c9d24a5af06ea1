#include "torture/plan.hpp"

#include "base/uuid7.hpp"
#include "model/identity.hpp"

#include <array>
#include <utility>

namespace hapax::torture {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

// Name and weight. Poison is rare, because each one costs three processes.
constexpr std::array<std::pair<std::string_view, int>, 11> tasks{{
    {"plain", 500},
    {"slow", 80},
    {"flaky", 80},
    {"doomed", 40},
    {"permanent", 30},
    {"snoozing", 60},
    {"once", 80},
    {"ledger", 80},
    {"deadline", 40},
    {"delayed", 59},
    {"poison", 1},
}};

std::uint64_t mix(const Uuid& id, std::uint64_t salt) {
  return base::SeededRandom(static_cast<std::uint64_t>(std::hash<Uuid>{}(id)) ^ (salt * 0x9E3779B97F4A7C15ULL)).next();
}

std::string_view pick_task(base::Random& random) {
  int total = 0;
  for (const auto& [name, weight] : tasks) total += weight;
  int draw = below(random, total);
  for (const auto& [name, weight] : tasks) {
    if (draw < weight) return name;
    draw -= weight;
  }
  return tasks.front().first;
}

}  // namespace

std::vector<std::string> chaos_queues() { return {"red", "green", "blue"}; }

int below(base::Random& random, int bound) {
  return static_cast<int>(random.next() % static_cast<std::uint64_t>(bound));
}

model::NewExecution request(std::string_view task, std::string_view queue) {
  model::NewExecution item;
  item.id = base::new_uuid7();
  item.queue = {.namespace_name = "default", .name = std::string(queue)};
  item.task = task;
  item.input = R"({"of":"torture"})";
  item.max_attempts = 1000;
  item.max_lost = innocent_max_lost;
  item.retry = RetryPolicy{.base = milliseconds(20), .cap = milliseconds(200)};
  if (task == "doomed") item.max_attempts = doomed_max_attempts;
  if (task == "poison") item.max_lost = poison_max_lost;
  if (task == "deadline") item.deadline = seconds(2);
  return item;
}

model::NewExecution random_request(base::Random& random) {
  const auto queues = chaos_queues();
  const auto queue = static_cast<std::size_t>(below(random, static_cast<int>(queues.size())));
  model::NewExecution item = request(pick_task(random), queues[queue]);
  if (one_in(random, 5)) item.priority = below(random, 21) - 10;
  if (item.task == "delayed" || one_in(random, 10)) item.delay = milliseconds(below(random, 1500));
  return item;
}

model::NewExecution keyed_request(const std::string& key) {
  model::NewExecution item = request("keyed", chaos_queues().front());
  item.input = R"({"key":")" + key + R"("})";
  model::IdentityClaim identity;
  identity.hash =
      model::identity_hash({.namespace_name = "default", .scope = model::Scope::task, .name = "keyed", .key = key});
  identity.key = key;
  identity.fingerprint = model::input_fingerprint(item.input);
  item.identity = identity;
  return item;
}

Behaviour behaviour(std::string_view task, const Uuid& id, std::int64_t fence) {
  const std::uint64_t of_execution = mix(id, 0);
  const std::uint64_t of_attempt = mix(id, static_cast<std::uint64_t>(fence));
  if (task == "slow") return {.work = milliseconds(of_attempt % 300)};
  if (task == "sleeper") return {.work = milliseconds(3000)};
  if (task == "flaky" && of_attempt % 3 == 0) return {.act = Act::retry, .delay = milliseconds(of_attempt % 200)};
  if (task == "doomed") return {.act = Act::retry, .delay = milliseconds(of_attempt % 100)};
  if (task == "permanent") return {.act = Act::fail};
  if (task == "snoozing" && of_attempt % 2 == 0) return {.act = Act::snooze, .delay = milliseconds(of_attempt % 150)};
  if (task == "once") return {.act = Act::complete_once};
  if (task == "ledger") return {.act = Act::complete_in_transaction};
  if (task == "poison") return {.act = Act::die};
  // Half of the keyed runs fail for good, so that keys are taken again by later runs.
  if (task == "keyed" && of_execution % 2 == 0) return {.act = Act::fail, .work = milliseconds(of_attempt % 20)};
  return {};
}

std::string result_text(int child, std::int64_t fence, std::string_view value) {
  std::string text = R"({"child":)" + std::to_string(child) + R"(,"fence":)" + std::to_string(fence);
  if (!value.empty()) text += R"(,"value":")" + std::string(value) + "\"";
  return text + "}";
}

std::optional<std::string> wrong_ending(const model::Execution& execution) {
  const std::string& task = execution.task;
  const Status status = execution.status;
  const std::string error = execution.error ? execution.error->type : "";
  const bool fine = [&] {
    // An execution that fails after its cancellation was requested ends as cancelled and keeps its own error.
    if (status == Status::cancelled) return error == "Cancelled" || error == "Doomed";
    if (task == "poison") return status == Status::failed && error == "WorkerLost" && execution.lost == poison_max_lost;
    if (task == "doomed") return status == Status::failed && error == "Doomed";
    if (task == "permanent") return status == Status::failed && error == "Doomed";
    if (task == "deadline" && status == Status::timed_out) return error == "DeadlineExceeded";
    if (task == "keyed" && behaviour(task, execution.id, 1).act == Act::fail) {
      return status == Status::failed && error == "Doomed";
    }
    return status == Status::completed;
  }();
  if (fine) return std::nullopt;
  return execution.id.to_string() + ": " + task + " ended as " + std::string(to_string(status)) + " " + error +
         " after " + std::to_string(execution.attempt) + " attempts, " + std::to_string(execution.lost) + " lost";
}

}  // namespace hapax::torture
