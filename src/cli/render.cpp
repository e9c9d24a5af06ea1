#include "cli/render.hpp"

#include "cli/terminal.hpp"
#include "model/turn.hpp"

#include <array>
#include <cstdio>

namespace hapax::cli {
Style status_style(Status status) {
  switch (status) {
    case Status::pending: return Style::plain;
    case Status::running: return Style::busy;
    case Status::completed: return Style::good;
    case Status::failed: return Style::bad;
    case Status::cancelled:
    case Status::timed_out: return Style::warn;
  }
  return Style::plain;
}

Cell status_cell(const model::Execution& execution, Time now) {
  std::string text(to_string(execution.status));
  if (!execution.stuck.empty()) { return {text + " (stuck)", Style::bad}; }
  if (execution.waiting) {
    text += " (waiting)";
  } else if (execution.status == Status::pending && execution.run_at > now) {
    text += execution.attempt > 0 ? " (retry)" : " (delayed)";
  } else if (execution.status == Status::running && execution.cancel_requested) {
    text += " (cancelling)";
  } else if (execution.status == Status::running && execution.progress) {
    text += " (" + std::to_string(static_cast<int>(*execution.progress * 100)) + " %)";
  }
  return {text, status_style(execution.status)};
}

std::string rough(Duration duration) {
  using namespace std::chrono;
  std::array<char, 32> text{};
  const double seconds = static_cast<double>(duration.count()) / 1e6;
  if (duration < 1ms) {
    std::snprintf(text.data(), text.size(), "%lldus", static_cast<long long>(duration.count()));
  } else if (duration < 1s) {
    std::snprintf(text.data(), text.size(), "%.0fms", seconds * 1e3);
  } else if (duration < 10s) {
    std::snprintf(text.data(), text.size(), "%.1fs", seconds);
  } else {
    const auto whole = static_cast<long long>(seconds);
    if (whole < 60) {
      std::snprintf(text.data(), text.size(), "%llds", whole);
    } else if (whole < 3600) {
      std::snprintf(text.data(), text.size(), "%lldm %llds", whole / 60, whole % 60);
    } else if (whole < 86400) {
      std::snprintf(text.data(), text.size(), "%lldh %lldm", whole / 3600, whole / 60 % 60);
    } else {
      std::snprintf(text.data(), text.size(), "%lldd %lldh", whole / 86400, whole / 3600 % 24);
    }
  }
  return text.data();
}

std::string when(std::optional<Time> time, Time now) {
  if (!time || *time >= model::never_due) { return ""; }
  if (!output_terminal().is_tty) { return format_time(*time); }
  return *time <= now ? rough(now - *time) + " ago" : "in " + rough(*time - now);
}

std::string plural(std::int64_t count, const std::string& noun) {
  return std::to_string(count) + " " + noun + (count == 1 ? "" : "s");
}

std::string error_line(const std::optional<model::ErrorInfo>& error) {
  if (!error) { return ""; }
  return error->type.empty() ? error->message : error->type + ": " + error->message;
}

}  // namespace hapax::cli
