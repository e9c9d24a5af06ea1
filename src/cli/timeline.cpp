#include "cli/timeline.hpp"

#include "cli/problem.hpp"
#include "cli/render.hpp"
#include "cli/table.hpp"

#include <nlohmann/json.hpp>

#include <chrono>

namespace hapax::cli {
namespace {

using nlohmann::json;

constexpr std::size_t named_most = 8;  // the most entries that waits_for() names; a fan-out waits for thousands

// A recorded object's members as text: "build 7".
std::string in_words(const std::string& detail) {
  const json object = json::parse(detail, nullptr, false);
  if (!object.is_object()) { return detail; }
  std::string text;
  for (const auto& [name, value] : object.items()) {
    const std::string shown = value.is_string() ? value.get<std::string>() : value.dump();
    if (!shown.empty()) { text += (text.empty() ? "" : ", ") + name + " " + shown; }
  }
  return text;
}

std::string remark(const TimelineEntry& entry) {
  std::string text;
  const auto add = [&text](const std::string& more) {
    if (!more.empty()) { text += (text.empty() ? "" : "  ") + more; }
  };
  add(in_words(entry.detail));
  add(error_line(entry.error));
  if (entry.result && *entry.result != "null") { add(*entry.result); }
  // The child's ID is last, because a narrow terminal may cut the end; --json always has it.
  if (entry.child) { add(entry.child->to_string()); }
  return text;
}

Style style_of(const std::string& status) {
  if (status == "completed") { return Style::good; }
  if (status == "waiting") { return Style::busy; }
  if (status == "failed" || status == "refused") { return Style::bad; }
  if (status == "recorded") { return Style::dim; }
  return Style::warn;
}

// A forked run has entries that are older than the run itself, so an offset may be negative.
std::string since(Time start, Time at) { return at < start ? "-" + rough(start - at) : "+" + rough(at - start); }

// Empty for entries recorded at once, for timers, and for entries that have not ended.
std::string took(const TimelineEntry& entry) {
  const bool ended = entry.ended_at && entry.kind != "timer" && entry.status != "waiting";
  return ended ? rough(*entry.ended_at - entry.at) : "";
}

// The run's due time identifies the timer that it waits for.
bool is_awaited_timer(const model::Execution& run, const TimelineEntry& entry) {
  if (entry.kind != "timer" || !entry.ended_at) { return false; }
  return std::chrono::abs(*entry.ended_at - run.run_at) < std::chrono::milliseconds(10);
}

}  // namespace

std::string waits_for(const model::Execution& run, const std::vector<TimelineEntry>& timeline) {
  if (!run.waiting || !run.stuck.empty()) { return ""; }
  std::string text;
  std::size_t count = 0;
  for (const TimelineEntry& entry : timeline) {
    const bool last_retry = entry.status == "retrying" && &entry == &timeline.back();
    if (entry.status != "waiting" && !is_awaited_timer(run, entry) && !last_retry) { continue; }
    if (++count > named_most) { continue; }
    text += (text.empty() ? "" : ", ") + entry.kind;
    if (!entry.name.empty()) { text += " '" + entry.name + "'"; }
    if (entry.kind == "timer") { text += " until " + format_time(*entry.ended_at); }
    if (last_retry) { text += " to be tried again at " + format_time(run.run_at); }
  }
  return count > named_most ? text + " and " + std::to_string(count - named_most) + " more" : text;
}

void print_timeline(const model::Execution& run, const std::vector<TimelineEntry>& timeline) {
  Table table({{.title = "#", .numeric = true},
               {.title = "AT", .numeric = true},
               {.title = "WHAT"},
               {.title = "NAME", .widest = 30},
               {.title = "STATUS"},
               {.title = "TRIES", .numeric = true},
               {.title = "TOOK", .numeric = true},
               {.title = "DETAIL", .folds = true}});
  for (TimelineEntry entry : timeline) {
    if (entry.status == "waiting" && is_terminal(run.status)) { entry.status = "left open"; }
    table.add({std::to_string(entry.position), since(run.created_at, entry.at), entry.kind, entry.name,
               Cell(entry.status, style_of(entry.status)), entry.attempts > 1 ? std::to_string(entry.attempts) : "",
               took(entry), Cell(remark(entry), entry.error ? Style::bad : Style::plain)});
  }
  table.print("nothing is recorded yet");
}

}  // namespace hapax::cli
