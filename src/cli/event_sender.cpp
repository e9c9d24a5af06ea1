#include "cli/event_sender.hpp"

#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/problem.hpp"
#include "cli/terminal.hpp"
#include "wire/event_json.hpp"
#include "wire/json_out.hpp"

#include <cstdio>

namespace hapax::cli {
namespace {

using Steady = std::chrono::steady_clock;

// The router writes one part of a batch while it makes the next.
constexpr std::size_t batch_events = 10'000;
constexpr std::size_t batch_bytes = 16 << 20;
constexpr std::size_t refusals_told = 20;

void print_one(const schedule::Event& event, const schedule::Routed& routed) {
  print(base::printable("event " + event.id + ", " + event.type + " from " + event.source));
  for (const schedule::Routed::Run& run : routed.runs) {
    if (!run.error.empty()) {
      print(base::printable("  refused   " + run.activity + ": " + run.error));
      continue;
    }
    print(base::printable((run.created ? "  started   " : "  existing  ") + run.run_id) + "  " +
          run.execution.to_string());
  }
  for (const std::string& activity : routed.paused) {
    print(base::printable("  dropped   " + activity + " is paused"));
  }
  if (routed.runs.empty() && routed.paused.empty()) { print("  no activity wants it"); }
}

}  // namespace

EventSender::EventSender(Shell& shell, bool require_id)
    : shell_(shell),
      engine_(shell.shared_store()),
      router_(engine_, shell.ns()),
      missing_id_(require_id ? schedule::MissingId::refuse : router_.missing_id()),
      progress_(shell) {}

void EventSender::take(std::string_view envelope, std::int64_t line) {
  try {
    batch_.push_back(schedule::parse_event(envelope, missing_id_));
  } catch (const InvalidArgument& error) {
    const std::string place = line > 0 ? "line " + std::to_string(line) + ": " : "";
    throw BadData(error.name(), place + error.what() + (line > 0 ? "; " + so_far() : ""), error.field());
  }
  lines_.push_back(line);
  bytes_ += envelope.size();
  if (batch_.size() >= batch_events || bytes_ >= batch_bytes) { flush(); }
}

void EventSender::take_list(std::string_view list) {
  try {
    batch_ = schedule::parse_event_batch(list, missing_id_);
  } catch (const InvalidArgument& error) { throw BadData(error.name(), error.what(), error.field()); }
  lines_.assign(batch_.size(), 0);
  flush();
}

void EventSender::show_progress(double fraction) {
  if (!progress_.due()) { return; }
  const std::string done = grouped(events_) + " events, " + rate_text(events_, Steady::now() - begun_);
  progress_.show(fraction > 0 ? progress_bar(fraction) + "  " + done : done);
}

void EventSender::flush() {
  if (batch_.empty()) { return; }
  std::vector<schedule::Routed> routed;
  try {
    routed = router_.route(batch_);
  } catch (const StoreUnavailable&) {
    if (lines_.front() > 0) {
      progress_.remark("stopped at line " + std::to_string(lines_.front()) + "; " + std::to_string(events_) +
                       " events before it were routed, and sending all again is safe");
    }
    throw;
  }
  for (std::size_t i = 0; i < routed.size(); ++i) { count(batch_[i], routed[i], lines_[i]); }
  batch_.clear();
  lines_.clear();
  bytes_ = 0;
}

void EventSender::count(const schedule::Event& event, const schedule::Routed& routed, std::int64_t line) {
  if (++events_ == 1) {
    first_ = {event};
    first_routed_ = routed;
  }
  unmatched_ += routed.runs.empty() && routed.paused.empty() ? 1 : 0;
  dropped_ += std::ssize(routed.paused);
  for (const schedule::Routed::Run& run : routed.runs) {
    if (run.error.empty()) {
      ++(run.created ? started_ : duplicates_);
      continue;
    }
    ++refused_;
    if (refusals_.size() < refusals_told) { refusals_.push_back({line, run.activity + ": " + run.error}); }
  }
  if (shell_.json()) { print(event_json(event, routed, line)); }
}

std::string EventSender::so_far() const {
  return std::to_string(events_) + " of the events before were routed, nothing of this batch";
}

int EventSender::finish(bool always_summary) {
  flush();
  router_.flush();
  progress_.clear();
  if (events_ != 1 || always_summary) {
    summary();
  } else if (!shell_.json()) {
    print_one(first_.front(), first_routed_);
  }
  return refused_ > 0 ? exit_conflict : exit_ok;
}

void EventSender::summary() const {
  if (shell_.json()) {
    JsonObject object;
    object.number("events", events_).number("started", started_).number("duplicates", duplicates_);
    object.number("unmatched", unmatched_).number("dropped", dropped_).number("refused", refused_);
    print(object.str());
    return;
  }
  for (const Refusal& refusal : refusals_) {
    const std::string place = refusal.line > 0 ? "line " + std::to_string(refusal.line) + ": " : "";
    std::fprintf(stderr, "refused: %s\n", base::printable(place + refusal.message).c_str());
  }
  const Steady::duration took = Steady::now() - begun_;
  std::string text = grouped(events_) + (events_ == 1 ? " event: " : " events: ") + grouped(started_) + " started, " +
                     grouped(duplicates_) + (duplicates_ == 1 ? " duplicate, " : " duplicates, ") +
                     grouped(unmatched_) + " unmatched";
  text += dropped_ > 0 ? ", " + grouped(dropped_) + " dropped by paused activities" : "";
  text += refused_ > 0 ? ", " + grouped(refused_) + " refused" : "";
  print(text + " in " + std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(took).count()) + " ms (" +
        rate_text(events_, took) + ")");
}

}  // namespace hapax::cli
