// The result of a cancel, a retry or a signal, as JSON.
#pragma once

#include <hapax/handle.hpp>
#include <hapax/uuid.hpp>

#include "app/operations.hpp"
#include "base/json_out.hpp"
#include "model/execution.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hapax::api {

// {"id","verdict","new_id"?,"run"?,"existing_execution_id"?}
[[nodiscard]] std::string retry_json(const app::Retried& retried);
// {"id","verdict","status"}
[[nodiscard]] std::string cancel_json(const Uuid& id, const model::CancelResult& result);

// The results of several batches as one object, which has at most limits::list_page executions.
class RetryTally {
 public:
  void add(const std::vector<app::Retried>& batch);
  // {"retried","refused","executions":[…]}
  [[nodiscard]] base::JsonObject json() const;

 private:
  std::int64_t retried_ = 0;
  std::int64_t refused_ = 0;
  std::vector<std::string> items_;
};

class CancelTally {
 public:
  void add(const app::Page& page, const std::vector<model::CancelResult>& results);
  // {"cancelled","requested","finished","executions":[…]}
  [[nodiscard]] base::JsonObject json() const;

 private:
  std::int64_t cancelled_ = 0;
  std::int64_t requested_ = 0;
  std::int64_t finished_ = 0;
  std::vector<std::string> items_;
};

// {"id","created","status","run","forked_from","steps"}
[[nodiscard]] std::string forked_json(const AnyHandle& forked, const Uuid& from, int steps);
// {"id","workflow","workflow_id","signal"}; `run` is the run that got the signal.
[[nodiscard]] std::string signalled_json(const model::Execution& run, std::string_view name);

}  // namespace hapax::api
