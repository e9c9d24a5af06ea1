// StoreBackend: queues.
#include "api/execution_json.hpp"
#include "api/find.hpp"
#include "app/config/queue_keys.hpp"
#include "base/limits.hpp"
#include "cli/store_backend.hpp"

#include <algorithm>

namespace hapax::cli {

std::vector<std::string> StoreBackend::queues() {
  std::vector<std::string> documents;
  for (const model::QueueInfo& info : store().queues(ns_)) { documents.push_back(queue_json(info)); }
  return documents;
}

std::string StoreBackend::queue(const std::string& name) {
  return queue_json(api::find_queue(store(), shell_.queue(name)));
}

std::string StoreBackend::configure(const std::string& name, model::QueuePatch patch) {
  const model::QueueRef ref = shell_.queue(name);
  patch.actor = command_line_actor();
  store().configure_queue(ref, patch);
  store().announce({&ref, 1});
  return queue(name);
}

std::string StoreBackend::set_queue(const std::string& name, const QueueValues& values) {
  model::QueuePatch patch;
  for (const auto& [key, value] : values) { config::set_queue_value(patch, *config::find_queue_key(key), value, key); }
  return configure(name, std::move(patch));
}

std::string StoreBackend::act_on_queue(const std::string& name, QueueAct act, bool create) {
  if (!create) { (void)queue(name); }
  switch (act) {
    case QueueAct::pause: return configure(name, {.paused = true});
    case QueueAct::resume: return configure(name, {.paused = false, .draining = false});
    case QueueAct::drain: break;
  }
  return configure(name, {.draining = true});
}

Purged StoreBackend::purge(const std::string& name) {
  (void)queue(name);
  const model::QueueRef ref = shell_.queue(name);
  const Purged purged = app::purge_queue(store(), ref, {command_line_actor()});
  if (purged.requested > 0) { store().announce({&ref, 1}); }
  return purged;
}

std::int64_t StoreBackend::move(const std::string& from_name, const std::string& to_name, const Moving& how) {
  (void)queue(from_name);
  if (!how.create) { (void)queue(to_name); }
  const model::QueueRef from = shell_.queue(from_name);
  const model::QueueRef to = shell_.queue(to_name);
  std::int64_t total = 0;
  while (total < how.limit) {
    const int batch = static_cast<int>(std::min<std::int64_t>(limits::sweep_batch, how.limit - total));
    const int moved = store().move(from, to, batch, {command_line_actor()});
    if (moved == 0) { break; }
    total += moved;
  }
  store().announce({&to, 1});
  return total;
}

}  // namespace hapax::cli
