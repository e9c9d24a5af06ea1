#include "model/retention.hpp"

namespace hapax::model {

Kept kept(const QueueSettings& settings, Kind kind, Status ended_as) {
  const Duration usual = kind == Kind::workflow ? workflow_retention : task_retention;
  const Duration retention = settings.retention.value_or(usual);
  if (ended_as == Status::completed) {
    return retention == Duration{0} ? Kept{.period = stub_retention, .stub = true} : Kept{.period = retention};
  }
  const Duration failed =
      settings.failed_retention.value_or(retention == Duration{0} ? least_failed_retention : retention);
  return {.period = failed == Duration{0} ? stub_retention : failed};
}

}  // namespace hapax::model
