#include "api/acting_json.hpp"

#include "base/limits.hpp"

namespace hapax::api {

using model::RetryVerdict;

std::string_view retry_word(RetryVerdict verdict) {
  switch (verdict) {
    case RetryVerdict::created: return "created";
    case RetryVerdict::not_found: return "not_found";
    case RetryVerdict::not_finished: return "not_finished";
    case RetryVerdict::completed: return "completed";
    case RetryVerdict::already_retried: return "already_retried";
    case RetryVerdict::identity_held: return "identity_held";
    case RetryVerdict::guarded: return "guarded";
  }
  return "not_found";
}

std::string retry_json(const app::Retried& retried) {
  const model::RetryResult& result = retried.result;
  base::JsonObject item;
  item.text("id", retried.id.to_string()).text("verdict", retry_word(result.verdict));
  if (result.verdict == RetryVerdict::created) {
    item.text("new_id", retried.new_id.to_string()).number("run", std::int64_t{result.run});
  } else if (!result.existing.is_nil()) {
    item.text("existing_execution_id", result.existing.to_string());
  }
  return item.str();
}

void RetryTally::add(const std::vector<app::Retried>& batch) {
  for (const app::Retried& retried : batch) {
    ++(retried.result.verdict == RetryVerdict::created ? retried_ : refused_);
    if (std::ssize(items_) < limits::list_page) { items_.push_back(retry_json(retried)); }
  }
}

base::JsonObject RetryTally::json() const {
  base::JsonObject object;
  object.number("retried", retried_).number("refused", refused_).raw("executions", base::json_array(items_));
  return object;
}

std::string cancel_json(const Uuid& id, const model::CancelResult& result) {
  const auto word = [](model::CancelVerdict verdict) {
    switch (verdict) {
      case model::CancelVerdict::cancelled: return "cancelled";
      case model::CancelVerdict::requested: return "requested";
      case model::CancelVerdict::finished: return "finished";
      case model::CancelVerdict::not_found: return "not_found";
    }
    return "not_found";
  };
  base::JsonObject item;
  item.text("id", id.to_string()).text("verdict", word(result.verdict)).text("status", to_string(result.status));
  return item.str();
}

void CancelTally::add(const app::Page& page, const std::vector<model::CancelResult>& results) {
  for (std::size_t i = 0; i < page.size(); ++i) {
    cancelled_ += results[i].verdict == model::CancelVerdict::cancelled ? 1 : 0;
    requested_ += results[i].verdict == model::CancelVerdict::requested ? 1 : 0;
    finished_ += results[i].verdict == model::CancelVerdict::finished ? 1 : 0;
    if (std::ssize(items_) < limits::list_page) { items_.push_back(cancel_json(page[i].id, results[i])); }
  }
}

base::JsonObject CancelTally::json() const {
  base::JsonObject object;
  object.number("cancelled", cancelled_).number("requested", requested_).number("finished", finished_);
  object.raw("executions", base::json_array(items_));
  return object;
}

std::string forked_json(const AnyHandle& forked, const Uuid& from, int steps) {
  base::JsonObject object;
  object.text("id", forked.id().to_string()).boolean("created", forked.created());
  object.text("status", to_string(forked.status())).number("run", std::int64_t{forked.run()});
  return object.text("forked_from", from.to_string()).number("steps", std::int64_t{steps}).str();
}

std::string signalled_json(const model::Execution& run, std::string_view name) {
  base::JsonObject object;
  object.text("id", run.id.to_string()).text("workflow", run.task).text_or_null("workflow_id", run.identity_key);
  return object.text("signal", name).str();
}

}  // namespace hapax::api
