// StoreBackend: queues.
#include "api/execution_json.hpp"
#include "app/config/queue_keys.hpp"
#include "cli/store_backend.hpp"

namespace hapax::cli {

std::vector<std::string> StoreBackend::queues() {
  std::vector<std::string> documents;
  for (const model::QueueInfo& info : store().queues(namespace_name_)) { documents.push_back(queue_json(info)); }
  return documents;
}

std::string StoreBackend::queue(const std::string& name) { return queue_json(operations_.queue(shell_.queue(name))); }

std::string StoreBackend::set_queue(const std::string& name, const QueueValues& values) {
  model::QueuePatch patch;
  for (const auto& [key, value] : values) { config::set_queue_value(patch, *config::find_queue_key(key), value, key); }
  return queue_json(operations_.configure(shell_.queue(name), patch, Absent::make));
}

std::string StoreBackend::act_on_queue(const std::string& name, QueueAct act, Absent absent) {
  model::QueuePatch patch;
  switch (act) {
    case QueueAct::pause: patch.paused = true; break;
    case QueueAct::resume: patch.paused = patch.draining = false; break;
    case QueueAct::drain: patch.draining = true; break;
  }
  return queue_json(operations_.configure(shell_.queue(name), patch, absent));
}

Purged StoreBackend::purge(const std::string& name) { return operations_.purge(shell_.queue(name)); }

std::int64_t StoreBackend::move(const MoveRequest& request) {
  return operations_.move(shell_.queue(request.from),
                          {.to = shell_.queue(request.to), .limit = request.limit, .target = request.target});
}

}  // namespace hapax::cli
