#include "cli/event_sender.hpp"

#include "base/json_out.hpp"
#include "base/json_text.hpp"
#include "base/json_view.hpp"
#include "base/text.hpp"
#include "cli/exit_code.hpp"
#include "cli/problem.hpp"
#include "cli/terminal.hpp"

#include <algorithm>
#include <cstdio>

namespace hapax::cli {
namespace {

using Steady = std::chrono::steady_clock;

// Below a server's limit for a batch of events (16 MiB), with room for the commas between them.
constexpr std::size_t batch_bytes = 12 << 20;
constexpr std::size_t event_refusals_printed = 20;

void print_one(const JsonView& event) {
  print(base::printable("event " + event.text("id") + ", " + event.text("type") + " from " + event.text("source")));
  if (!event.has("runs")) {
    print("  accepted; only tokens with the scope read see the runs that it started");
    return;
  }
  const std::vector<std::string_view> runs = event.items("runs");
  for (const std::string_view item : runs) {
    const JsonView run(item);
    if (run.has("error")) {
      print(base::printable("  refused   " + run.text("activity") + ": " + run.text("error")));
      continue;
    }
    print(base::printable((run.flag("created") ? "  started   " : "  existing  ") + run.text("run_id")) + "  " +
          run.text("execution"));
  }
  const std::vector<std::string> paused = event.texts("paused");
  for (const std::string& activity : paused) { print(base::printable("  dropped   " + activity + " is paused")); }
  if (runs.empty() && paused.empty()) { print("  no activity wants it"); }
}

}  // namespace

EventSender::EventSender(Shell& shell, bool require_id)
    : shell_(shell),
      door_(shell.backend().events()),
      missing_id_(require_id ? schedule::MissingId::refuse : door_->missing_id()),
      progress_(shell) {}

void EventSender::take(std::string_view envelope, std::int64_t line) {
  try {
    batch_.push_back({schedule::parse_event(envelope, missing_id_), std::string(envelope)});
  } catch (const InvalidArgument& error) {
    const std::string place = line > 0 ? "line " + std::to_string(line) + ": " : "";
    throw BadData(error.name(), place + error.what() + (line > 0 ? "; " + so_far() : ""), error.field());
  }
  lines_.push_back(line);
  bytes_ += envelope.size();
  if (batch_.size() >= door_->batch_most() || bytes_ >= batch_bytes) { flush(); }
}

void EventSender::take_list(std::string_view list) {
  try {
    for (schedule::Event& event : schedule::parse_event_batch(list, missing_id_)) {
      batch_.push_back({std::move(event), {}});
    }
    const std::vector<std::string_view> envelopes = base::json_items(list, "events");
    for (std::size_t i = 0; i < batch_.size(); ++i) { batch_[i].envelope = envelopes[i]; }
  } catch (const InvalidArgument& error) { throw BadData(error.name(), error.what(), error.field()); }
  lines_.assign(batch_.size(), 0);
  flush();
}

void EventSender::show_progress(double fraction) {
  if (!progress_.due()) { return; }
  const std::string done = grouped(events_) + " events, " + rate_text(events_, Steady::now() - begun_);
  progress_.show(fraction > 0 ? progress_bar(fraction) + "  " + done : done);
}

std::vector<std::string> EventSender::send() {
  try {
    return door_->send(batch_);
  } catch (const BadLine& bad) {
    const std::int64_t line = lines_.at(std::min(bad.index, lines_.size() - 1));
    const std::string place = line > 0 ? "line " + std::to_string(line) + ": " : "";
    throw BadData(bad.name(), place + bad.what() + (line > 0 ? "; " + so_far() : ""));
  } catch (const StoreUnavailable&) {
    if (lines_.front() > 0) {
      progress_.trouble("stopped at line " + std::to_string(lines_.front()) + "; " + std::to_string(events_) +
                        " events before it were routed, and sending all again is safe");
    }
    throw;
  }
}

void EventSender::flush() {
  if (batch_.empty()) { return; }
  const std::vector<std::string> documents = send();
  for (std::size_t i = 0; i < documents.size(); ++i) { count(documents[i], lines_[i]); }
  batch_.clear();
  lines_.clear();
  bytes_ = 0;
}

void EventSender::count(const std::string& document, std::int64_t line) {
  if (++events_ == 1) { first_ = document; }
  const JsonView event(document);
  const std::vector<std::string_view> runs = event.items("runs");
  const std::int64_t paused = std::ssize(event.items("paused"));
  unmatched_ += event.has("runs") && runs.empty() && paused == 0 ? 1 : 0;
  dropped_ += paused;
  for (const std::string_view item : runs) {
    const JsonView run(item);
    if (!run.has("error")) {
      ++(run.flag("created") ? started_ : duplicates_);
      continue;
    }
    ++refused_;
    if (refusals_.size() < event_refusals_printed) {
      refusals_.push_back({line, run.text("activity") + ": " + run.text("error")});
    }
  }
  if (shell_.json()) { print(line > 0 ? "{\"line\":" + std::to_string(line) + "," + document.substr(1) : document); }
}

std::string EventSender::so_far() const {
  return std::to_string(events_) + " of the events before were routed, nothing of this batch";
}

int EventSender::finish(bool always_summary) {
  flush();
  door_->flush();
  progress_.clear();
  if (events_ != 1 || always_summary) {
    summary();
  } else if (!shell_.json()) {
    print_one(JsonView(first_));
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
