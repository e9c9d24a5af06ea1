#include "cli/retrying.hpp"

#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/terminal.hpp"
#include "wire/acting_json.hpp"
#include "wire/json_out.hpp"

#include <algorithm>
#include <set>

namespace hapax::cli {
int retry_executions(Shell& shell, std::span<const Uuid> ids, const Retrying& how) {
  std::int64_t created = 0;
  std::int64_t refused = 0;
  std::vector<std::string> items;
  for (std::size_t at = 0; at < ids.size(); at += limits::admit_batch) {
    std::vector<model::RetryRequest> batch;
    for (const Uuid& id : ids.subspan(at, std::min<std::size_t>(limits::admit_batch, ids.size() - at))) {
      batch.push_back({.id = id, .new_id = base::new_uuid7(), .new_effect_key = how.new_effect_key});
    }
    const std::vector<model::RetryResult> results = shell.store().retry(batch, {command_line_actor()});
    for (std::size_t i = 0; i < batch.size(); ++i) {
      const model::RetryResult& result = results[i];
      const bool made = result.verdict == model::RetryVerdict::created;
      created += made ? 1 : 0;
      refused += made ? 0 : 1;
      if (!made && how.named && ids.size() == 1) { throw_retry_refusal(batch[i].id, result); }
      items.push_back(retry_json(batch[i], result));
      if (!shell.json() && ids.size() <= 20) {
        print(batch[i].id.to_string() +
              (made ? " → " + batch[i].new_id.to_string() + " (run " + std::to_string(result.run) + ")"
                    : " not retried: " + std::string(retry_word(result.verdict))));
      }
    }
  }
  // Workers of other processes find the new runs by themselves; this lets them know at once.
  std::set<model::QueueRef> queues;
  for (const Uuid& id : ids.first(std::min<std::size_t>(ids.size(), 20))) {
    if (const auto execution = shell.store().get(id)) { queues.insert(execution->queue); }
  }
  shell.store().announce(std::vector<model::QueueRef>(queues.begin(), queues.end()));
  if (shell.json()) {
    JsonObject object;
    object.number("retried", created).number("refused", refused).raw("executions", json_array(items));
    print(object.str());
  } else {
    print(plural(created, "execution") + " retried" + (refused > 0 ? ", " + std::to_string(refused) + " not" : ""));
  }
  return refused > 0 && how.named ? exit_conflict : exit_ok;
}

}  // namespace hapax::cli
