#include "model/activity_origin.hpp"

#include "model/identity.hpp"

namespace hapax::model {

std::optional<RunName> parse_run_name(std::string_view text) {
  RunName name;
  constexpr std::string_view instance = "task-";
  constexpr std::string_view run = "activity-";
  name.is_instance = text.starts_with(instance);
  if (name.is_instance) {
    text.remove_prefix(instance.size());
    for (int i = 0; i < 2; ++i) {
      const std::size_t colon = text.rfind(':');
      if (colon == std::string_view::npos) { return std::nullopt; }
      text = text.substr(0, colon);
    }
  }
  const std::size_t colon = text.find(':');
  if (!text.starts_with(run) || colon == std::string_view::npos || colon == run.size()) { return std::nullopt; }
  name.run_id = text;
  name.activity = text.substr(run.size(), colon - run.size());
  return name;
}

std::optional<RunName> activity_origin(const Execution& execution) {
  if (!execution.identity || !execution.parent) { return std::nullopt; }
  std::optional<RunName> name = parse_run_name(execution.identity_key);
  // A caller's own key may look like a run's ID, but the caller's execution does not have the activity as its parent.
  if (!name || (!name->is_instance && *execution.parent != activity_uuid(execution.queue.ns, name->activity))) {
    return std::nullopt;
  }
  return name;
}

}  // namespace hapax::model
