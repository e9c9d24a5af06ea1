#include "api/activity_read.hpp"

#include "base/json_view.hpp"

namespace hapax::api {

model::ActivityState read_activity(std::string_view document) {
  const base::JsonView view(document);
  model::ActivityState state;
  state.namespace_name = view.text("namespace");
  state.id = view.text("id");
  state.kind = view.text("kind") == "event" ? model::ActivityKind::event : model::ActivityKind::cron;
  state.version = view.small("version", 1);
  state.paused = view.flag("paused");
  state.note = view.text("note");
  state.next_due = view.time("next_due");
  state.last_started = view.time("last_started");
  if (view.has("counts")) {
    const base::JsonView counts(view.raw("counts"));
    state.counts = {.started = counts.integer("started"),
                    .duplicates = counts.integer("duplicates"),
                    .missed = counts.integer("missed"),
                    .overlapped = counts.integer("overlapped"),
                    .refused = counts.integer("refused")};
  }
  state.trouble = view.text("trouble");
  state.created_at = view.time("created_at").value_or(Time{});
  state.updated_at = view.time("updated_at").value_or(Time{});
  state.definition = view.raw("definition");
  return state;
}

std::vector<model::ActivityVersion> read_versions(std::string_view document) {
  std::vector<model::ActivityVersion> versions;
  for (const std::string_view item : base::JsonView(document).items("versions")) {
    const base::JsonView view(item);
    versions.push_back({.version = view.small("version", 1),
                        .definition = std::string(view.raw("definition")),
                        .actor = view.text("actor"),
                        .at = view.time("at").value_or(Time{})});
  }
  return versions;
}

}  // namespace hapax::api
