#include "cli/retrying.hpp"

#include "base/limits.hpp"
#include "base/uuid7.hpp"
#include "cli/exit_code.hpp"
#include "cli/render.hpp"
#include "cli/terminal.hpp"

#include <algorithm>
#include <set>

namespace hapax::cli {
namespace {

using model::RetryVerdict;

std::string_view name_of(RetryVerdict verdict) {
  switch (verdict) {
    case RetryVerdict::created: return "created";
    case RetryVerdict::not_found: return "not_found";
    case RetryVerdict::not_finished: return "not_finished";
    case RetryVerdict::completed: return "completed";
    case RetryVerdict::already_retried: return "already_retried";
    case RetryVerdict::identity_held: return "identity_held";
  }
  return "not_found";
}

[[noreturn]] void throw_refusal(const Uuid& id, const model::RetryResult& result) {
  const std::string subject = "execution " + id.to_string();
  switch (result.verdict) {
    case RetryVerdict::not_finished:
      throw WrongStatus(subject + " is " + std::string(to_string(result.status)) + ", so there is nothing to retry yet",
                        result.status);
    case RetryVerdict::completed:
      throw WrongStatus(subject + " completed, so there is nothing to retry", Status::completed);
    case RetryVerdict::already_retried:
      throw TaskAlreadyExists(subject + " was retried already, as " + result.existing.to_string(), result.existing,
                              result.status);
    case RetryVerdict::identity_held:
      throw TaskAlreadyExists(subject + " has a newer run under its key, " + result.existing.to_string(),
                              result.existing, result.status);
    case RetryVerdict::created:
    case RetryVerdict::not_found: break;
  }
  throw NotFound("no ended execution " + id.to_string());
}

}  // namespace

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
      const bool made = result.verdict == RetryVerdict::created;
      created += made ? 1 : 0;
      refused += made ? 0 : 1;
      if (!made && how.named && ids.size() == 1) { throw_refusal(batch[i].id, result); }
      JsonObject item;
      item.text("id", batch[i].id.to_string()).text("verdict", name_of(result.verdict));
      if (made) {
        item.text("new_id", batch[i].new_id.to_string()).number("run", std::int64_t{result.run});
      } else if (!result.existing.is_nil()) {
        item.text("existing_execution_id", result.existing.to_string());
      }
      items.push_back(item.str());
      if (!shell.json() && ids.size() <= 20) {
        print(batch[i].id.to_string() +
              (made ? " → " + batch[i].new_id.to_string() + " (run " + std::to_string(result.run) + ")"
                    : " not retried: " + std::string(name_of(result.verdict))));
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
