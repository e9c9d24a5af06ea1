#include "workflow/question.hpp"

#include <hapax/app.hpp>
#include <hapax/error.hpp>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/payload_limit.hpp"
#include "engine/app_state.hpp"

#include <optional>
#include <string>
#include <utility>

namespace hapax::workflow {

namespace {

std::string refused(std::string_view type, std::string_view message) {
  return "{\"error\":{\"type\":" + base::json_quote(type) + ",\"message\":" + base::json_quote(message) + "}}";
}

std::string ask(const std::shared_ptr<detail::AppState>& app, const std::string& input) {
  std::optional<Uuid> run;
  std::string query;
  std::string question = "null";
  for (const base::JsonMember& member : base::json_members(input, "input")) {
    if (member.name == "execution") { run = Uuid::parse(base::json_string(member.value, "execution")); }
    if (member.name == "query") { query = base::json_string(member.value, "query"); }
    if (member.name == "question") { question = member.value; }
  }
  if (!run) { throw InvalidArgument("execution", "is missing; expected the id of a run"); }
  std::string told = "{\"answer\":" + App(app).find_any(*run).query_json(query, question) + "}";
  base::check_json(told, "answer");
  // As the step's record has it.
  const std::size_t bytes = base::json_quote(told).size();
  if (bytes > base::payload_limit()) { throw PayloadTooLarge("answer", bytes, base::payload_limit()); }
  return told;
}

// What is refused is an answer too: a question is no work that failed. Only while the store is away it is asked again.
std::string answer(const std::weak_ptr<detail::AppState>& weak, const std::string& input) {
  const auto app = weak.lock();
  if (!app) { throw ShuttingDown(); }
  try {
    return ask(app, input);
  } catch (const StoreUnavailable&) { throw; } catch (const Error& error) {
    return refused(error.name(), error.what());
  } catch (const std::exception& error) { return refused("QueryFailed", error.what()); } catch (...) {
    return refused("QueryFailed", "what was thrown is no std::exception");
  }
}

}  // namespace

Function answering(std::weak_ptr<detail::AppState> app) {
  return [app = std::move(app)](WorkflowContext& context, const std::string& input) {
    return context.step("answer", [&] { return answer(app, input); });
  };
}

}  // namespace hapax::workflow
