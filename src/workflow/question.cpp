#include "workflow/question.hpp"

#include <hapax/error.hpp>
#include <hapax/workflow_context.hpp>

#include "base/json.hpp"
#include "base/json_text.hpp"
#include "base/limits.hpp"
#include "base/payload_limit.hpp"
#include "base/text.hpp"
#include "engine/app_state.hpp"

#include <optional>
#include <utility>

namespace hapax::workflow {

namespace {

constexpr const char* failed = "QueryFailed";

std::string refused(std::string_view type, std::string_view message) {
  return "{\"error\":{\"type\":" + base::json_quote(type) +
         ",\"message\":" + base::json_quote(base::keep_head(message, limits::error_message_bytes)) + "}}";
}

// Question and answer are texts of JSON, so that what they are in adds nothing to their depth.
std::string ask(const std::shared_ptr<detail::AppState>& app, const std::string& input) {
  std::optional<Uuid> run;
  std::string query;
  std::string question = "null";
  for (const base::JsonMember& member : base::json_members(input, "input")) {
    if (member.name == "execution") { run = Uuid::parse(base::json_string(member.value, "execution")); }
    if (member.name == "query") { query = base::json_string(member.value, "query"); }
    if (member.name == "question") { question = base::json_string(member.value, "question"); }
  }
  if (!run) { throw InvalidArgument("execution", "is missing; expected the id of a run"); }
  const std::string answer = ask_run(app, *run, query, question);
  try {
    base::check_json(answer, "answer");
  } catch (const InvalidArgument& error) { return refused(failed, error.what()); }
  std::string told = "{\"answer\":" + base::json_quote(answer) + "}";
  if (told.size() > base::payload_limit()) {
    return refused(failed, "the answer takes " + std::to_string(told.size()) + " bytes, the limit is " +
                               std::to_string(base::payload_limit()));
  }
  return told;
}

// Of what the function threw, only that it could not read the question is the asker's fault.
std::string refused_by(const QueryThrew& threw) {
  try {
    std::rethrow_exception(threw.error);
  } catch (const InvalidArgument& error) {
    if (error.field() == "question") { return refused("InvalidArgument", error.what()); }
    return refused(failed, error.name() + ": " + error.what());
  } catch (const Error& error) {
    return refused(failed, error.name() + ": " + error.what());
  } catch (const std::exception& error) { return refused(failed, error.what()); } catch (...) {
    return refused(failed, "what was thrown is no std::exception");
  }
}

// What is refused is an answer too: a question is no work that failed. Only while the store is away it is asked again.
std::string answer(const std::weak_ptr<detail::AppState>& weak, const std::string& input) {
  const auto app = weak.lock();
  if (!app) { throw ShuttingDown(); }
  try {
    return ask(app, input);
  } catch (const QueryThrew& threw) { return refused_by(threw); } catch (const StoreUnavailable&) {
    throw;
  } catch (const Error& error) { return refused(error.name(), error.what()); } catch (const std::exception& error) {
    return refused(failed, error.what());
  }
}

}  // namespace

Function answering(std::weak_ptr<detail::AppState> app) {
  return [app = std::move(app)](WorkflowContext& context, const std::string& input) {
    // Not the step's result, which would be kept a second time.
    std::string told = refused(failed, "the worker that was asked was lost");
    context.step("answer", [&] { told = answer(app, input); });
    return told;
  };
}

}  // namespace hapax::workflow
