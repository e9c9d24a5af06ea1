// Backend: queues.
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "cli/api_path.hpp"
#include "cli/backend.hpp"
#include "cli/problem.hpp"
#include "model/validate.hpp"

namespace hapax::cli {
namespace {

std::string queue_path(const std::string& name, std::string_view act = {}) {
  model::check_name(name, "queue");
  return act.empty() ? path({"queues", name}) : path({"queues", name, act});
}

}  // namespace

std::vector<std::string> Backend::queues() {
  const std::string answer = get(path({"queues"}));
  const std::vector<std::string_view> items = JsonView(answer).items("queues");
  return {items.begin(), items.end()};
}

std::string Backend::queue(const std::string& name) { return get(queue_path(name)); }

std::string Backend::set_queue(const std::string& name, const QueueValues& values) {
  JsonObject body;
  for (const auto& [key, value] : values) { body.text(key, value); }
  return put(queue_path(name), body.str());
}

std::string Backend::act_on_queue(const std::string& name, QueueAct act, Absent absent) {
  const char* const word = act == QueueAct::pause ? "pause" : act == QueueAct::resume ? "resume" : "drain";
  return post(queue_path(name, word), absent == Absent::make ? R"({"create":true})" : "{}", true);
}

Purged Backend::purge(const std::string& name) {
  const std::string answer = post(queue_path(name, "purge"), "{}", false);
  return {.cancelled = JsonView(answer).integer("purged"), .requested = JsonView(answer).integer("requested")};
}

std::int64_t Backend::move(const MoveRequest& request) {
  JsonObject body;
  body.text("to", request.to);
  if (request.limit != INT64_MAX) { body.number("limit", request.limit); }
  if (request.target == Absent::make) { body.boolean("create", true); }
  return JsonView(post(queue_path(request.from, "move"), body.str(), false)).integer("moved");
}

}  // namespace hapax::cli
