#include "workflow/timeline.hpp"

#include <hapax/error.hpp>

#include "workflow/journal.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <map>
#include <utility>

namespace hapax::workflow {

namespace {

using nlohmann::json;

void tell_step(TimelineEntry& line, const model::JournalEntry& entry) {
  StepRecord record = decode_step(entry);
  line.kind = "step";
  line.attempts = record.attempts;
  line.ended_at = entry.at;
  line.at = entry.at - record.ran_for;
  switch (entry_of(entry)) {
    case Entry::step:
      line.status = "completed";
      line.result = std::move(record.result);
      break;
    case Entry::step_failed: line.status = "failed"; break;
    default: line.status = "retrying"; line.detail = "again after " + format_duration(record.delay);
  }
  line.error = record.error;
}

void tell_child(TimelineEntry& line, const model::JournalEntry& entry, const model::Event* ended,
                const model::Execution* child) {
  line.child = entry.child;
  line.status = "waiting";
  if (child != nullptr) {
    line.input = child->input;
    line.attempts = std::max(1, child->attempt);
    if (!is_terminal(child->status)) { line.detail = std::string(to_string(child->status)); }
  }
  if (ended == nullptr) { return; }
  line.ended_at = ended->at;
  line.status = ended->kind == model::EventKind::refused ? "refused" : std::string(to_string(ended->status));
  line.result = ended->data;
  line.error = ended->error;
}

// Finds the signal of each wait: the waits for a name get its signals in order.
class Signals {
 public:
  explicit Signals(const std::vector<model::Event>& events) {
    for (const model::Event& event : events) {
      if (event.kind == model::EventKind::signal) { named_[event.name].push_back(&event); }
    }
  }
  const model::Event* next(const std::string& name) {
    auto& left = named_[name];
    const std::size_t index = taken_[name]++;
    return index < left.size() ? left[index] : nullptr;
  }

