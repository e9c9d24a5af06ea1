#include "api/event_json.hpp"

#include "base/json_out.hpp"

namespace hapax::api {

std::string event_json(const schedule::Event& event, const schedule::Routed& routed, std::int64_t line) {
  std::vector<std::string> runs;
  for (const schedule::Routed::Run& run : routed.runs) {
    base::JsonObject item;
    item.text("activity", run.activity).text_or_null("run_id", run.run_id);
    item.text_or_null("execution", run.error.empty() ? run.execution.to_string() : "");
    runs.push_back(item.boolean("created", run.created).text_or_null("error", run.error).str());
  }
  base::JsonObject object;
  if (line > 0) { object.number("line", line); }
  object.text("id", event.id).text("source", event.source).text("type", event.type);
  return object.raw("runs", base::json_array(runs)).raw("paused", base::json_text_array(routed.paused)).str();
}

}  // namespace hapax::api
