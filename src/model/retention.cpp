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

Expiry expiry(const QueueSettings& settings, Kind kind, Status ended_as, const std::optional<Keep>& keep, Time now) {
  if (!keep) {
    const Kept by_queue = kept(settings, kind, ended_as);
    return {.at = now + by_queue.period, .stub = by_queue.stub};
  }
  const bool for_ever = !keep->period || *keep->period >= end_of_time - now;
  return {.at = for_ever ? end_of_time : now + *keep->period, .stub = !keep->holds_identity};
}

bool is_dead_letter(Kind kind, Status ended_as) { return ended_as == Status::failed && kind != Kind::guard; }

}  // namespace hapax::model
