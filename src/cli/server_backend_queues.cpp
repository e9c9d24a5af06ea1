// ServerBackend: queues.
#include "base/json_out.hpp"
#include "base/json_view.hpp"
#include "cli/server_backend.hpp"
#include "cli/server_path.hpp"
#include "model/validate.hpp"

namespace hapax::cli {
namespace {

std::string queue_path(const std::string& name, std::string_view act = {}) {
  model::check_name(name, "queue");
  return act.empty() ? path({"queues", name}) : path({"queues", name, act});
}

}  // namespace

std::vector<std::string> ServerBackend::queues() {
  const std::string answer = api_->get(path({"queues"}));
  const std::vector<std::string_view> items = JsonView(answer).items("queues");
  return {items.begin(), items.end()};
}

std::string ServerBackend::queue(const std::string& name) { return api_->get(queue_path(name)); }

std::string ServerBackend::set_queue(const std::string& name, const QueueValues& values) {
  JsonObject body;
  for (const auto& [key, value] : values) { body.text(key, value); }
  return api_->put(queue_path(name), body.str());
}

std::string ServerBackend::act_on_queue(const std::string& name, QueueAct act, Absent absent) {
  const char* const word = act == QueueAct::pause ? "pause" : act == QueueAct::resume ? "resume" : "drain";
  return api_->post(queue_path(name, word), absent == Absent::make ? R"({"create":true})" : "{}", true);
}

Purged ServerBackend::purge(const std::string& name) {
  const std::string answer = api_->post(queue_path(name, "purge"), "{}", false);
  return {.cancelled = JsonView(answer).integer("purged"), .requested = JsonView(answer).integer("requested")};
}

std::int64_t ServerBackend::move(const MoveRequest& request) {
  JsonObject body;
  body.text("to", request.to);
  if (request.limit != INT64_MAX) { body.number("limit", request.limit); }
  if (request.target == Absent::make) { body.boolean("create", true); }
  return JsonView(api_->post(queue_path(request.from, "move"), body.str(), false)).integer("moved");
}

}  // namespace hapax::cli
