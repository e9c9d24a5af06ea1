#include "workflow/journal.hpp"

#include <hapax/error.hpp>

#include "base/text.hpp"

#include <nlohmann/json.hpp>

namespace hapax::workflow {

namespace {

using nlohmann::json;

constexpr std::string_view result_member = R"(,"result":)";

json parsed(const model::JournalEntry& entry) {
  json value = json::parse(entry.data, nullptr, false);
  if (!value.is_object()) {
    throw InvalidArgument("journal", "entry " + std::to_string(entry.position) + " of execution " +
                                         entry.execution.to_string() + " cannot be read");
  }
  return value;
}

}  // namespace

std::string_view to_string(Entry entry) {
  switch (entry) {
    case Entry::started: return "started";
    case Entry::step: return "step";
    case Entry::step_failed: return "step_failed";
    case Entry::step_retry: return "step_retry";
    case Entry::task: return "task";
    case Entry::child: return "workflow";
    case Entry::timer: return "timer";
    case Entry::signal: return "signal";
    case Entry::choice: return "choice";
    case Entry::now: return "now";
    case Entry::random: return "random";
    case Entry::uuid: return "uuid";
    case Entry::patch: return "patch";
    case Entry::cancelled: return "cancelled";
    case Entry::invalid: return "invalid";
  }
  return "unknown";
}

model::JournalEntry begin_entry(std::string_view build) {
  model::JournalEntry entry;
  entry.kind = static_cast<std::uint8_t>(Entry::started);
  entry.data =
      build.empty() ? R"({"build":""})" : json{{"build", build}}.dump(-1, ' ', false, json::error_handler_t::replace);
  return entry;
}

void restore_begin(std::vector<model::JournalEntry>& entries) {
  if (entries.empty() || entries.front().position != 1) { return; }
  model::JournalEntry begin = begin_entry("");
  begin.execution = entries.front().execution;
  begin.fence = entries.front().fence;
  begin.at = entries.front().at;
  entries.insert(entries.begin(), std::move(begin));
}

void restore_begin(const model::Execution& execution, std::vector<model::JournalEntry>& entries) {
  restore_begin(entries);
  if (!entries.empty() || !is_terminal(execution.status) || !execution.started_at) { return; }
  entries.push_back(begin_entry(""));
  entries.front().execution = execution.id;
  entries.front().at = *execution.started_at;
}

std::string describe(Entry entry, std::string_view name) {
  // The code asks for a step, whatever the step's outcome was.
  const bool step = entry == Entry::step_failed || entry == Entry::step_retry;
  std::string text(step ? "step" : to_string(entry));
  if (!name.empty()) { text += " '" + std::string(name) + "'"; }
  return text;
}

// The text is written without a JSON library, so that the result, which may be large, is neither parsed nor escaped
// again.
std::string encode_step(const StepRecord& record) {
  std::string text;
  text.reserve(64 + record.result.size());
  text += R"({"us":)";
  text += std::to_string(record.ran_for.count());
  text += R"(,"attempts":)";
  text += std::to_string(record.attempts);
  if (record.error) {
    const json error = {{"type", record.error->type}, {"message", record.error->message}};
    text += R"(,"delay_us":)" + std::to_string(record.delay.count()) + R"(,"error":)" +
            error.dump(-1, ' ', false, json::error_handler_t::replace);
  } else {
    text += result_member;
    text += record.result;
  }
  text += '}';
  return text;
}

StepRecord decode_step(const model::JournalEntry& entry) {
  StepRecord record;
  const std::size_t at = entry.data.find(result_member);
  // The fast path for text of encode_step(); a journal imported from a file may have its members in another order.
  if (entry_of(entry) == Entry::step && at != std::string::npos && entry.data.starts_with(R"({"us":)")) {
    record.result = entry.data.substr(at + result_member.size());
    record.result.pop_back();
    const json head = json::parse(entry.data.substr(0, at) + "}", nullptr, false);
    record.ran_for = Duration(head.value("us", std::int64_t{0}));
    record.attempts = head.value("attempts", 1);
    return record;
  }
  const json value = parsed(entry);
  record.ran_for = Duration(value.value("us", std::int64_t{0}));
  record.attempts = value.value("attempts", 1);
  record.delay = Duration(value.value("delay_us", std::int64_t{0}));
  record.result = value.contains("result") ? value["result"].dump() : "null";
  if (value.contains("error")) {
    record.error = model::ErrorInfo{value["error"].value("type", ""), value["error"].value("message", ""), {}};
  }
  return record;
}

std::string encode_invalid(std::int32_t of, const model::ErrorInfo& error) {
  const json value = {{"of", of}, {"error", {{"type", error.type}, {"message", error.message}}}};
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

model::ErrorInfo decode_invalid(const model::JournalEntry& entry) {
  const json value = parsed(entry);
  const json error = value.value("error", json::object());
  return {.type = error.value("type", ""), .message = error.value("message", ""), .detail = ""};
}

std::string encode_number(std::string_view member, std::int64_t value) {
  return "{\"" + std::string(member) + "\":" + std::to_string(value) + "}";
}

std::int64_t decode_number(const model::JournalEntry& entry, std::string_view member) {
  const json value = parsed(entry);
  const auto found = value.find(std::string(member));
  if (found == value.end() || !found->is_number_integer()) {
    throw InvalidArgument("journal", "entry " + std::to_string(entry.position) + " of execution " +
                                         entry.execution.to_string() + " has no number '" + std::string(member) + "'");
  }
  return found->get<std::int64_t>();
}

}  // namespace hapax::workflow