 private:
  std::map<std::string, std::vector<const model::Event*>> named_;
  std::map<std::string, std::size_t> taken_;
};

json to_json(const model::Event& event) {
  json value = {
      {"number", event.number},     {"kind", static_cast<int>(event.kind)},           {"name", event.name},
      {"position", event.position}, {"status", std::string(to_string(event.status))}, {"at", format_time(event.at)}};
  if (event.child) { value["child"] = event.child->to_string(); }
  if (event.data) { value["data"] = json::parse(*event.data, nullptr, false); }
  if (event.error) { value["error"] = {{"type", event.error->type}, {"message", event.error->message}}; }
  return value;
}

model::Event to_event(const json& value) {
  model::Event event;
  event.number = value.at("number").get<std::int64_t>();
  event.kind = static_cast<model::EventKind>(value.at("kind").get<int>());
  event.name = value.value("name", "");
  event.position = value.value("position", 0);
  event.status = parse_status(value.value("status", "pending")).value_or(Status::pending);
  event.at = parse_time(value.at("at").get<std::string>());
  if (value.contains("child")) { event.child = Uuid::parse(value["child"].get<std::string>()); }
  if (value.contains("data")) { event.data = value["data"].dump(); }
  if (value.contains("error")) {
    event.error = model::ErrorInfo{value["error"].value("type", ""), value["error"].value("message", ""), {}};
  }
  return event;
}

}  // namespace

// A wait with a timeout is three entries: the signal, a timer, and which of the two came first.
bool timed_out(const std::vector<model::JournalEntry>& entries, std::size_t place) {
  const model::JournalEntry& entry = entries[place];
  if (entry_of(entry) != Entry::signal || entry.data == "{}" || place + 2 >= entries.size()) { return false; }
  const model::JournalEntry& choice = entries[place + 2];
  return entry_of(choice) == Entry::choice && decode_number(choice, "index") != 0;
}

std::vector<TimelineEntry> timeline(const model::History& history, const std::vector<model::Execution>& children) {
  std::map<std::int32_t, const model::Event*> ended;
  for (const model::Event& event : history.events) {
    if (event.kind == model::EventKind::ended || event.kind == model::EventKind::refused) {
      ended.emplace(event.position, &event);
    }
  }
  Signals signals(history.events);
  std::vector<TimelineEntry> lines;
  for (std::size_t place = 0; place < history.entries.size(); ++place) {
    const model::JournalEntry& entry = history.entries[place];
    TimelineEntry line;
    line.position = entry.position;
    line.kind = std::string(to_string(entry_of(entry)));
    line.name = entry.name;
    line.status = "recorded";
    line.at = entry.at;
    switch (entry_of(entry)) {
      case Entry::step:
      case Entry::step_failed:
      case Entry::step_retry: tell_step(line, entry); break;
      case Entry::task:
      case Entry::child: {
        const auto event = ended.find(entry.position);
        const auto child = std::ranges::find_if(
            children, [&](const model::Execution& one) { return entry.child && one.id == *entry.child; });
        tell_child(line, entry, event == ended.end() ? nullptr : event->second,
                   child == children.end() ? nullptr : &*child);
        break;
      }
      case Entry::timer:
        line.ended_at = entry.at + Duration(decode_number(entry, "us"));
        line.detail = "fires " + format_time(*line.ended_at);
        break;
      case Entry::signal:
        line.status = "waiting";
        if (timed_out(history.entries, place)) {
          line.status = "timed_out";
          line.ended_at = history.entries[place + 2].at;
        } else if (const model::Event* const signal = signals.next(entry.name)) {
          line.status = "completed";
          line.ended_at = std::max(signal->at, entry.at);
          line.result = signal->data;
        }
        break;
      case Entry::invalid:
        line.status = "failed";
        line.detail = "of entry " + std::to_string(decode_number(entry, "of"));
        line.error = decode_invalid(entry);
        break;
      default: line.detail = entry.data == "{}" ? "" : entry.data;
    }
    lines.push_back(std::move(line));
  }
  return lines;
}

std::string export_json(const Exported& exported) {
  const model::Execution& execution = exported.execution;
  json entries = json::array();
  for (const model::JournalEntry& entry : exported.history.entries) {
    json value = {
        {"position", entry.position}, {"kind", std::string(to_string(entry_of(entry)))}, {"code", entry.kind},
        {"name", entry.name},         {"data", json::parse(entry.data, nullptr, false)}, {"at", format_time(entry.at)}};
    if (entry.child) { value["child"] = entry.child->to_string(); }
    entries.push_back(std::move(value));
  }
  json events = json::array();
  for (const model::Event& event : exported.history.events) { events.push_back(to_json(event)); }
  const json all = {{"format", "hapax-journal-1"},
                    {"workflow", execution.task},
                    {"workflow_id", execution.identity_key},
                    {"id", execution.id.to_string()},
                    {"run", execution.run},
                    {"status", std::string(to_string(execution.status))},
                    {"created_at", format_time(execution.created_at)},
                    {"input", json::parse(execution.input, nullptr, false)},
                    {"entries", std::move(entries)},
                    {"events", std::move(events)}};
  return all.dump(2, ' ', false, json::error_handler_t::replace);
}

Exported import_json(std::string_view text) {
  try {
    const json all = json::parse(text);
    if (all.value("format", "") != "hapax-journal-1") {
      throw InvalidArgument("journal", "is not a journal of `hapax journal export`");
    }
    Exported exported;
    model::Execution& execution = exported.execution;
    execution.kind = model::Kind::workflow;
    execution.task = all.at("workflow").get<std::string>();
    execution.identity_key = all.value("workflow_id", "");
    execution.id = Uuid::parse(all.at("id").get<std::string>()).value_or(Uuid{});
    execution.run = all.value("run", 1);
    execution.status = parse_status(all.value("status", "pending")).value_or(Status::pending);
    execution.created_at = parse_time(all.at("created_at").get<std::string>());
    execution.input = all.at("input").dump();
    for (const json& value : all.at("entries")) {
      model::JournalEntry entry;
      entry.execution = execution.id;
      entry.position = value.at("position").get<std::int32_t>();
      entry.kind = value.at("code").get<std::uint8_t>();
      entry.name = value.value("name", "");
      entry.data = value.at("data").dump();
      entry.at = parse_time(value.at("at").get<std::string>());
      if (value.contains("child")) { entry.child = Uuid::parse(value["child"].get<std::string>()); }
      exported.history.entries.push_back(std::move(entry));
    }
    for (const json& value : all.at("events")) { exported.history.events.push_back(to_event(value)); }
    return exported;
  } catch (const json::exception& error) {
    throw InvalidArgument("journal", std::string("cannot be read: ") + error.what());
  }
}

}  // namespace hapax::workflow
